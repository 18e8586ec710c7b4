// Filters whose result is a text. They keep the marks of the bytes that they copy.
#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/html.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/text_format.h"
#include "chat/jinja/text_ops.h"

namespace ruv::jinja {

namespace {

// The subject as text, paid for once per filter.
Result<TextPtr> subject_text(const BuiltinCall& call) {
  TextPtr text = TRY(text_of(call.subject, call.meter()));
  TRY(call.meter().spend_text(text->size()));
  return text;
}

template <MarkedText (*kChange)(const MarkedText&)>
// upper, lower, title, capitalize: a mapping of characters.
Result<Datum> changed_text(const BuiltinCall& call) {
  return Datum(kChange(*TRY(subject_text(call))));
}

Result<Datum> string_filter(const BuiltinCall& call) { return Datum(TRY(subject_text(call))); }

// Removes white space, or the given characters, at both ends.
Result<Datum> trim_filter(const BuiltinCall& call) {
  const TextPtr text = TRY(subject_text(call));
  if (!call.has(0) || call.given[0]->is_none())
    return Datum(stripped(*text, nullptr, StripSide::both));
  if (!call.given[0]->is_text()) return fail(Code::corrupt, "strip arg must be None or str");
  const TextPtr& characters = call.given[0]->text();
  TRY(call.meter().spend_search(text->size(), characters->size()));
  return Datum(stripped(*text, characters.get(), StripSide::both));
}

// All occurrences, or the first `count`.
Result<Datum> replace_filter(const BuiltinCall& call) {
  const TextPtr text = TRY(subject_text(call));
  const int64_t limit = call.has(2) && call.given[2]->is_none() ? -1 : TRY(call.integer(2, -1));
  return Datum(TRY(replaced(*text, *TRY(call.text(0)), *TRY(call.text(1)), limit, call.meter())));
}

// Indents all lines, except the first and blank ones unless asked for.
Result<Datum> indent_filter(const BuiltinCall& call) {
  if (!call.subject.is_text() && !call.subject.is_undefined())
    return fail(Code::corrupt, "indent needs a text, not {}", type_name(call.subject));
  if (call.subject.is_undefined())
    return fail(Code::corrupt, "{}", call.subject.undefined_message());
  MarkedText indention;
  if (call.has(0) && call.given[0]->is_text()) {
    indention = *call.given[0]->text();
  } else {
    const int64_t width = std::max<int64_t>(TRY(call.integer(0, 4)), 0);
    TRY(call.meter().spend_text(static_cast<size_t>(width)));
    indention.append(std::string(static_cast<size_t>(width), ' '), false);
  }
  MarkedText whole = *call.subject.text();
  const bool user = whole.any_from_user();
  whole.append("\n", user);
  const bool blank = call.flag(2);
  MarkedText out;
  if (call.flag(1)) out.append(indention);
  bool first = true;
  for (const Datum& line : TRY(split_lines(whole, false, call.meter()))) {
    if (!first) {
      out.append("\n", user);
      if (blank || !line.text()->empty()) out.append(indention);
    }
    first = false;
    TRY(call.meter().spend_text(indention.size()));
    TRY(call.meter().check_size(out.size() + line.text()->size()));
    out.append(*line.text());
  }
  return Datum(std::move(out));
}

// Cuts at a word boundary unless killwords; `leeway` more characters are tolerated.
Result<Datum> truncate_filter(const BuiltinCall& call) {
  const int64_t length = TRY(call.integer(0, 255));
  if (!call.subject.is_text()) {
    // A text that is short enough is unchanged.
    const int64_t n = TRY(length_of(call.subject, call.meter()));
    const int64_t spare = call.has(3) && !call.given[3]->is_none() ? TRY(call.integer(3, 5)) : 5;
    if (length >= 3 && length < INT32_MAX && n - length <= spare) return call.subject;
    return fail(Code::corrupt, "truncate needs a text, not {}", type_name(call.subject));
  }
  const TextPtr text = TRY(subject_text(call));
  const TextPtr end = TRY(call.text(2, "..."));
  const int64_t leeway = call.has(3) && !call.given[3]->is_none() ? TRY(call.integer(3, 5)) : 5;
  const auto end_length = static_cast<int64_t>(count_characters(end->bytes()));
  if (length < end_length || leeway < 0 || length > (int64_t{1} << 40))
    return fail(Code::corrupt, "truncate: expected length >= {} and leeway >= 0", end_length);
  if (static_cast<int64_t>(count_characters(text->bytes())) - leeway <= length) return Datum(text);
  const size_t cut = byte_of_character(text->bytes(), static_cast<size_t>(length - end_length), 0);
  MarkedText out = text->slice(0, cut);
  if (!call.flag(1)) {
    const size_t space = out.bytes().rfind(' ');
    if (space != std::string::npos) out = out.slice(0, space);
  }
  out.append(*end);
  return Datum(std::move(out));
}

Result<Datum> center_filter(const BuiltinCall& call) {
  const TextPtr text = TRY(subject_text(call));
  const int64_t width = TRY(call.integer(0, 80));
  const auto length = static_cast<int64_t>(count_characters(text->bytes()));
  if (width <= length) return Datum(text);
  TRY(call.meter().spend_text(static_cast<size_t>(width)));
  const int64_t missing = width - length;
  const int64_t left = missing / 2 + (missing & width & 1);
  return Datum(padded(*text, static_cast<size_t>(left), static_cast<size_t>(missing - left),
                      MarkedText(" ", false)));
}

Result<Datum> wordcount_filter(const BuiltinCall& call) {
  const TextPtr text = TRY(subject_text(call));
  int64_t count = 0;
  bool inside = false;
  for (size_t at = 0; at < text->size();) {
    const CodePoint c = decode_utf8(text->bytes(), at);
    const bool word = is_word(c.value);
    count += word && !inside;
    inside = word;
    at += c.size;
  }
  return Datum(count);
}

// A text that is already safe is unchanged; force_escape escapes it again.
Result<Datum> escape_filter(const BuiltinCall& call) {
  if (call.subject.is_text() && call.subject.text()->html_safe) return call.subject;
  return Datum(html_escaped(*TRY(subject_text(call))));
}

Result<Datum> force_escape_filter(const BuiltinCall& call) {
  return Datum(html_escaped(*TRY(subject_text(call))));
}

Result<Datum> safe_filter(const BuiltinCall& call) {
  MarkedText text = *TRY(subject_text(call));
  text.html_safe = true;
  return Datum(std::move(text));
}

// "%s %s"|format(a, b) and "%(x)s"|format(x=1).
Result<Datum> format_filter(const BuiltinCall& call) {
  const Datum format(TRY(subject_text(call)));
  const CallArguments& given = call.arguments;
  if (!given.named.empty() && !given.positional.empty())
    return fail(Code::corrupt, "can't handle positional and keyword arguments at the same time");
  if (given.named.empty()) {
    const Datum values = TRY(make_sequence(SequenceKind::tuple, given.positional, call.meter()));
    return printf_format(format, values, call.meter());
  }
  auto dict = std::make_shared<DatumDict>();
  for (const auto& [name, value] : given.named)
    TRY(dict->set(given.name_text(name), value, call.meter()));
  return printf_format(format, Datum(DictPtr(std::move(dict))), call.meter());
}

// For a path "/" stays; in a query it does not, and a space is "+".
void append_quoted(MarkedText& out, const MarkedText& text, bool is_path) {
  static constexpr std::string_view kUnreserved = "-_.~";
  text.for_each_run([&](std::string_view run, bool from_user) {
    for (const char c : run) {
      const bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z' && c > 0) ||
                         kUnreserved.find(c) != std::string_view::npos || (is_path && c == '/');
      if (plain) {
        out.append({&c, 1}, from_user);
      } else if (c == ' ' && !is_path) {
        out.append("+", from_user);
      } else {
        out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), from_user);
      }
    }
  });
}

