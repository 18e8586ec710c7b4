// Both formats are read left to right; literal text keeps the marks of the format string.
#include "chat/jinja/text_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "chat/jinja/escapes.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/number_format.h"
#include "chat/jinja/run.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

namespace {

bool is_field_digit(char c) { return c >= '0' && c <= '9'; }

// A run of digits; -1 when there is none, capped so that it cannot overflow.
int64_t read_count(std::string_view text, size_t& at) {
  if (at >= text.size() || !is_field_digit(text[at])) return -1;
  int64_t value = 0;
  for (; at < text.size() && is_field_digit(text[at]); ++at)
    value = std::min<int64_t>(value * 10 + (text[at] - '0'), kMaxFieldWidth + 1);
  return value;
}

void append_ascii(std::string& out, const LetterAt& at) {
  out += at.c < 0x80 ? std::string(1, static_cast<char>(at.c)) : numbered_escape(at.c);
}

// The text that a field shows of a value: Python's str, repr or ascii of it by s, r or a.
Result<Datum> converted(const Datum& value, char conversion, RenderMeter& meter) {
  if (conversion == 's') return Datum(TRY(text_of(value, meter)));
  MarkedText shown;
  TRY(append_repr(shown, value, meter, false));
  if (conversion == 'r') return Datum(std::move(shown));
  TRY(meter.spend_text(shown.size()));
  return Datum(mapped(shown, append_ascii));
}

// Hands out the values of a % format.
class PrintfValues {
 public:
  explicit PrintfValues(const Datum& values) : values_(values) {
    if (values.is(Datum::Kind::sequence) && values.sequence()->is_tuple())
      tuple_ = values.sequence().get();
  }
  Result<Datum> next() {
    if (tuple_) {
      if (used_ < tuple_->items.size()) return tuple_->items[used_++];
    } else if (used_++ == 0) {
      return values_;
    }
    return fail(Code::corrupt, "not enough arguments for format string");
  }
  Result<Datum> named(std::string_view name) {
    used_ = 1;
    if (!values_.is(Datum::Kind::dict)) return fail(Code::corrupt, "format requires a mapping");
    if (const Datum* found = values_.dict()->find(name)) return *found;
    return fail(Code::corrupt, "no value named '{}' for the format string", name);
  }
  Status finish() const {
    const bool unordered =
        values_.is_undefined() || values_.is(Datum::Kind::dict) ||
        (values_.is(Datum::Kind::sequence) && values_.sequence()->is_indexable());
    const bool spare = tuple_ ? used_ < tuple_->items.size() : used_ == 0 && !unordered;
    if (spare) return fail(Code::corrupt, "not all arguments converted during string formatting");
    return Status();
  }

 private:
  const Datum& values_;
  const DatumSequence* tuple_ = nullptr;
  size_t used_ = 0;
};

// The flags, width and precision after a %.
FieldFormat read_printf_flags(std::string_view text, size_t& at) {
  FieldFormat out;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '-') {
      out.align = '<';
    } else if (c == '0') {
      out.fill = "0";
      if (!out.align) out.align = '=';
    } else if (c == '+' || c == ' ') {
      if (out.sign != '+') out.sign = c;
    } else if (c == '#') {
      out.alternate = true;
    } else {
      break;
    }
  }
  if (out.align == '<') out.fill = " ";
  out.width = std::max<int64_t>(read_count(text, at), 0);
  if (at < text.size() && text[at] == '.') {
    ++at;
    out.precision = std::max<int64_t>(read_count(text, at), 0);
  }
  return out;
}

// What %c shows: a text of one character, or the character of that number.
Result<Datum> one_character(const Datum& value) {
  if (value.is_text() && count_characters(value.bytes()) == 1) return value;
  if (!value.is_integral() || value.integer() < 0 || value.integer() > 0x10FFFF)
    return fail(Code::corrupt, "%c requires int or char");
  std::string character;
  append_utf8(character, static_cast<uint32_t>(value.integer()));
  return Datum(MarkedText(std::move(character), true));
}

// Python pads the digits of whole numbers to the precision, which str.format does not know.
Result<MarkedText> with_digits(const Datum& value, FieldFormat field, RenderMeter& meter) {
  const int64_t width = std::exchange(field.width, 0);
  const int64_t precision = std::exchange(field.precision, -1);
  MarkedText digits = TRY(formatted(value, field, meter));
  const std::string& bytes = digits.bytes();
  size_t head = bytes.find_first_not_of("+- ");
  if (field.alternate && head + 1 < bytes.size() && bytes[head] == '0' && bytes[head + 1] > '9')
    head += 2;
  const auto missing = precision - static_cast<int64_t>(bytes.size() - head);
  std::string out = bytes;
  if (missing > 0) out.insert(head, static_cast<size_t>(missing), '0');
  if (static_cast<int64_t>(out.size()) < width) {
    const size_t spare = static_cast<size_t>(width) - out.size();
    if (field.align == '<') {
      out.append(spare, ' ');
    } else if (field.align == '=') {
      head = std::min(head, out.size());
      out.insert(head, spare, '0');
    } else {
      out.insert(0, spare, ' ');
    }
  }
  return MarkedText(std::move(out), false);
}

