// Filters that make numbers.
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/letters.h"

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

tl::unexpected<Status> too_large() {
  return fail(Code::corrupt, "the result is a whole number that does not fit 64 bits");
}

// Python's int(text, base). Nothing when it is no such number. Fails: corrupt (beyond 64 bits).
Result<std::optional<int64_t>> whole_from_text(std::string_view text, int64_t base) {
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
  int64_t value = 0;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [stop, code] =
      std::from_chars(signed_digits.data(), end, value, static_cast<int>(base));
  if (stop != end) return std::nullopt;
  if (code == std::errc::result_out_of_range) return too_large();
  return std::optional(value);
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
  const auto [stop, code] = std::from_chars(digits->data(), end, value);
  if (stop != end) return std::nullopt;
  if (code == std::errc::result_out_of_range)
    value = digits->find("e-") == std::string::npos ? HUGE_VAL : 0;
  return negative ? -value : value;
}

// Python's int(value); nothing for infinities and NaN. Fails: corrupt (beyond 64 bits).
Result<std::optional<int64_t>> truncated(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (!(value > -0x1p63 && value < 0x1p63)) return too_large();
  return std::optional(static_cast<int64_t>(value));
}

Result<Datum> int_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  const Datum fallback = call.has(0) ? *call.given[0] : Datum(int64_t{0});
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  std::optional<int64_t> whole;
  if (value.is_integral()) {
    whole = value.integer();
  } else if (value.is(Datum::Kind::real)) {
    whole = TRY(truncated(value.real()));
  } else if (value.is_text()) {
    TRY(call.meter().spend_text(value.text()->size()));
    const std::string digits = with_ascii_digits(value.bytes());
    whole = TRY(whole_from_text(digits, TRY(call.integer(1, 10))));
    if (!whole) {
      if (const std::optional<double> real = real_from_text(digits)) whole = TRY(truncated(*real));
    }
  }
  return whole ? Datum(*whole) : fallback;
}

Result<Datum> float_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (value.is_number()) return Datum(value.real());
  if (value.is_text()) {
    TRY(call.meter().spend_text(value.text()->size()));
    if (const std::optional<double> real = real_from_text(with_ascii_digits(value.bytes())))
      return Datum(*real);
  }
  return call.has(0) ? *call.given[0] : Datum(0.0);
}

Result<Datum> abs_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  if (value.is(Datum::Kind::real)) return Datum(std::fabs(value.real()));
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (!value.is_integral())
    return fail(Code::corrupt, "bad operand type for abs(): '{}'", type_name(value));
  return signed_number(value, value.integer() < 0);
}

// Halves go to the even neighbour of the exact decimal value, as Python's round does.
double rounded(double value, int64_t precision) {
  if (!std::isfinite(value)) return value;
  if (precision >= 0) {
    char buffer[800];
    const auto digits = static_cast<int>(std::min<int64_t>(precision, 400));
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
    double out = value;
    std::from_chars(buffer, end.ptr, out);
    return out;
  }
  const double scale = std::pow(10.0, static_cast<double>(std::min<int64_t>(-precision, 400)));
  return std::isinf(scale) ? std::copysign(0.0, value) : std::nearbyint(value / scale) * scale;
}

Result<Datum> round_filter(const BuiltinCall& call) {
  const Datum& value = call.subject;
  const int64_t precision = TRY(call.integer(0, 0));
  const TextPtr method = TRY(call.text(1, "common"));
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  if (!value.is_number())
    return fail(Code::corrupt, "type {} doesn't define __round__ method", type_name(value));
  if (method->bytes() == "common") {
    if (value.is_integral() && precision >= 0) return Datum(value.integer());
    const double out = rounded(value.real(), precision);
    return value.is_integral() ? Datum(TRY(truncated(out)).value_or(value.integer())) : Datum(out);
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  // Python goes through whole numbers here, which have no -0.
  if (method->bytes() == "ceil") return Datum((std::ceil(value.real() * scale) + 0.0) / scale);
  if (method->bytes() == "floor") return Datum((std::floor(value.real() * scale) + 0.0) / scale);
  return fail(Code::corrupt, "method must be common, ceil or floor");
}

// 13.4 kB, or 13.1 KiB when binary.
Result<Datum> filesizeformat_filter(const BuiltinCall& call) {
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  const Datum& value = call.subject;
  if (value.is_undefined()) return fail(Code::corrupt, "{}", value.undefined_message());
  std::optional<double> bytes;
  if (value.is_number()) bytes = value.real();
  if (value.is_text()) {
    TRY(call.meter().spend_text(value.text()->size()));
    bytes = real_from_text(with_ascii_digits(value.bytes()));
  }
  if (!bytes) return fail(Code::corrupt, "filesizeformat needs a number, not {}", type_name(value));
  const bool binary = call.flag(0);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return Datum::text("1 Byte");
  if (*bytes < base) {
    const std::optional<int64_t> whole = TRY(truncated(*bytes));
    if (!whole) return fail(Code::corrupt, "cannot convert float infinity to integer");
    return Datum::text(fmt::format("{} Bytes", *whole));
  }
  size_t i = 0;
  // Powers up to 1000^9 are exact in a long double, as in Python's whole numbers.
  long double unit = static_cast<long double>(base) * base;
  for (; i + 1 < kPrefixes.size() && !(*bytes < unit); ++i) unit *= base;
  const char letter = binary && i == 0 ? 'K' : kPrefixes[i];
  return Datum::text(fmt::format("{:.1f} {}{}", base * *bytes / static_cast<double>(unit), letter,
                                 binary ? "iB" : "B"));
}

constexpr BuiltinRow kRows[] = {
    {"abs", abs_filter},
    {"filesizeformat", filesizeformat_filter, 0, {"binary"}},
    {"float", float_filter, 0, {"default"}},
    {"int", int_filter, 0, {"default", "base"}},
    {"round", round_filter, 0, {"precision", "method"}},
};

}  // namespace

std::span<const BuiltinRow> number_filters() { return kRows; }

}  // namespace ruv::jinja
