// Digits come from to_chars, which rounds exactly and does not depend on a locale.
#include "chat/jinja/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chat/jinja/letters.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

namespace {

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return text;
}

// Commas between the thousands; zeros, grouped too, in front of fewer than `width` characters. No
// comma comes first, so that the text may be one longer.
std::string grouped(const std::string& digits, size_t width) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  if (whole == 0) return digits;
  const size_t rest = digits.size() - whole;
  size_t n = whole;
  while (n + (n - 1) / 3 + rest < width) ++n;
  std::string out;
  for (size_t left = n; left > 0; --left) {
    if (left < n && left % 3 == 0) out += ',';
    out += left > whole ? '0' : digits[whole - left];
  }
  return out + digits.substr(whole);
}

// The alternate form of g keeps the zeros that make up its precision.
std::string with_all_digits(std::string digits, int64_t precision) {
  size_t end = std::min(digits.find_first_of("eE"), digits.size());
  if (digits.find('.') == std::string::npos) digits.insert(end++, 1, '.');
  int64_t figures = 0;
  bool leading = true;
  for (size_t i = 0; i < end; ++i) {
    if (digits[i] == '.') continue;
    leading = leading && digits[i] == '0';
    figures += !leading;
  }
  // All zeros of a zero are figures.
  if (leading)
    figures = std::count(digits.begin(), digits.begin() + static_cast<ptrdiff_t>(end), '0');
  if (figures < precision) digits.insert(end, static_cast<size_t>(precision - figures), '0');
  return digits;
}

std::string digits_of(double magnitude, std::chars_format style, int64_t precision) {
  std::string out(static_cast<size_t>(precision) + 400, '\0');
  const auto end = std::to_chars(out.data(), out.data() + out.size(), magnitude, style,
                                 static_cast<int>(precision));
  out.resize(static_cast<size_t>(end.ptr - out.data()));
  return out;
}

// Without a type, Python writes a digit after the point, and has an exponent where the precision
// leaves no room for it. `digits` are those of g.
std::string with_fraction(std::string digits, double magnitude, int64_t precision) {
  if (digits.find_first_of(".e") != std::string::npos) return digits;
  if (static_cast<int64_t>(digits.size()) < precision) return digits + ".0";
  std::string out = digits_of(magnitude, std::chars_format::scientific, precision - 1);
  const size_t exponent = out.find('e');
  size_t end = exponent;
  if (precision > 1) {
    while (out[end - 1] == '0') --end;
    if (out[end - 1] == '.') --end;
  }
  return out.erase(end, exponent - end);
}

// |value| by f, e or g; Python's g drops trailing zeros, which to_chars' does not add.
std::string real_digits(double magnitude, const FieldFormat& format) {
  const char type = format.type ? format.type : 'g';
  int64_t precision = format.precision;
  const char kind = static_cast<char>(type | 32);
  const auto style = kind == 'f' || kind == '%' || type == '%' ? std::chars_format::fixed
                     : kind == 'e'                             ? std::chars_format::scientific
                                                               : std::chars_format::general;
  if (precision < 0) precision = 6;
  if (style == std::chars_format::general && precision == 0) precision = 1;
  std::string buffer = digits_of(magnitude, style, precision);
  if (format.type == 0) buffer = with_fraction(std::move(buffer), magnitude, precision);
  if (format.alternate && style == std::chars_format::general)
    buffer = with_all_digits(std::move(buffer), precision);
  if (format.alternate && precision == 0 && style != std::chars_format::general)
    buffer.insert(std::min(buffer.find('e'), buffer.size()), 1, '.');
  return buffer;
}

struct NumberText {
  bool negative = false;
  std::string prefix;
  std::string digits;
};

// Base 2, 8, 10 or 16; the types of floats convert the number first.
Result<NumberText> whole_number_text(const Datum& value, const FieldFormat& format) {
  NumberText out;
  out.negative = is_negative(value);
  switch (format.type) {
    case 'x':
    case 'X':
      out.digits = TRY(magnitude_digits(value, 16));
      if (format.type == 'X') out.digits = upper_case(std::move(out.digits));
      if (format.alternate) out.prefix = format.type == 'X' ? "0X" : "0x";
      break;
    case 'o':
      out.digits = TRY(magnitude_digits(value, 8));
      if (format.alternate) out.prefix = "0o";
      break;
    case 'b':
      out.digits = TRY(magnitude_digits(value, 2));
      if (format.alternate) out.prefix = "0b";
      break;
    default:
      out.digits = TRY(magnitude_digits(value, 10));
  }
  return out;
}

