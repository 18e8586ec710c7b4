// The methods of Python's str that templates call.
#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/run.h"
#include "chat/jinja/text_format.h"
#include "chat/jinja/text_ops.h"

namespace ruv::jinja {

namespace {

const MarkedText& self(const BuiltinCall& call) { return *call.subject.text(); }

Result<TextPtr> text_argument(const BuiltinCall& call, size_t i) {
  if (call.given[i]->is_text()) return call.given[i]->text();
  if (call.given[i]->is_undefined())
    return fail(Code::corrupt, "{}", call.given[i]->undefined_message());
  return fail(Code::corrupt, "the argument must be str, not {}", type_name(*call.given[i]));
}

bool is_given(const BuiltinCall& call, size_t i) {
  return call.has(i) && !call.given[i]->is_none();
}

template <MarkedText (*kChange)(const MarkedText&)>
// Methods that only map characters: upper, lower, title, …
Result<Datum> changed_method(const BuiltinCall& call) {
  TRY(call.meter().spend_text(self(call).size()));
  return Datum(kChange(self(call)));
}

template <StripSide kSide>
Result<Datum> strip_method(const BuiltinCall& call) {
  TRY(call.meter().spend_text(self(call).size()));
  if (!is_given(call, 0)) return Datum(stripped(self(call), nullptr, kSide));
  const TextPtr characters = TRY(text_argument(call, 0));
  TRY(call.meter().spend_search(self(call).size(), characters->size()));
  return Datum(stripped(self(call), characters.get(), kSide));
}

template <bool kFromRight>
// split and rsplit.
Result<Datum> split_method(const BuiltinCall& call) {
  const int64_t limit = TRY(call.integer(1, -1));
  TextPtr separator;
  if (is_given(call, 0)) {
    separator = TRY(text_argument(call, 0));
    if (separator->empty()) return fail(Code::corrupt, "empty separator");
  }
  return make_sequence(SequenceKind::list,
                       TRY(split(self(call), separator ? &separator->bytes() : nullptr, limit,
                                 kFromRight, call.meter())),
                       call.meter(), self(call).any_from_user());
}

Result<Datum> splitlines_method(const BuiltinCall& call) {
  return make_sequence(SequenceKind::list,
                       TRY(split_lines(self(call), TRY(call.integer(0, 0)) != 0, call.meter())),
                       call.meter());
}

template <bool kFromRight>
// partition and rpartition.
Result<Datum> partition_method(const BuiltinCall& call) {
  const TextPtr separator = TRY(text_argument(call, 0));
  if (separator->empty()) return fail(Code::corrupt, "empty separator");
  const MarkedText& text = self(call);
  TRY(call.meter().spend_text(text.size()));
  const size_t at =
      kFromRight ? text.bytes().rfind(separator->bytes()) : text.bytes().find(separator->bytes());
  std::vector<Datum> parts(3, Datum::text(""));
  if (at == std::string::npos) {
    parts[kFromRight ? 2 : 0] = call.subject;
  } else {
    const size_t after = at + separator->size();
    parts[0] = Datum(text.slice(0, at));
    parts[1] = Datum(text.slice(at, after));
    parts[2] = Datum(text.slice(after, text.size()));
  }
  return make_sequence(SequenceKind::tuple, std::move(parts), call.meter());
}

// The part of the text that the arguments start and end (from i on) choose, in bytes.
struct TextWindow {
  size_t begin = 0;
  size_t end = 0;
  bool empty = false;  // start lies beyond end: even "" is not found
};

Result<TextWindow> window_of(const BuiltinCall& call, size_t i) {
  const std::string& text = self(call).bytes();
  TRY(call.meter().spend_text(text.size()));
  TextWindow out{0, text.size(), false};
  if (!is_given(call, i) && !is_given(call, i + 1)) return out;
  const auto n = static_cast<int64_t>(count_characters(text));
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
  int64_t start = is_given(call, i) ? TRY(call.bound(i, 0)) : 0;
  out.empty = start > n;
  start = clamp(start);
  const int64_t stop = is_given(call, i + 1) ? clamp(TRY(call.bound(i + 1, n))) : n;
  out.empty |= start > stop;
  out.begin = byte_of_character(text, static_cast<size_t>(start), 0);
  out.end = byte_of_character(text, static_cast<size_t>(std::max(start, stop)), 0);
  return out;
}

template <bool kAtEnd>
// startswith and endswith, with a text or a tuple of texts.
Result<Datum> affix_method(const BuiltinCall& call) {
  const TextWindow window = TRY(window_of(call, 1));
  const std::string_view text =
      std::string_view(self(call).bytes()).substr(window.begin, window.end - window.begin);
  std::vector<Datum> candidates = {*call.given[0]};
  if (call.given[0]->is(Datum::Kind::sequence) && call.given[0]->sequence()->is_tuple())
    candidates = call.given[0]->sequence()->items;
  for (const Datum& candidate : candidates) {
    TRY(call.meter().spend());
    if (candidate.is_undefined()) return fail(Code::corrupt, "{}", candidate.undefined_message());
    if (!candidate.is_text())
      return fail(Code::corrupt, "{} first arg must be str or a tuple of str, not {}",
                  kAtEnd ? "endswith" : "startswith", type_name(candidate));
    const std::string& affix = candidate.bytes();
    if (!window.empty && (kAtEnd ? text.ends_with(affix) : text.starts_with(affix)))
      return Datum(true);
  }
  return Datum(false);
}

template <bool kFromRight, bool kMustFind>
// find, rfind, index and rindex; positions count characters.
Result<Datum> find_method(const BuiltinCall& call) {
  const TextPtr wanted = TRY(text_argument(call, 0));
  TRY(call.meter().spend_search(self(call).size(), wanted->size()));
  const TextWindow window = TRY(window_of(call, 1));
  const std::string_view text = self(call).bytes();
  const std::string_view inside = text.substr(window.begin, window.end - window.begin);
  const size_t at = window.empty ? std::string_view::npos
                    : kFromRight ? inside.rfind(wanted->bytes())
                                 : inside.find(wanted->bytes());
  if (at == std::string_view::npos) {
    if (kMustFind) return fail(Code::corrupt, "substring not found");
    return Datum(int64_t{-1});
  }
  return Datum(static_cast<int64_t>(count_characters(text.substr(0, window.begin + at))));
}

// Occurrences that do not overlap.
Result<Datum> count_text_method(const BuiltinCall& call) {
  const TextPtr wanted = TRY(text_argument(call, 0));
  TRY(call.meter().spend_search(self(call).size(), wanted->size()));
  const TextWindow window = TRY(window_of(call, 1));
  if (window.empty) return Datum(int64_t{0});
  const std::string_view text =
      std::string_view(self(call).bytes()).substr(window.begin, window.end - window.begin);
  if (wanted->empty()) return Datum(static_cast<int64_t>(count_characters(text)) + 1);
  int64_t count = 0;
  for (size_t at = text.find(wanted->bytes()); at != std::string_view::npos;
       at = text.find(wanted->bytes(), at + wanted->size()))
    ++count;
  return Datum(count);
}

Result<Datum> replace_method(const BuiltinCall& call) {
  const TextPtr from = TRY(text_argument(call, 0));
  const TextPtr to = TRY(text_argument(call, 1));
  return Datum(TRY(replaced(self(call), *from, *to, TRY(call.integer(2, -1)), call.meter())));
}

template <bool kSuffix>
// removeprefix and removesuffix.
Result<Datum> remove_affix_method(const BuiltinCall& call) {
  const TextPtr affix = TRY(text_argument(call, 0));
  const MarkedText& text = self(call);
  if (kSuffix ? !text.bytes().ends_with(affix->bytes()) : !text.bytes().starts_with(affix->bytes()))
    return call.subject;
  return Datum(kSuffix ? text.slice(0, text.size() - affix->size())
                       : text.slice(affix->size(), text.size()));
}

// Every item must be a text.
Result<Datum> join_method(const BuiltinCall& call) {
  MarkedText out;
  int64_t i = 0;
  for (const Datum& item : TRY(items_of(*call.given[0], call.meter()))) {
    if (!item.is_text())
      return fail(Code::corrupt, "sequence item {}: expected str instance, {} found", i,
                  type_name(item));
    if (i++ > 0) out.append(self(call));
    TRY(call.meter().check_size(out.size() + item.text()->size()));
    TRY(call.meter().spend_text(item.text()->size() + self(call).size()));
    out.append(*item.text());
  }
  return Datum(std::move(out));
}

enum class Justify : uint8_t { left, right, center, zeros };

template <Justify kHow>
// ljust, rjust, center and zfill.
Result<Datum> justify_method(const BuiltinCall& call) {
  const MarkedText& text = self(call);
  const int64_t width = TRY(call.integer(0, 0));
  const TextPtr fill = kHow == Justify::zeros ? TRY(call.text(5, "0")) : TRY(call.text(1, " "));
  if (count_characters(fill->bytes()) != 1)
    return fail(Code::corrupt, "The fill character must be exactly one character long");
  const auto length = static_cast<int64_t>(count_characters(text.bytes()));
  if (width <= length) return call.subject;
  TRY(call.meter().spend_text(text.size()));
  TRY(call.meter().check_size(static_cast<size_t>(width)));
  TRY(call.meter().spend_text(static_cast<size_t>(width) * fill->size()));
  const auto missing = static_cast<size_t>(width - length);
  if (kHow == Justify::left) return Datum(padded(text, 0, missing, *fill));
  if (kHow == Justify::right) return Datum(padded(text, missing, 0, *fill));
  if (kHow == Justify::center) {
    const size_t left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
    return Datum(padded(text, left, missing - left, *fill));
  }
  const bool has_sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+');
  MarkedText out = text.slice(0, has_sign ? 1 : 0);
  out.append(padded(text.slice(has_sign ? 1 : 0, text.size()), missing, 0, MarkedText("0", false)));
  return Datum(std::move(out));
}

// Every character passes, and there is one.
template <bool (*kPasses)(uint32_t)>
Result<Datum> all_method(const BuiltinCall& call) {
  const std::string& text = self(call).bytes();
  TRY(call.meter().spend_text(text.size()));
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (!kPasses(c.value)) return Datum(false);
    at += c.size;
  }
  return Datum(!text.empty());
}

template <bool kUpper>
Result<Datum> case_method(const BuiltinCall& call) {
  return call_builtin(*find_test(kUpper ? "upper" : "lower"), call.run, call.subject, {});
}

// Whether there is a word, and every word is one upper-case letter followed by lower-case ones.
Result<Datum> title_method(const BuiltinCall& call) {
  const std::string& text = self(call).bytes();
  TRY(call.meter().spend_text(text.size()));
  bool some = false;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const bool begins = is_upper(c.value) || is_title(c.value);
    const bool follows = !begins && is_lower(c.value);
    if (inside ? begins : follows) return Datum(false);
    inside = begins || follows;
    some |= inside;
    at += c.size;
  }
  return Datum(some);
}

