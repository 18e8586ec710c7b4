// Filters whose result is a number.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/number_text.h"
#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

namespace {

std::string_view without_space(std::string_view text) {
  text.remove_prefix(leading_space(text));
  text.remove_suffix(trailing_space(text));
  return text;
}

// Digits of any script as ASCII digits, as Python's int and float read them.
std::string with_ascii_digits(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const int digit = decimal_value(c.value);
    if (digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else {
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out;
}

// Digits with single underscores between them left out; nothing when they are misplaced.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_') {
      return std::nullopt;
    }
  }
  return out;
}

// Python's int(text, base). Nothing when it is no such number, or one of more digits than Python
// reads. Fails: corrupt (beyond the limit of bits).
Result<std::optional<Datum>> whole_from_text(std::string_view text, int64_t base) {
  text = without_space(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 32);
    const int64_t prefixed = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefixed != 0 && (base == prefixed || base == 0)) {
      base = prefixed;
      text.remove_prefix(2);
      if (text[0] == '_') text.remove_prefix(1);
    }
  }
  if (base == 0) base = 10;
  const std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty() || base < 2 || base > 36 ||
      !is_word(static_cast<uint8_t>((*digits)[0])))
    return std::nullopt;
  const auto misplaced = [&](char c) {
    const int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
    return digit < 0 || digit >= base || (c > '9' && (c | 32) < 'a');
  };
  if (std::any_of(digits->begin(), digits->end(), misplaced)) return std::nullopt;
  const bool binary = (base & (base - 1)) == 0;
  if (!binary && digits->size() > kMaxWholeDigits) return std::nullopt;
  return std::optional(TRY(whole_from_digits(*digits, negative, static_cast<int>(base))));
}

// Python's float(text).
std::optional<double> real_from_text(std::string_view text) {
  text = without_space(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-' || digits->find('(') != std::string::npos)
    return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, code] = read_number(*digits, value);
  if (stop != end) return std::nullopt;
  if (code == std::errc::result_out_of_range)
    value = digits->find("e-") == std::string::npos ? HUGE_VAL : 0;
  return negative ? -value : value;
}

// Texts are parsed as Python does; anything else becomes the default.
Result<Datum> int_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  const Datum fallback = call.has(0) ? *call.given[0] : Datum(int64_t{0});
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (value.is_whole()) return signed_number(value, false, call.meter());
  if (value.is(Datum::Kind::real)) {
    if (std::isinf(value.real()))
      return fail(Code::corrupt, "cannot convert float infinity to integer");
    return std::isnan(value.real()) ? fallback : whole_part(value.real());
  }
  if (!value.is_text()) return fallback;
  TRY(call.meter().spend_text(value.text()->size()));
  const std::string digits = with_ascii_digits(value.bytes());
  TRY(call.meter().spend(static_cast<int64_t>(std::min(digits.size(), kMaxWholeBits) / 2)));
  if (const auto whole = TRY(whole_from_text(digits, TRY(call.integer(1, 10))))) return *whole;
  const std::optional<double> real = real_from_text(digits);
  return real && std::isfinite(*real) ? whole_part(*real) : fallback;
}

// The same for floats.
Result<Datum> float_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (value.is_number()) return Datum(TRY(checked_real(value)));
  if (value.is_text()) {
    TRY(call.meter().spend_text(value.text()->size()));
    if (const std::optional<double> real = real_from_text(with_ascii_digits(value.bytes())))
      return Datum(*real);
  }
  return call.has(0) ? *call.given[0] : Datum(0.0);
}

// Python's abs: exact for whole numbers.
Result<Datum> abs_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  if (value.is(Datum::Kind::real)) return Datum(std::fabs(value.real()));
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (!value.is_whole())
    return fail(Code::corrupt, "bad operand type for abs(): '{}'", type_name(value));
  return signed_number(value, is_negative(value), call.meter());
}

