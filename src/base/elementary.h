// exp, log, pow, sin and cos whose results are the same bits on every machine: plain float64
// arithmetic in one order. Those of the standard library differ between its versions. For what
// decides the bytes of an answer and is not worth a kernel.
#pragma once

namespace ruv {

// All have a relative error below 1e-15 in the ranges named, so that a result rounded to float32 is
// nearly always the nearest one.

// e^x; 0 below -708, infinity above 709.
double exact_exp(double x);
// The natural logarithm. Requires: x > 0, finite.
double exact_log(double x);
// ln(1 + e^x); x above 20, and NaN as it is.
double exact_softplus(double x);
// The hyperbolic tangent, with a relative error below 1e-11; of NaN NaN.
double exact_tanh(double x);
// x^y as exp(y · log x), with an error that grows with |y · log x|: 1e-14 for rope's frequencies.
// Requires: x > 0, finite.
double exact_pow(double x, double y);

struct SinCos {
  double sin, cos;
};
// Sine and cosine of an angle in radians, |x| < 2^26; the error is below 1e-15 of the circle.
SinCos exact_sin_cos(double x);

}  // namespace ruv