Result<NumberText> number_text(const Datum& value, const FieldFormat& format) {
  static constexpr std::string_view kReal = "fFeEgG%";
  const bool as_real = kReal.find(format.type) != std::string_view::npos && format.type != 0;
  if (value.is_whole() && !as_real) return whole_number_text(value, format);
  if (!value.is_number())
    return fail(Code::corrupt, "format '{}' needs a number, not {}", format.type, type_name(value));
  if (format.type != 0 && !as_real)
    return fail(Code::corrupt, "format '{}' needs a whole number, not a float", format.type);
  NumberText out;
  const double real = TRY(checked_real(value)) * (format.type == '%' ? 100 : 1);
  out.negative = std::signbit(real) && !std::isnan(real);
  const double magnitude = std::fabs(real);
  if (format.type == 0 && format.precision < 0) {
    out.digits = real_repr(magnitude);
    if (format.alternate && out.digits.find('.') == std::string::npos && std::isfinite(real))
      out.digits.insert(out.digits.find('e'), 1, '.');
  } else if (std::isnan(real) || std::isinf(real)) {
    out.digits = std::isnan(real) ? "nan" : "inf";
  } else {
    out.digits = real_digits(magnitude, format);
  }
  if (format.type == 'E' || format.type == 'F' || format.type == 'G')
    out.digits = upper_case(std::move(out.digits));
  if (format.type == '%') out.digits += '%';
  return out;
}

// Pads to the width; `=` puts the fill between sign and digits.
MarkedText laid_out(MarkedText text, const FieldFormat& format, char align) {
  const auto length = static_cast<int64_t>(count_characters(text.bytes()));
  if (length >= format.width) return text;
  const auto missing = static_cast<size_t>(format.width - length);
  const MarkedText fill(format.fill, format.from_user);
  if (align == '<') return padded(text, 0, missing, fill);
  if (align == '^') return padded(text, missing / 2, missing - missing / 2, fill);
  return padded(text, missing, 0, fill);
}

}  // namespace

Status check_field(const Datum& value, const FieldFormat& format) {
  if (value.is_text()) {
    if (format.sign) return fail(Code::corrupt, "Sign not allowed in string format specifier");
    if (format.grouped) return fail(Code::corrupt, "Cannot specify ',' with 's'.");
    if (format.alternate)
      return fail(Code::corrupt, "Alternate form (#) not allowed in string format specifier");
    if (format.align == '=' && !format.zero_padded)
      return fail(Code::corrupt, "'=' alignment not allowed in string format specifier");
    if (format.type && format.type != 's')
      return fail(Code::corrupt, "Unknown format code '{}' for object of type 'str'", format.type);
    return Status();
  }
  if (!value.is_number())
    return fail(Code::corrupt, "unsupported format string passed to {}.__format__",
                type_name(value));
  static constexpr std::string_view kReal = "fFeEgG%";
  const bool as_real = format.type != 0 && kReal.find(format.type) != std::string_view::npos;
  static constexpr std::string_view kUngrouped = "bosxX";
  if (format.grouped && kUngrouped.find(format.type) != std::string_view::npos)
    return fail(Code::corrupt, "Cannot specify ',' with '{}'.", format.type);
  if (format.type == 's')
    return fail(Code::corrupt, "Unknown format code 's' for object of type '{}'", type_name(value));
  if (value.is_whole() && !as_real && format.precision >= 0)
    return fail(Code::corrupt, "Precision not allowed in integer format specifier");
  return Status();
}

// Number, then sign and grouping, then the width.
Result<MarkedText> formatted(const Datum& value, const FieldFormat& format, RenderMeter& meter) {
  if (format.width > kMaxFieldWidth || format.precision > kMaxFieldWidth)
    return fail(Code::invalid, "a field wider than {} is refused", kMaxFieldWidth);
  TRY(meter.spend_text(static_cast<size_t>(format.width)));
  TRY(spend_whole(value, meter));
  const bool textual = format.type == 's' || (format.type == 0 && !value.is_number());
  if (textual) {
    MarkedText text = *TRY(text_of(value, meter));
    if (format.precision >= 0)
      text =
          text.slice(0, byte_of_character(text.bytes(), static_cast<size_t>(format.precision), 0));
    const bool left = !format.align || format.zero_padded;
    return laid_out(std::move(text), format, left ? '<' : format.align);
  }
  NumberText number = TRY(number_text(value, format));
  std::string sign(number.negative      ? "-"
                   : format.sign == '+' ? "+"
                   : format.sign == ' ' ? " "
                                        : "");
  sign += number.prefix;
  if (format.grouped) {
    const bool zeros = format.align == '=' && format.fill == "0";
    const int64_t width = zeros ? format.width - static_cast<int64_t>(sign.size()) : 0;
    number.digits = grouped(number.digits, static_cast<size_t>(std::max<int64_t>(width, 0)));
  }
  const auto length = static_cast<int64_t>(sign.size() + number.digits.size());
  if (format.align == '=' && length < format.width) {
    std::string padding;
    for (int64_t i = length; i < format.width; ++i) padding += format.fill;
    return MarkedText(sign + padding + number.digits, format.from_user);
  }
  return laid_out(MarkedText(sign + number.digits, false), format,
                  format.align ? format.align : '>');
}

}  // namespace ruv::jinja