// A text, or the pairs of a mapping as a query.
Result<Datum> urlencode_filter(const BuiltinCall& call) {
  MarkedText out;
  const bool pairs = call.subject.is(Datum::Kind::dict) || call.subject.is(Datum::Kind::sequence);
  if (!pairs) {
    append_quoted(out, *TRY(subject_text(call)), true);
    return Datum(std::move(out));
  }
  const auto append_pair = [&](const Datum& key, const Datum& value) -> Status {
    if (!out.empty()) out.append("&", false);
    append_quoted(out, *TRY(text_of(key, call.meter())), false);
    out.append("=", false);
    append_quoted(out, *TRY(text_of(value, call.meter())), false);
    return call.meter().spend_text(out.size());
  };
  if (call.subject.is(Datum::Kind::dict)) {
    for (const auto& [key, value] : call.subject.dict()->entries()) TRY(append_pair(key, value));
    return Datum(std::move(out));
  }
  for (const Datum& pair : TRY(items_of(call.subject, call.meter()))) {
    const std::vector<Datum> parts = TRY(items_of(pair, call.meter()));
    if (parts.size() != 2) return fail(Code::corrupt, "urlencode needs pairs of key and value");
    TRY(append_pair(parts[0], parts[1]));
  }
  return Datum(std::move(out));
}

// {'class': 'a b'} as  class="a b"  with a space before it.
Result<Datum> xmlattr_filter(const BuiltinCall& call) {
  static constexpr std::string_view kRefused = " \t\n\r\f\v/>=";
  if (!call.subject.is(Datum::Kind::dict))
    return fail(Code::corrupt, "'{}' object has no attribute 'items'", type_name(call.subject));
  MarkedText out;
  for (const auto& [key, value] : call.subject.dict()->entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_text())
      return fail(Code::corrupt, "expected string or bytes-like object, got '{}'", type_name(key));
    if (key.bytes().find_first_of(kRefused) != std::string::npos)
      return fail(Code::corrupt, "Invalid character in attribute name: '{}'", key.bytes());
    const TextPtr shown = TRY(text_of(value, call.meter()));
    TRY(call.meter().spend_text(shown->size() + key.text()->size()));
    TRY(call.meter().check_size(out.size() + shown->size()));
    if (!out.empty() || call.flag(0, true)) out.append(" ", false);
    out.append(html_escaped(*key.text()));
    out.append("=\"", false);
    out.append(shown->html_safe ? *shown : html_escaped(*shown));
    out.append("\"", false);
  }
  return Datum(std::move(out));
}

constexpr BuiltinRow kTextRows[] = {
    {"capitalize", changed_text<capitalized>},
    {"center", center_filter, 0, {"width"}},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", force_escape_filter},
    {"format", format_filter, 0, {"*"}},
    {"indent", indent_filter, 0, {"width", "first", "blank"}},
    {"lower", changed_text<lowercased>},
    {"replace", replace_filter, 2, {"old", "new", "count"}},
    {"safe", safe_filter},
    {"string", string_filter},
    {"title", changed_text<word_titled>},
    {"tojson", tojson_filter, 0, {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"trim", trim_filter, 0, {"chars"}},
    {"truncate", truncate_filter, 0, {"length", "killwords", "end", "leeway"}},
    {"upper", changed_text<uppercased>},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
    {"xmlattr", xmlattr_filter, 0, {"autospace"}},
};

}  // namespace

std::span<const BuiltinRow> text_filters() { return kTextRows; }

}  // namespace ruv::jinja