// One conversion of a % format.
Result<MarkedText> printf_field(const Datum& value, FieldFormat field, RenderMeter& meter) {
  static constexpr std::string_view kTypes = "diuxXofFeEgGsrac";
  if (kTypes.find(field.type) == std::string_view::npos)
    return fail(Code::corrupt, "unsupported format character '{}'", field.type);
  Datum shown = value;
  if (field.type == 'd' || field.type == 'i' || field.type == 'u') {
    if (!value.is_number())
      return fail(Code::corrupt, "%{} format: a real number is required, not {}", field.type,
                  type_name(value));
    field.type = 'd';
    if (value.is(Datum::Kind::real)) {
      if (!std::isfinite(value.real()))
        return fail(Code::corrupt, "cannot convert float infinity or NaN to integer");
      shown = whole_part(value.real());
    }
  }
  if (field.type == 'c') {
    shown = TRY(one_character(value));
    field.type = 's';
    field.precision = -1;
  }
  if (field.type == 'r' || field.type == 'a') {
    shown = TRY(converted(value, field.type, meter));
    field.type = 's';
  }
  if (field.type == 's' && field.align != '<') {
    field.align = '>';
    field.fill = " ";
  }
  static constexpr std::string_view kWhole = "dxXo";
  if (field.precision >= 0 && field.precision <= kMaxFieldWidth && field.width <= kMaxFieldWidth &&
      kWhole.find(field.type) != std::string_view::npos && shown.is_whole())
    return with_digits(shown, field, meter);
  return formatted(shown, field, meter);
}

}  // namespace

// Literal parts are copied; each % takes the next value or a named one.
Result<Datum> printf_format(const Datum& format, const Datum& values, RenderMeter& meter) {
  const MarkedText& text = *format.text();
  const std::string_view bytes = text.bytes();
  PrintfValues source(values);
  MarkedText out;
  size_t begin = 0;
  for (size_t at = bytes.find('%'); at != std::string_view::npos; at = bytes.find('%', begin)) {
    TRY(meter.spend());
    out.append_slice(text, begin, at++);
    std::optional<std::string_view> name;
    if (at < bytes.size() && bytes[at] == '(') {
      const size_t close = bytes.find(')', at);
      if (close == std::string_view::npos) return fail(Code::corrupt, "incomplete format key");
      name = bytes.substr(at + 1, close - at - 1);
      at = close + 1;
    }
    FieldFormat field = read_printf_flags(bytes, at);
    if (at >= bytes.size()) return fail(Code::corrupt, "incomplete format");
    field.type = bytes[at];
    begin = at + 1;
    if (field.type == '%') {
      out.append_slice(text, at, at + 1);
      continue;
    }
    const Datum value = name ? TRY(source.named(*name)) : TRY(source.next());
    const MarkedText shown = TRY(printf_field(value, field, meter));
    TRY(meter.spend_text(out.size() + shown.size()));
    out.append(shown);
  }
  out.append_slice(text, begin, text.size());
  TRY(source.finish());
  return Datum(std::move(out));
}

namespace {

// [[fill]align][sign][#][0][width][,][.precision][type].
Result<FieldFormat> read_brace_format(std::string_view text) {
  FieldFormat out;
  size_t at = 0;
  static constexpr std::string_view kAligns = "<>^=";
  const auto aligns = [&](size_t i) {
    return i < text.size() && kAligns.find(text[i]) != std::string_view::npos;
  };
  const size_t first = text.empty() ? 0 : decode_utf8(text, 0).size;
  const bool filled = first > 0 && aligns(first);
  if (filled) {
    out.fill = std::string(text.substr(0, first));
    out.align = text[first];
    at = first + 1;
  } else if (aligns(0)) {
    out.align = text[at++];
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' '))
    out.sign = text[at++];
  if (at < text.size() && text[at] == '#') {
    out.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0') {
    if (!filled) out.fill = "0";
    if (!out.align) {
      out.align = '=';
      out.zero_padded = true;
    }
    ++at;
  }
  out.width = std::max<int64_t>(read_count(text, at), 0);
  if (at < text.size() && text[at] == ',') {
    out.grouped = true;
    ++at;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    out.precision = read_count(text, at);
    if (out.precision < 0) return fail(Code::corrupt, "format specifier missing precision");
  }
  if (at < text.size()) out.type = text[at++];
  static constexpr std::string_view kTypes = "dfFeEgGxXobs%";
  if (at != text.size() || (out.type && kTypes.find(out.type) == std::string_view::npos))
    return fail(Code::corrupt, "invalid format specifier '{}'", text);
  return out;
}

