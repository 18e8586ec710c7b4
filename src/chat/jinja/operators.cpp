// Python's arithmetic and comparison on values.
#include <cmath>

#include "chat/jinja/html.h"
#include "chat/jinja/run.h"
#include "chat/jinja/text_format.h"
#include "chat/jinja/whole_number.h"

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

tl::unexpected<Status> zero_division() { return fail(Code::corrupt, "division by zero"); }

// The sums and products of 64 bits; nothing where the result, or what Python makes of it, is wider.
std::optional<int64_t> narrow_arithmetic(MathOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == MathOp::add && !__builtin_add_overflow(a, b, &result)) return result;
  if (op == MathOp::subtract && !__builtin_sub_overflow(a, b, &result)) return result;
  if (op == MathOp::multiply && !__builtin_mul_overflow(a, b, &result)) return result;
  const bool divides = op == MathOp::modulo || op == MathOp::floor_divide;
  if (!divides || b == 0 || b == -1) return std::nullopt;
  const int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == MathOp::modulo) return adjust ? remainder + b : remainder;
  return a / b - (adjust ? 1 : 0);
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

// Fails where Python raises: zero to a negative power, a complex result, overflow.
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

// text * n and list * n; charged before memory is taken.
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

// If one side is marked safe for HTML, the other is escaped.
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

// Whole numbers stay exact at any size; texts and lists join and repeat.
Result<Datum> arithmetic(MathOp op, const Datum& a, const Datum& b, RenderMeter& meter) {
  if (op == MathOp::modulo && a.is_text()) return printf_format(a, b, meter);
  if (a.is_undefined()) return fail(Code::corrupt, "{}", a.undefined_message());
  if (b.is_undefined()) return fail(Code::corrupt, "{}", b.undefined_message());
  if (a.is_integral() && b.is_integral()) {
    if (const auto narrow = narrow_arithmetic(op, a.integer(), b.integer())) return Datum(*narrow);
  }
  if (a.is_whole() && b.is_whole()) return whole_arithmetic(op, a, b, meter);
  if (a.is_number() && b.is_number())
    return real_arithmetic(op, TRY(checked_real(a)), TRY(checked_real(b)));
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
    const bool a_repeats = is_repeatable(a) && b.is_whole();
    if (a_repeats || (is_repeatable(b) && a.is_whole())) {
      const Datum& times = a_repeats ? b : a;
      if (!times.is_integral()) return fail(Code::corrupt, "{}", kBeyond64Bits);
      return repeated(a_repeats ? a : b, times.integer(), meter);
    }
  }
  return unsupported_operands(op, a, b);
}

Result<Datum> signed_number(const Datum& value, bool negative, RenderMeter& meter) {
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (value.is(Datum::Kind::real)) return Datum(negative ? -value.real() : value.real());
  if (!value.is_whole())
    return fail(Code::corrupt, "bad operand type for unary {}: '{}'", negative ? '-' : '+',
                type_name(value));
  const Datum zero(int64_t{0});  // makes a number of a bool
  return arithmetic(negative ? MathOp::subtract : MathOp::add, zero, value, meter);
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
