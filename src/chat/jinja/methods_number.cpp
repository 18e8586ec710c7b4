// The attributes and methods of numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "chat/jinja/run.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

namespace {

Result<Datum> itself(const BuiltinCall& call) {
  return signed_number(call.subject, false, call.meter());
}

Result<Datum> bit_length_method(const BuiltinCall& call) {
  return Datum(static_cast<int64_t>(bit_length(call.subject)));
}

Result<Datum> bit_count_method(const BuiltinCall& call) {
  TRY(spend_whole(call.subject, call.meter()));
  const std::string digits = TRY(magnitude_digits(call.subject, 2));
  return Datum(static_cast<int64_t>(std::count(digits.begin(), digits.end(), '1')));
}

Result<Datum> is_integer_method(const BuiltinCall& call) {
  const double value = call.subject.real();
  return Datum(std::isfinite(value) && std::floor(value) == value);
}

// (numerator, denominator), without a common factor.
Result<Datum> ratio_method(const BuiltinCall& call) {
  const auto pair = [&](Datum above, Datum below) {
    return make_sequence(SequenceKind::tuple, {std::move(above), std::move(below)}, call.meter());
  };
  const Datum one(int64_t{1});
  if (call.subject.is_whole()) return pair(TRY(itself(call)), one);
  const double value = call.subject.real();
  if (!std::isfinite(value))
    return fail(Code::corrupt, "cannot convert Infinity or NaN to integer ratio");
  if (std::floor(value) == value) return pair(whole_part(value), one);
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
  const int twos = std::countr_zero(static_cast<uint64_t>(mantissa));
  const Datum below = TRY(whole_arithmetic(MathOp::power, Datum(int64_t{2}),
                                           Datum(int64_t{53} - exponent - twos), call.meter()));
  return pair(Datum(mantissa >> twos), below);
}

constexpr BuiltinRow kWholeRows[] = {
    {"as_integer_ratio", ratio_method},
    {"bit_count", bit_count_method},
    {"bit_length", bit_length_method},
    {"conjugate", itself},
};
constexpr BuiltinRow kRealRows[] = {
    {"as_integer_ratio", ratio_method},
    {"conjugate", itself},
    {"is_integer", is_integer_method},
};

}  // namespace

Result<std::optional<Datum>> number_attribute(const Datum& number, std::string_view name,
                                              RenderMeter& meter) {
  const bool whole = number.is_whole();
  if (name == "real" || (whole && name == "numerator"))
    return std::optional(TRY(signed_number(number, false, meter)));
  if (name == "imag") return std::optional(whole ? Datum(int64_t{0}) : Datum(0.0));
  if (whole && name == "denominator") return std::optional(Datum(int64_t{1}));
  for (const BuiltinRow& row : whole ? std::span<const BuiltinRow>(kWholeRows) : kRealRows) {
    if (row.name != name) continue;
    return std::optional(Datum(ObjectPtr(std::make_shared<BoundFunction>(row, number))));
  }
  return std::optional<Datum>();
}

}  // namespace ruv::jinja