// Halves go to the even neighbour of the exact decimal value, as Python's round does.
Result<double> rounded(double value, int64_t precision, RenderMeter& meter) {
  if (!std::isfinite(value)) return value;
  if (precision >= 0) {
    char buffer[800];
    const auto digits = static_cast<int>(std::min<int64_t>(precision, 400));
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
    double out = value;
    read_number(std::string_view(buffer, end.ptr), out);
    return out;
  }
  const double floor = std::floor(value);
  const Datum tens = TRY(
      rounded_whole(whole_part(floor), -std::max<int64_t>(precision, -400), floor != value, meter));
  if (std::isinf(tens.real())) return fail(Code::corrupt, "rounded value too large to represent");
  return std::copysign(tens.real(), value);
}

// Python's math.ceil and math.floor: a whole number.
Result<Datum> whole_towards(const Datum& value, bool up) {
  if (value.is_whole()) return value;
  if (!std::isfinite(value.real()))
    return fail(Code::corrupt, "cannot convert float infinity or NaN to integer");
  return whole_part(up ? std::ceil(value.real()) : std::floor(value.real()));
}

// round(precision, method), with the methods common, ceil and floor.
Result<Datum> round_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  const int64_t precision = TRY(call.integer(0, 0));
  const TextPtr method = TRY(call.text(1, "common"));
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  const std::string& by = method->bytes();
  if (by != "common" && by != "ceil" && by != "floor")
    return fail(Code::corrupt, "method must be common, ceil or floor");
  if (!value.is_number())
    return fail(Code::corrupt, "type {} doesn't define __round__ method", type_name(value));
  if (by == "common") {
    if (!value.is_whole()) return Datum(TRY(rounded(value.real(), precision, call.meter())));
    if (precision >= 0) return signed_number(value, false, call.meter());
    return rounded_whole(value, precision < -INT32_MAX ? INT32_MAX : -precision, false,
                         call.meter());
  }
  // As Jinja writes it: func(value * 10**precision) / 10**precision.
  const Datum scale =
      TRY(arithmetic(MathOp::power, Datum(int64_t{10}), Datum(precision), call.meter()));
  const Datum scaled = TRY(arithmetic(MathOp::multiply, value, scale, call.meter()));
  return arithmetic(MathOp::divide, TRY(whole_towards(scaled, by == "ceil")), scale, call.meter());
}

// 13.4 kB, or 13.1 KiB when binary.
Result<Datum> filesizeformat_filter(const BuiltinCall& call) {
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  const Datum& value = call.subject;
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  std::optional<double> bytes;
  if (value.is_number()) bytes = TRY(checked_real(value));
  if (value.is_text()) {
    TRY(call.meter().spend_text(value.text()->size()));
    bytes = real_from_text(with_ascii_digits(value.bytes()));
  }
  if (!bytes) return fail(Code::corrupt, "filesizeformat needs a number, not {}", type_name(value));
  const bool binary = call.flag(0);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return Datum::text("1 Byte");
  if (*bytes < base) {
    if (std::isinf(*bytes)) return fail(Code::corrupt, "cannot convert float infinity to integer");
    return Datum::text(TRY(whole_text(whole_part(*bytes))) + " Bytes");
  }
  size_t i = 0;
  // Powers up to 1000^9 are exact in a long double, as in Python's whole numbers.
  long double unit = static_cast<long double>(base) * base;
  for (; i + 1 < kPrefixes.size() && !(*bytes < unit); ++i) unit *= base;
  const char letter = binary && i == 0 ? 'K' : kPrefixes[i];
  return Datum::text(fmt::format("{:.1f} {}{}", base * *bytes / static_cast<double>(unit), letter,
                                 binary ? "iB" : "B"));
}

constexpr BuiltinRow kNumberRows[] = {
    {"abs", abs_filter},
    {"filesizeformat", filesizeformat_filter, 0, {"binary"}},
    {"float", float_filter, 0, {"default"}},
    {"int", int_filter, 0, {"default", "base"}},
    {"round", round_filter, 0, {"precision", "method"}},
};

}  // namespace

std::span<const BuiltinRow> number_filters() { return kNumberRows; }

}  // namespace ruv::jinja