Result<Datum> identifier_method(const BuiltinCall& call) {
  const std::string& text = self(call).bytes();
  TRY(call.meter().spend_text(text.size()));
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (at == 0 ? !starts_identifier(c.value) : !continues_identifier(c.value)) return Datum(false);
    at += c.size;
  }
  return Datum(!text.empty());
}

Result<Datum> printable_method(const BuiltinCall& call) {
  if (self(call).empty()) return Datum(true);
  return all_method<is_printable>(call);
}

// Tabs become spaces up to the next multiple of the tab size.
Result<Datum> expand_tabs_method(const BuiltinCall& call) {
  const MarkedText& text = self(call);
  const int64_t size = TRY(call.integer(0, 8));
  const bool user = text.any_from_user();
  MarkedText out;
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.bytes(), at);
    if (c.value != '\t') {
      out.append_slice(text, at, at + c.size);
      column = c.value == '\n' || c.value == '\r' ? 0 : column + 1;
    } else if (size > 0) {
      const int64_t spaces = size - column % size;
      TRY(call.meter().check_size(out.size() + static_cast<size_t>(spaces)));
      TRY(call.meter().spend_text(static_cast<size_t>(spaces)));
      out.append(std::string(static_cast<size_t>(spaces), ' '), user);
      column += spaces;
    }
    at += c.size;
  }
  TRY(call.meter().spend_text(out.size()));
  return Datum(std::move(out));
}

