#include "text/split/regex_class_parser.h"

#include "base/utf8.h"
#include "text/split/unicode_sets.h"

namespace ruv {
namespace {

// Limits of nesting and of the pattern shown in messages.
constexpr int kMaxClassDepth = 16;
constexpr size_t kShownBytes = 60;

CodePointSet digits() { return *find_unicode_set("nd"); }
CodePointSet hex_digits() { return CodePointSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}); }

// \s, \S, \d, …; nothing for other letters.
std::optional<CodePointSet> shorthand(uint32_t letter) {
  switch (letter) {
    case 's':
      return white_space();
    case 'S':
      return ~white_space();
    case 'd':
      return digits();
    case 'D':
      return ~digits();
    case 'w':
      return word_characters();
    case 'W':
      return ~word_characters();
    case 'h':
      return hex_digits();
    case 'H':
      return ~hex_digits();
    default:
      return std::nullopt;
  }
}

// POSIX names, as [:digit:], whose sets follow from categories.
std::optional<CodePointSet> posix_set(std::string_view name) {
  if (name == "space") return white_space();
  if (name == "digit") return digits();
  if (name == "xdigit") return hex_digits();
  if (name == "word") return word_characters();
  if (name == "ascii") return find_unicode_set("ascii");
  if (name == "cntrl") return find_unicode_set("cc");
  if (name == "punct") return *find_unicode_set("p") | *find_unicode_set("s");
  if (name == "blank") return *find_unicode_set("zs") | CodePointSet::of('\t', '\t');
  return std::nullopt;
}

}  // namespace

// \xHH, \x{H…}, \uHHHH.
Result<RegexClassParser::Atom> RegexClassParser::take_hex(size_t min_digits, size_t max_digits) {
  const uint32_t value = TRY(take_hex_digits(min_digits, max_digits));
  return Atom{CodePointSet::of(value, value), value};
}

Result<RegexClassParser::Atom> RegexClassParser::take_octal() {
  uint32_t value = 0;
  for (size_t n = 0; n < 2 && !done() && rest()[0] >= '0' && rest()[0] <= '7'; ++n) {
    value = value * 8 + static_cast<uint32_t>(rest()[0] - '0');
    move_to(at() + 1);
  }
  return Atom{CodePointSet::of(value, value), value};
}

// \p{name}, \P{name} and \p{^name}.
Result<RegexClassParser::Atom> RegexClassParser::take_property(bool negated) {
  if (!take("{")) {
    return error(Code::unsupported, "\\p without braces (Oniguruma reads plain letters): \\p{L}");
  }
  if (take("^")) negated = !negated;
  const size_t close = rest().find('}');
  if (close == std::string_view::npos) return error(Code::corrupt, "\\p{ without }");
  const std::string_view name = rest().substr(0, close);
  const std::optional<CodePointSet> set = find_unicode_set(name);
  if (!set) {
    return error(Code::unsupported, fmt::format("no table of the property \"{}\"",
                                                to_valid_utf8(name.substr(0, kShownBytes))));
  }
  move_to(at() + close + 1);
  return Atom{negated ? ~*set : *set, std::nullopt};
}

Result<RegexClassParser::Atom> RegexClassParser::take_escape(bool in_class) {
  const size_t begin = at();
  const uint32_t c = TRY(take_character());
  if (auto set = shorthand(c)) return Atom{std::move(*set), std::nullopt};
  if (c == 'p' || c == 'P') return take_property(c == 'P');
  if (c == 'u') return take_hex(4, 4);
  if (c == 'x') {
    if (!take("{")) {
      Atom atom = TRY(take_hex(1, 2));
      if (*atom.literal < 0x80) return atom;
      move_to(begin);
      return error(Code::unsupported, "\\x above 7F is a byte: write \\x{…}");
    }
    Atom atom = TRY(take_hex(1, 8));
    if (!take("}")) return error(Code::corrupt, "\\x{ without }");
    return atom;
  }
  if (c == '0') return take_octal();
  std::optional<uint32_t> literal = control_escape(c);
  if (c == 'a') literal = '\a';
  if (c == 'e') literal = 0x1B;
  if (in_class && c == 'b') literal = '\b';
  if (!literal) {
    if (is_ascii_letter(c) || (c >= '1' && c <= '9')) {
      move_to(begin);
      return error(Code::unsupported,
                   c <= '9' ? "back references" : "this escape has no meaning to an automaton");
    }
    literal = c;
  }
  return Atom{CodePointSet::of(*literal, *literal), literal};
}

