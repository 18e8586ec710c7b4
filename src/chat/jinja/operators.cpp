// Python's arithmetic and comparison on values. Whole numbers have 64 bits; a result that does not
// fit is an error, never a wrong number.
#include <cmath>

#include "chat/jinja/html.h"
#include "chat/jinja/run.h"
#include "chat/jinja/text_format.h"

namespace ruv::jinja {

namespace {

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

tl::unexpected<Status> unsupported_operands(MathOp op, const Datum& a, const Datum& b) {
  if (op == MathOp::add && a.is_text())
    return fail(Code::corrupt, "can only concatenate str (not \"{}\") to str", type_name(b));
  if (op == MathOp::add && a.is(Datum::Kind::sequence) && a.sequence()->is_indexable())
    return fail(Code::corrupt, "can only concatenate {} (not \"{}\") to {}", type_name(a),
                type_name(b), type_name(a));
  return fail(Code::corrupt, "unsupported operand type(s) for {}: '{}' and '{}'",
              kSigns[static_cast<size_t>(op)], type_name(a), type_name(b));
}

tl::unexpected<Status> overflow() {
  return fail(Code::corrupt, "the result is a whole number that does not fit 64 bits");
}
tl::unexpected<Status> zero_division() { return fail(Code::corrupt, "division by zero"); }

Result<Datum> whole_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return zero_division();
    return Datum(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent & 1) {
      if (__builtin_mul_overflow(result, base, &result)) return overflow();
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Datum(result);
}

Result<Datum> whole_arithmetic(MathOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case MathOp::add:
      if (__builtin_add_overflow(a, b, &result)) return overflow();
      return Datum(result);
    case MathOp::subtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow();
      return Datum(result);
    case MathOp::multiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow();
      return Datum(result);
    case MathOp::divide:
      if (b == 0) return zero_division();
      return Datum(static_cast<double>(a) / static_cast<double>(b));
    case MathOp::power:
      return whole_power(a, b);
    default:
      break;
  }
  if (b == 0) return fail(Code::corrupt, "integer division or modulo by zero");
  if (b == -1)
    return op == MathOp::modulo ? Datum(int64_t{0}) : TRY(whole_arithmetic(MathOp::subtract, 0, a));
  const int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == MathOp::modulo) return Datum(adjust ? remainder + b : remainder);
  return Datum(a / b - (adjust ? 1 : 0));
}

// Python's floor division and modulo of floats, which agree with each other.
Datum real_division(MathOp op, double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (op == MathOp::modulo) return Datum(remainder);
  if (quotient == 0) return Datum(std::copysign(0.0, a / b));
  const double floor = std::floor(quotient);
  return Datum(quotient - floor > 0.5 ? floor + 1 : floor);
}

Result<Datum> real_power(double a, double b) {
  const double power = std::pow(a, b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b))
    return fail(Code::corrupt, "the power is out of range");
  return Datum(power);
}

Result<Datum> real_arithmetic(MathOp op, double a, double b) {
  switch (op) {
    case MathOp::add:
      return Datum(a + b);
    case MathOp::subtract:
      return Datum(a - b);
    case MathOp::multiply:
      return Datum(a * b);
    case MathOp::power:
      if (a == 0 && b < 0) return zero_division();
      if (a < 0 && std::floor(b) != b)
        return fail(Code::unsupported, "complex numbers are not supported");
      return real_power(a, b);
    default:
      break;
  }
  if (b == 0) return zero_division();
  if (op == MathOp::divide) return Datum(a / b);
  return real_division(op, a, b);
}