Result<Datum> ascii_method(const BuiltinCall& call) {
  const std::string& text = self(call).bytes();
  return Datum(std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; }));
}

Result<Datum> format_method(const BuiltinCall& call) {
  return brace_format(call.run, self(call), call.arguments);
}

// format with the members of one mapping as its named values.
Result<Datum> format_map_method(const BuiltinCall& call) {
  CallArguments arguments;
  if (!call.given[0]->is(Datum::Kind::dict))
    return fail(Code::corrupt, "format_map needs a mapping, not {}", type_name(*call.given[0]));
  for (const auto& [key, value] : call.given[0]->dict()->entries()) {
    TRY(call.meter().spend());
    if (key.is_text()) arguments.named.emplace_back(key.bytes(), value);
  }
  return brace_format(call.run, self(call), arguments);
}

constexpr BuiltinRow kTextMethods[] = {
    {"capitalize", changed_method<capitalized>},
    {"casefold", changed_method<case_folded>},
    {"center", justify_method<Justify::center>, 1, {"width", "fillchar"}},
    {"count", count_text_method, 1, {"sub", "start", "end"}},
    {"endswith", affix_method<true>, 1, {"suffix", "start", "end"}},
    {"expandtabs", expand_tabs_method, 0, {"tabsize"}},
    {"find", find_method<false, false>, 1, {"sub", "start", "end"}},
    {"format", format_method, 0, {"*"}},
    {"format_map", format_map_method, 1, {"mapping"}},
    {"index", find_method<false, true>, 1, {"sub", "start", "end"}},
    {"isalnum", all_method<is_alphanumeric>},
    {"isalpha", all_method<is_letter>},
    {"isascii", ascii_method},
    {"isdecimal", all_method<is_decimal>},
    {"isdigit", all_method<is_digit>},
    {"isidentifier", identifier_method},
    {"islower", case_method<false>},
    {"isnumeric", all_method<is_numeric>},
    {"isprintable", printable_method},
    {"isspace", all_method<is_space>},
    {"istitle", title_method},
    {"isupper", case_method<true>},
    {"join", join_method, 1, {"iterable"}},
    {"ljust", justify_method<Justify::left>, 1, {"width", "fillchar"}},
    {"lower", changed_method<lowercased>},
    {"lstrip", strip_method<StripSide::left>, 0, {"chars"}},
    {"partition", partition_method<false>, 1, {"sep"}},
    {"removeprefix", remove_affix_method<false>, 1, {"prefix"}},
    {"removesuffix", remove_affix_method<true>, 1, {"suffix"}},
    {"replace", replace_method, 2, {"old", "new", "count"}},
    {"rfind", find_method<true, false>, 1, {"sub", "start", "end"}},
    {"rindex", find_method<true, true>, 1, {"sub", "start", "end"}},
    {"rjust", justify_method<Justify::right>, 1, {"width", "fillchar"}},
    {"rpartition", partition_method<true>, 1, {"sep"}},
    {"rsplit", split_method<true>, 0, {"sep", "maxsplit"}},
    {"rstrip", strip_method<StripSide::right>, 0, {"chars"}},
    {"split", split_method<false>, 0, {"sep", "maxsplit"}},
    {"splitlines", splitlines_method, 0, {"keepends"}},
    {"startswith", affix_method<false>, 1, {"prefix", "start", "end"}},
    {"strip", strip_method<StripSide::both>, 0, {"chars"}},
    {"swapcase", changed_method<case_swapped>},
    {"title", changed_method<titled>},
    {"upper", changed_method<uppercased>},
    {"zfill", justify_method<Justify::zeros>, 1, {"width"}},
};

}  // namespace

const BuiltinRow* find_text_method(std::string_view name) {
  const auto* found = std::lower_bound(
      std::begin(kTextMethods), std::end(kTextMethods), name,
      [](const BuiltinRow& row, std::string_view wanted) { return row.name < wanted; });
  return found != std::end(kTextMethods) && found->name == name ? found : nullptr;
}

}  // namespace ruv::jinja