Result<CodePointSet> RegexClassParser::any_case(const CodePointSet& set) const {
  std::vector<CodePointRange> all(set.ranges().begin(), set.ranges().end());
  const CodePointSet beyond = set & ~CodePointSet::of(0, 0x7F);
  if (!beyond.empty()) {
    const CodePointSet letters = *find_unicode_set("l") & ~CodePointSet::of(0, 0x7F);
    const CodePointSet marks = *find_unicode_set("m");
    if ((beyond & letters) == letters) {
      // Only this mark, among characters that are not letters, has a letter as its other case.
      all.push_back({0x345, 0x345});
    } else if (!(beyond & (letters | marks)).empty()) {
      return error(Code::unsupported, "ignoring case beyond ASCII");
    }
  }
  for (uint32_t lower = 'a'; lower <= 'z'; ++lower) {
    if (!set.contains(lower) && !set.contains(lower - 32)) continue;
    all.push_back({lower, lower});
    all.push_back({lower - 32, lower - 32});
    if (lower == 's') all.push_back({0x17F, 0x17F});
    if (lower == 'k') all.push_back({0x212A, 0x212A});
  }
  return CodePointSet(std::move(all));
}

Result<RegexClassParser::Atom> RegexClassParser::take_posix_class() {
  const bool negated = take("^");
  const size_t close = rest().find(":]");
  if (close == std::string_view::npos) return error(Code::corrupt, "[: without :]");
  const std::string_view name = rest().substr(0, close);
  const std::optional<CodePointSet> set = posix_set(name);
  if (!set) {
    return error(Code::unsupported, fmt::format("no table of the class [:{}:]",
                                                to_valid_utf8(name.substr(0, kShownBytes))));
  }
  move_to(at() + close + 2);
  return Atom{negated ? ~*set : *set, std::nullopt};
}

Result<RegexClassParser::Atom> RegexClassParser::take_class_item(bool any_case, int depth) {
  if (take("[:")) return take_posix_class();
  if (take("[")) return Atom{TRY(take_class(any_case, depth + 1)), std::nullopt};
  if (take("\\")) return take_escape(true);
  const uint32_t c = TRY(take_character());
  return Atom{CodePointSet::of(c, c), c};
}

// A run of items and ranges up to ']' or '&&'.
Result<CodePointSet> RegexClassParser::take_class_items(bool any_case, int depth) {
  std::vector<CodePointRange> all;
  for (bool first = true; !next_is("]") || first; first = false) {
    if (next_is("&&")) break;
    const Atom item = TRY(take_class_item(any_case, depth));
    const bool range = item.literal && next_is("-") && !next_is("-]") && !next_is("-&&");
    if (!range) {
      all.insert(all.end(), item.set.ranges().begin(), item.set.ranges().end());
      if (!item.literal && next_is("-") && !next_is("-]")) {
        return error(Code::corrupt, "a range from a class to something");
      }
      continue;
    }
    take("-");
    const Atom last = TRY(take_class_item(any_case, depth));
    if (!last.literal) return error(Code::corrupt, "a range to a class");
    if (*last.literal < *item.literal) return error(Code::corrupt, "a range that runs backwards");
    all.push_back({*item.literal, *last.literal});
    // As Oniguruma: a '-' right after a range is a character.
    if (next_is("-") && take("-")) all.push_back({'-', '-'});
  }
  const CodePointSet set(std::move(all));
  return any_case ? this->any_case(set) : set;
}

// Runs joined by '&&' are intersected; a leading '^' negates the result.
Result<CodePointSet> RegexClassParser::take_class(bool any_case, int depth) {
  if (depth > kMaxClassDepth) {
    return error(Code::unsupported, fmt::format("classes nested deeper than {}", kMaxClassDepth));
  }
  const bool negated = take("^");
  CodePointSet set = TRY(take_class_items(any_case, depth));
  while (take("&&")) {
    if (next_is("]")) return error(Code::unsupported, "&& before nothing");
    set = set & TRY(take_class_items(any_case, depth));
  }
  if (!take("]")) return error(Code::corrupt, "[ without ]");
  return negated ? ~set : set;
}

}  // namespace ruv
