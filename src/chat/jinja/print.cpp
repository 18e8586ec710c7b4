// Python's str and repr of values: True, None, 1e+16, 'it''s' with Python's choice of quotes.
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "chat/jinja/datum.h"
#include "chat/jinja/escapes.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/object.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

// Python switches to exponents below 1e-4 and from 1e16 on.
std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view scientific(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = scientific.find('e');
  int exponent = 0;
  const char* digits_of_exponent = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, scientific.data() + scientific.size(), exponent);

  std::string out = value < 0 || std::signbit(value) ? "-" : "";
  std::string digits;
  for (const char c : scientific.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

namespace {

// \n, \x1b, … or the character itself if Python calls it printable.
std::string escaped(uint32_t c, std::string_view character, char quote) {
  if (c == '\\') return "\\\\";
  if (c == static_cast<uint32_t>(quote)) return {'\\', quote};
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (is_printable(c)) return std::string(character);
  return numbered_escape(c);
}

// Single quotes unless the text has single and no double quotes.
void append_text_repr(MarkedText& out, const MarkedText& text, bool from_user) {
  const std::string& bytes = text.bytes();
  const bool double_quotes =
      bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  const bool quotes_from_user = from_user || text.any_from_user();
  if (text.html_safe) out.append("Markup(", quotes_from_user);
  out.append({&quote, 1}, quotes_from_user);
  text.for_each_run([&](std::string_view run, bool marked) {
    for (size_t at = 0; at < run.size();) {
      const CodePoint c = decode_utf8(run, at);
      out.append(escaped(c.value, run.substr(at, c.size), quote), marked);
      at += c.size;
    }
  });
  out.append({&quote, 1}, quotes_from_user);
  if (text.html_safe) out.append(")", quotes_from_user);
}

Status append_sequence_repr(MarkedText& out, const DatumSequence& sequence, RenderMeter& meter,
                            int depth) {
  const bool user = sequence.from_user;
  if (sequence.kind == SequenceKind::generator) {
    out.append("<generator object>", user);
    return Status();
  }
  if (sequence.kind == SequenceKind::range) {
    out.append(sequence.step == 1
                   ? fmt::format("range({}, {})", sequence.start, sequence.stop)
                   : fmt::format("range({}, {}, {})", sequence.start, sequence.stop, sequence.step),
               user);
    return Status();
  }
  const bool round = sequence.is_tuple();
  if (sequence.kind == SequenceKind::keys) out.append("dict_keys(", user);
  if (sequence.kind == SequenceKind::values) out.append("dict_values(", user);
  if (sequence.kind == SequenceKind::items) out.append("dict_items(", user);
  out.append(round ? "(" : "[", user);
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out.append(", ", user);
    TRY(append_repr(out, sequence.items[i], meter, user, depth));
  }
  if (round && sequence.items.size() == 1) out.append(",", user);
  out.append(round ? ")" : "]", user);
  if (!round && !sequence.is_list()) out.append(")", user);
  return Status();
}

Status append_dict_repr(MarkedText& out, const DatumDict& dict, RenderMeter& meter, int depth) {
  const bool user = dict.from_user;
  out.append("{", user);
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out.append(", ", user);
    first = false;
    TRY(append_repr(out, key, meter, user, depth));
    out.append(": ", user);
    TRY(append_repr(out, value, meter, user, depth));
  }
  out.append("}", user);
  return Status();
}

}  // namespace

Status append_repr(MarkedText& out, const Datum& value, RenderMeter& meter, bool from_user,
                   int depth) {
  // Namespaces may hold themselves, so the depth of the values is not enough.
  if (depth > kMaxValueDepth)
    return fail(Code::invalid, "values are nested deeper than {}", kMaxValueDepth);
  TRY(meter.spend());
  TRY(meter.check_size(out.size()));
  const size_t before = out.size();
  switch (value.kind()) {
    case Datum::Kind::undefined:
      out.append("Undefined", from_user);
      break;
    case Datum::Kind::none:
      out.append("None", from_user);
      break;
    case Datum::Kind::boolean:
      out.append(value.boolean() ? "True" : "False", from_user);
      break;
    case Datum::Kind::integer:
      out.append(fmt::format("{}", value.integer()), from_user);
      break;
    case Datum::Kind::wide_integer:
      TRY(spend_whole(value, meter));
      out.append(TRY(whole_text(value)), from_user);
      break;
    case Datum::Kind::real:
      out.append(real_repr(value.real()), from_user);
      break;
    case Datum::Kind::text:
      append_text_repr(out, *value.text(), from_user);
      TRY(meter.spend_text(out.size() - before));
      break;
    case Datum::Kind::sequence:
      TRY(append_sequence_repr(out, *value.sequence(), meter, depth + 1));
      break;
    case Datum::Kind::dict:
      TRY(append_dict_repr(out, *value.dict(), meter, depth + 1));
      break;
    case Datum::Kind::object:
      TRY(value.object()->append_repr(out, meter, depth + 1));
      break;
  }
  return Status();
}

Result<TextPtr> text_of(const Datum& value, RenderMeter& meter) {
  if (value.is_text()) return value.text();
  MarkedText out;
  if (!value.is_undefined()) TRY(append_repr(out, value, meter, false));
  TRY(meter.spend_text(out.size()));
  return std::make_shared<const MarkedText>(std::move(out));
}

}  // namespace ruv::jinja