// The number that a field or an index in brackets is; nothing when it is a name, as "-1" is.
Result<std::optional<int64_t>> field_number(std::string_view name) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_field_digit)) return std::nullopt;
  int64_t value = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), value).ec != std::errc())
    return fail(Code::corrupt, "too many decimal digits in a format string");
  return value;
}

// The values that brace fields name.
class BraceValues {
 public:
  BraceValues(TemplateRun& run, const CallArguments& arguments)
      : run_(run), arguments_(arguments) {}

  // `path` is the part of a field before ! and : — "0", "name", "name.a[2]" or "".
  Result<Datum> resolve(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    Datum value = TRY(root(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      TRY(run_.meter().spend());
      const bool dotted = path[0] == '.';
      const size_t stop =
          dotted ? std::min(path.find_first_of(".[", 1), path.size()) : path.find(']');
      if ((!dotted && path[0] != '[') || stop == std::string_view::npos)
        return fail(Code::corrupt, "malformed field in a format string");
      const std::string_view name = path.substr(1, stop - 1);
      if (name.empty()) return fail(Code::corrupt, "an empty attribute in a format string");
      value = dotted ? TRY(attribute_of(run_, value, name)) : TRY(item(value, name));
      path.remove_prefix(dotted ? stop : stop + 1);
    }
    return value;
  }

 private:
  Result<Datum> item(const Datum& value, std::string_view name) {
    const std::optional<int64_t> number = TRY(field_number(name));
    return item_of(run_, value, number ? Datum(*number) : Datum::text(name));
  }

  Result<Datum> root(std::string_view name) {
    const bool numbered = !name.empty() && is_field_digit(name[0]);
    if ((name.empty() && manual_) || (numbered && next_ > 0))
      return fail(Code::corrupt, "numbered and unnumbered fields in one format string");
    manual_ |= numbered;
    const std::optional<int64_t> number =
        name.empty() ? std::optional(next_++) : TRY(field_number(name));
    if (!number) {
      for (const auto& [key, value] : arguments_.named)
        if (key == name) return value;
      return fail(Code::corrupt, "no value named '{}' for the format string", name);
    }
    if (static_cast<uint64_t>(*number) >= arguments_.positional.size())
      return fail(Code::corrupt, "the format string asks for argument {}, {} are given", *number,
                  arguments_.positional.size());
    return arguments_.positional[static_cast<size_t>(*number)];
  }

  TemplateRun& run_;
  const CallArguments& arguments_;
  int64_t next_ = 0;
  bool manual_ = false;
};

// One field: its path, conversion and format.
Result<MarkedText> brace_field(BraceValues& values, std::string_view field, bool from_user,
                               RenderMeter& meter) {
  if (field.find('{') != std::string_view::npos)
    return fail(Code::unsupported, "a field inside a format is not supported");
  std::string_view format;
  if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
    format = field.substr(colon + 1);
    field = field.substr(0, colon);
  }
  char conversion = 0;
  if (const size_t bang = field.find('!'); bang != std::string_view::npos) {
    const std::string_view letter = field.substr(bang + 1);
    if (letter != "r" && letter != "s" && letter != "a")
      return fail(Code::corrupt, "unknown conversion '!{}' in a format string", letter);
    conversion = letter[0];
    field = field.substr(0, bang);
  }
  FieldFormat layout = TRY(read_brace_format(format));
  layout.from_user = from_user;
  Datum value = TRY(values.resolve(field));
  if (conversion || format.empty())
    value = TRY(converted(value, conversion ? conversion : 's', meter));
  TRY(check_field(value, layout));
  return formatted(value, layout, meter);
}

}  // namespace

// {{ and }} are literal braces.
Result<Datum> brace_format(TemplateRun& run, const MarkedText& format,
                           const CallArguments& arguments) {
  const std::string_view bytes = format.bytes();
  BraceValues values(run, arguments);
  const bool from_user = format.any_from_user();
  MarkedText out;
  size_t begin = 0;
  for (size_t at = bytes.find_first_of("{}"); at != std::string_view::npos;
       at = bytes.find_first_of("{}", begin)) {
    TRY(run.meter().spend());
    out.append_slice(format, begin, at);
    if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {  // {{ or }}
      out.append_slice(format, at, at + 1);
      begin = at + 2;
      continue;
    }
    const size_t close = bytes.find('}', at);
    if (bytes[at] == '}' || close == std::string_view::npos)
      return fail(Code::corrupt, "single '{}' in a format string", bytes[at]);
    const MarkedText shown =
        TRY(brace_field(values, bytes.substr(at + 1, close - at - 1), from_user, run.meter()));
    TRY(run.meter().spend_text(out.size() + shown.size()));
    out.append(shown);
    begin = close + 1;
  }
  out.append_slice(format, begin, format.size());
  return Datum(std::move(out));
}

}  // namespace ruv::jinja
