// Arithmetic is Boost's; what is here keeps results small enough, and rounds as Python does.
#include "chat/jinja/whole_number.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>

namespace ruv::jinja {

using boost::multiprecision::cpp_int;

struct WideInteger {
  cpp_int value;
  size_t bits = 0;
};

namespace {

tl::unexpected<Status> too_large() {
  return fail(Code::corrupt, "a whole number of more than {} bits does not fit the limit",
              kMaxWholeBits);
}
tl::unexpected<Status> whole_zero_division() {
  return fail(Code::corrupt, "integer division or modulo by zero");
}

size_t bits_of(const cpp_int& value) {
  return value == 0 ? 0 : boost::multiprecision::msb(abs(value)) + 1;
}

// Any whole Datum as a cpp_int.
cpp_int wide_of(const Datum& whole) {
  return whole.is(Datum::Kind::wide_integer) ? whole.wide()->value : cpp_int(whole.integer());
}

// As 64 bits if it fits.
Datum datum_of(cpp_int value) {
  if (value >= INT64_MIN && value <= INT64_MAX) return Datum(static_cast<int64_t>(value));
  const size_t bits = bits_of(value);
  return Datum(std::make_shared<const WideInteger>(WideInteger{std::move(value), bits}));
}

// Refuses results above kMaxWholeBits.
Result<Datum> checked(cpp_int value) {
  if (bits_of(value) > kMaxWholeBits) return too_large();
  return datum_of(std::move(value));
}

// The double nearest to a / b. Requires: a >= 0, b > 0.
double nearest_quotient(cpp_int a, cpp_int b) {
  if (a == 0) return 0;
  const auto shift = static_cast<int64_t>(bits_of(a)) - static_cast<int64_t>(bits_of(b));
  const bool reaches = shift >= 0 ? a >= (b << static_cast<unsigned>(shift))
                                  : (a << static_cast<unsigned>(-shift)) >= b;
  const int64_t lead = reaches ? shift : shift - 1;  // the quotient's first bit
  if (lead > 1024) return HUGE_VAL;
  // The last bit that a double keeps: the 53rd, or the least there is.
  const int64_t last = std::max<int64_t>(lead - 52, -1074);
  if (last >= 0) {
    b <<= static_cast<unsigned>(last);
  } else {
    a <<= static_cast<unsigned>(-last);
  }
  cpp_int quotient;
  cpp_int rest;
  divide_qr(a, b, quotient, rest);
  auto kept = static_cast<uint64_t>(quotient);
  rest <<= 1;
  if (rest > b || (rest == b && (kept & 1) != 0)) ++kept;
  return std::ldexp(static_cast<double>(kept), static_cast<int>(last));
}

Result<Datum> true_quotient(const cpp_int& a, const cpp_int& b) {
  if (b == 0) return fail(Code::corrupt, "division by zero");
  const double magnitude = nearest_quotient(abs(a), abs(b));
  if (std::isinf(magnitude))
    return fail(Code::corrupt, "integer division result too large for a float");
  return Datum((a < 0) != (b < 0) ? -magnitude : magnitude);
}

// Rounds towards minus infinity; the remainder has the divisor's sign.
void floor_divide(const cpp_int& a, const cpp_int& b, cpp_int& quotient, cpp_int& rest) {
  divide_qr(a, b, quotient, rest);
  if (rest != 0 && (rest < 0) != (b < 0)) {
    rest += b;
    --quotient;
  }
}

// Steps charged for multiplying numbers of this many bits.
int64_t product_steps(size_t a_bits, size_t b_bits) {
  return 1 + static_cast<int64_t>((a_bits / 64 + 1) * (b_bits / 64 + 1) / 64);
}

// Refuses before computing if the result would be too large.
Result<Datum> power(const Datum& base, const Datum& exponent, RenderMeter& meter) {
  const cpp_int value = wide_of(base);
  if (is_negative(exponent)) {
    if (value == 0) return fail(Code::corrupt, "0.0 cannot be raised to a negative power");
    return Datum(std::pow(TRY(checked_real(base)), TRY(checked_real(exponent))));
  }
  if (value == 0 || value == 1 || value == -1) {
    const bool odd = (wide_of(exponent) & 1) != 0;
    if (wide_of(exponent) == 0) return Datum(int64_t{1});
    return value == -1 && !odd ? Datum(int64_t{1}) : datum_of(value);
  }
  const uint64_t times = exponent.is(Datum::Kind::wide_integer)
                             ? UINT64_MAX
                             : static_cast<uint64_t>(exponent.integer());
  if (times > kMaxWholeBits || (bits_of(value) - 1) * times > kMaxWholeBits) return too_large();
  TRY(meter.spend(product_steps(bits_of(value) * times, bits_of(value) * times)));
  return checked(pow(value, static_cast<unsigned>(times)));
}

}  // namespace

Result<Datum> whole_arithmetic(MathOp op, const Datum& a, const Datum& b, RenderMeter& meter) {
  TRY(meter.spend(product_steps(bit_length(a), bit_length(b))));
  if (op == MathOp::power) return power(a, b, meter);
  const cpp_int x = wide_of(a);
  const cpp_int y = wide_of(b);
  if (op == MathOp::add) return checked(x + y);
  if (op == MathOp::subtract) return checked(x - y);
  if (op == MathOp::multiply) return checked(x * y);
  if (op == MathOp::divide) return true_quotient(x, y);
  if (y == 0) return whole_zero_division();
  cpp_int quotient;
  cpp_int rest;
  floor_divide(x, y, quotient, rest);
  return datum_of(op == MathOp::modulo ? std::move(rest) : std::move(quotient));
}

Result<Datum> rounded_whole(const Datum& value, int64_t digits, bool beyond, RenderMeter& meter) {
  // Every value of the size limit is far below half of this power of ten.
  const auto zeros = static_cast<unsigned>(std::min<int64_t>(digits, kMaxWholeBits / 3));
  if (zeros > bit_length(value)) return Datum(int64_t{0});
  TRY(meter.spend(1 + zeros));
  const cpp_int unit = pow(cpp_int(10), zeros);
  cpp_int quotient;
  cpp_int rest;
  floor_divide(wide_of(value), unit, quotient, rest);
  const cpp_int twice = rest * 2;
  const bool odd = (quotient & 1) != 0;
  if (twice > unit || (twice == unit && (beyond || odd))) ++quotient;
  return checked(quotient * unit);
}

std::partial_ordering number_order(const Datum& a, const Datum& b) {
  if (a.is_integral() && b.is_integral()) return a.integer() <=> b.integer();
  const bool real = a.is(Datum::Kind::real) || b.is(Datum::Kind::real);
  if (!real) {
    const int order = wide_of(a).compare(wide_of(b));
    return order <=> 0;
  }
  if (a.is(Datum::Kind::real) && b.is(Datum::Kind::real)) return a.real() <=> b.real();
  if (a.is(Datum::Kind::real)) return 0 <=> number_order(b, a);
  const double right = b.real();
  if (std::isnan(right)) return std::partial_ordering::unordered;
  if (std::isinf(right)) return 0.0 <=> right;
  // A fraction decides between equal whole parts; the cut is towards zero.
  const std::partial_ordering order = number_order(a, whole_part(right));
  return order != 0 ? order : std::trunc(right) <=> right;
}

double nearest_real(const WideInteger& value) {
  const double magnitude = nearest_quotient(abs(value.value), 1);
  return value.value < 0 ? -magnitude : magnitude;
}

Result<double> checked_real(const Datum& value) {
  const double real = value.real();
  if (value.is(Datum::Kind::wide_integer) && std::isinf(real))
    return fail(Code::corrupt, "int too large to convert to float");
  return real;
}

Datum whole_part(double value) {
  if (value > -0x1p63 && value < 0x1p63) return Datum(static_cast<int64_t>(value));
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  cpp_int whole(static_cast<int64_t>(std::ldexp(mantissa, 53)));
  whole <<= static_cast<unsigned>(exponent - 53);
  return datum_of(std::move(whole));
}

Datum whole_from_unsigned(uint64_t value) { return datum_of(cpp_int(value)); }

// Time grows with the square of the digits, whose number is limited.
Result<Datum> whole_from_digits(std::string_view digits, bool negative, int base) {
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  const bool binary = (base & (base - 1)) == 0;
  if (!binary && digits.size() > kMaxWholeDigits)
    return fail(Code::corrupt, "a whole number of {} digits exceeds the limit of {}", digits.size(),
                kMaxWholeDigits);
  digits.remove_prefix(zeros);
  if (digits.size() > kMaxWholeBits) return too_large();
  cpp_int value;
  // As many digits at once as always fit 32 bits.
  constexpr size_t kAtOnce = 6;
  while (!digits.empty()) {
    const std::string_view some = digits.substr(0, kAtOnce);
    uint32_t part = 0;
    std::from_chars(some.data(), some.data() + some.size(), part, base);
    uint32_t scale = 1;
    for (size_t i = 0; i < some.size(); ++i) scale *= static_cast<uint32_t>(base);
    value = value * scale + part;
    digits.remove_prefix(some.size());
  }
  if (negative) value = -value;
  return checked(std::move(value));
}

Result<std::string> magnitude_digits(const Datum& value, int base) {
  if (value.is_integral()) {
    const int64_t whole = value.integer();
    const uint64_t magnitude =
        whole < 0 ? 0 - static_cast<uint64_t>(whole) : static_cast<uint64_t>(whole);
    char buffer[72];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
    return std::string(buffer, end.ptr);
  }
  const cpp_int magnitude = abs(value.wide()->value);
  if (base == 2) {
    std::string digits(bits_of(magnitude), '0');
    for (size_t i = 0; i < digits.size(); ++i)
      if (bit_test(magnitude, static_cast<unsigned>(i))) digits[digits.size() - 1 - i] = '1';
    return digits;
  }
  const auto flags = base == 8    ? std::ios_base::oct
                     : base == 16 ? std::ios_base::hex
                                  : std::ios_base::dec;
  // Ten bits make three digits and a little.
  const bool hopeless = base == 10 && bits_of(magnitude) / 10 * 3 > kMaxWholeDigits;
  std::string digits = hopeless ? std::string() : magnitude.str(0, flags);
  if (hopeless || (base == 10 && digits.size() > kMaxWholeDigits))
    return fail(Code::corrupt, "a whole number exceeds the limit of {} digits", kMaxWholeDigits);
  for (char& c : digits)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c + 32);
  return digits;
}

Result<std::string> whole_text(const Datum& value) {
  return (is_negative(value) ? "-" : "") + TRY(magnitude_digits(value, 10));
}

bool is_negative(const Datum& whole) {
  return whole.is(Datum::Kind::wide_integer) ? whole.wide()->value < 0 : whole.integer() < 0;
}

int64_t clamped_bound(const Datum& whole) {
  if (whole.is(Datum::Kind::wide_integer)) return is_negative(whole) ? -INT64_MAX : INT64_MAX;
  return std::max(whole.integer(), -INT64_MAX);
}

Status spend_whole(const Datum& value, RenderMeter& meter) {
  if (!value.is(Datum::Kind::wide_integer)) return Status();
  const auto words = static_cast<int64_t>(value.wide()->bits / 64);
  return meter.spend(words + words * words / 64);
}

size_t bit_length(const Datum& whole) {
  if (whole.is(Datum::Kind::wide_integer)) return whole.wide()->bits;
  const int64_t value = whole.integer();
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return static_cast<size_t>(64 - std::countl_zero(magnitude));
}

}  // namespace ruv::jinja