Result<Datum> repeated(const Datum& value, int64_t times, RenderMeter& meter) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (value.is_text()) {
    const MarkedText& text = *value.text();
    if (text.empty()) return value;
    if (n > SIZE_MAX / 2 / text.size()) return fail(Code::invalid, "the repeated text is too long");
    TRY(meter.spend_text(text.size() * n));
    MarkedText out;
    for (uint64_t i = 0; i < n; ++i) out.append(text);
    out.html_safe = text.html_safe;
    return Datum(std::move(out));
  }
  const DatumSequence& sequence = *value.sequence();
  if (sequence.items.empty() || n == 0) return make_sequence(sequence.kind, {}, meter);
  if (n > static_cast<uint64_t>(kMaxRange) * 10 / sequence.items.size())
    return fail(Code::invalid, "the repeated list is too long");
  TRY(meter.spend(static_cast<int64_t>(n * sequence.items.size())));
  std::vector<Datum> items;
  items.reserve(n * sequence.items.size());
  for (uint64_t i = 0; i < n; ++i)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return make_sequence(sequence.kind, std::move(items), meter, sequence.from_user);
}

bool is_repeatable(const Datum& value) {
  return value.is_text() || (value.is(Datum::Kind::sequence) &&
                             (value.sequence()->is_list() || value.sequence()->is_tuple()));
}

Result<Datum> concatenated(const MarkedText& a, const MarkedText& b, RenderMeter& meter) {
  TRY(meter.spend_text(a.size() + b.size()));
  const bool html = a.html_safe || b.html_safe;
  MarkedText out = html && !a.html_safe ? html_escaped(a) : a;
  if (html && !b.html_safe) {
    out.append(html_escaped(b));
  } else {
    out.append(b);
  }
  out.html_safe = html;
  return Datum(std::move(out));
}

Result<Datum> appended(const DatumSequence& a, const DatumSequence& b, RenderMeter& meter) {
  std::vector<Datum> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(a.is_list() ? SequenceKind::list : SequenceKind::tuple, std::move(items),
                       meter, a.from_user && b.from_user);
}

}  // namespace

Result<Datum> arithmetic(MathOp op, const Datum& a, const Datum& b, RenderMeter& meter) {
  if (op == MathOp::modulo && a.is_text()) return printf_format(a, b, meter);
  if (a.is_undefined()) return fail(Code::corrupt, "{}", a.undefined_message());
  if (b.is_undefined()) return fail(Code::corrupt, "{}", b.undefined_message());
  if (a.is_integral() && b.is_integral()) return whole_arithmetic(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return real_arithmetic(op, a.real(), b.real());
  if (op == MathOp::add) {
    if (a.is_text() && b.is_text()) return concatenated(*a.text(), *b.text(), meter);
    if (a.is(Datum::Kind::sequence) && b.is(Datum::Kind::sequence)) {
      const DatumSequence& x = *a.sequence();
      const DatumSequence& y = *b.sequence();
      if ((x.is_list() && y.is_list()) || (x.is_tuple() && y.is_tuple()))
        return appended(x, y, meter);
    }
  }
  if (op == MathOp::multiply) {
    if (is_repeatable(a) && b.is_integral()) return repeated(a, b.integer(), meter);
    if (is_repeatable(b) && a.is_integral()) return repeated(b, a.integer(), meter);
  }
  return unsupported_operands(op, a, b);
}

Result<Datum> signed_number(const Datum& value, bool negative) {
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (value.is(Datum::Kind::real)) return Datum(negative ? -value.real() : value.real());
  if (!value.is_integral())
    return fail(Code::corrupt, "bad operand type for unary {}: '{}'", negative ? '-' : '+',
                type_name(value));
  if (!negative) return Datum(value.integer());
  return whole_arithmetic(MathOp::subtract, 0, value.integer());
}

Result<bool> compare(CompareOp op, const Datum& a, const Datum& b, RenderMeter& meter) {
  switch (op) {
    case CompareOp::equal:
      return equal(a, b, meter);
    case CompareOp::unequal:
      return !TRY(equal(a, b, meter));
    case CompareOp::in:
      return contains(b, a, meter);
    case CompareOp::not_in:
      return !TRY(contains(b, a, meter));
    case CompareOp::less:
      return less(a, b, meter);
    case CompareOp::greater:
      return less(b, a, meter);
    case CompareOp::less_equal:
      return TRY(less(a, b, meter)) || TRY(equal(a, b, meter));
    case CompareOp::greater_equal:
      return TRY(less(b, a, meter)) || TRY(equal(a, b, meter));
  }
  return false;
}

}  // namespace ruv::jinja
