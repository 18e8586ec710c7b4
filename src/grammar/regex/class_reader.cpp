// Both syntaxes agree on most escapes. An escape that only the other syntax knows is an error
// rather than a letter, since the author of the pattern meant something else.
#include "grammar/regex/class_reader.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/split/unicode_sets.h"

namespace ruv {
namespace {

CodePointSet set_of(std::string_view characters) {
  std::vector<CodePointRange> ranges;
  for (const char c : characters) {
    const auto code_point = static_cast<uint32_t>(static_cast<unsigned char>(c));
    ranges.push_back({code_point, code_point});
  }
  return CodePointSet(std::move(ranges));
}

CodePointSet digits() { return CodePointSet::of('0', '9'); }
CodePointSet lower() { return CodePointSet::of('a', 'z'); }
CodePointSet upper() { return CodePointSet::of('A', 'Z'); }
CodePointSet letters() { return lower() | upper(); }

// Sets of ASCII by their POSIX names.
std::optional<CodePointSet> posix_set(std::string_view name) {
  const CodePointSet graph = CodePointSet::of('!', '~');
  if (name == "alpha") return letters();
  if (name == "digit") return digits();
  if (name == "alnum") return letters() | digits();
  if (name == "upper") return upper();
  if (name == "lower") return lower();
  if (name == "space") return set_of("\t\n\v\f\r ");
  if (name == "blank") return set_of("\t ");
  if (name == "punct") return graph & ~(letters() | digits());
  if (name == "cntrl") return CodePointSet::of(0, 0x1F) | CodePointSet::of(0x7F, 0x7F);
  if (name == "graph") return graph;
  if (name == "print") return CodePointSet::of(' ', '~');
  if (name == "xdigit") return digits() | CodePointSet::of('a', 'f') | CodePointSet::of('A', 'F');
  if (name == "word") return letters() | digits() | set_of("_");
  if (name == "ascii") return CodePointSet::of(0, 0x7F);
  return std::nullopt;
}

// Spaces and line ends as ECMAScript lists them: those of Unicode, one more and one less.
CodePointSet ecma_spaces() {
  return (white_space() & ~CodePointSet::of(0x85, 0x85)) | CodePointSet::of(0xFEFF, 0xFEFF);
}

bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<CodePointSet> shorthand_set(char letter, PatternSyntax syntax) {
  if (letter == 'd') return digits();
  if (letter == 'w') return letters() | digits() | set_of("_");
  if (letter != 's') return std::nullopt;
  return syntax == PatternSyntax::ecma ? ecma_spaces() : set_of("\t\n\f\r ");
}

std::optional<uint32_t> ClassReader::take_number() {
  constexpr size_t kMaxDigits = 9;
  uint32_t number = 0;
  size_t n = 0;
  for (; n < rest().size() && is_digit(static_cast<unsigned char>(rest()[n])); ++n) {
    if (n == kMaxDigits) return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(rest()[n] - '0');
  }
  if (n == 0) return std::nullopt;
  move_to(at() + n);
  return number;
}

// Adds the other case of the ASCII letters of a set.
CodePointSet ClassReader::with_case(CodePointSet set) const {
  if (!any_case_) return set;
  const CodePointSet large = set & upper();
  const CodePointSet small = set & lower();
  std::vector<CodePointRange> other;
  constexpr uint32_t kToLower = 'a' - 'A';
  for (const CodePointRange& range : large.ranges()) {
    other.push_back({range.first + kToLower, range.last + kToLower});
  }
  for (const CodePointRange& range : small.ranges()) {
    other.push_back({range.first - kToLower, range.last - kToLower});
  }
  return other.empty() ? set : set | CodePointSet(std::move(other));
}

CodePointSet ClassReader::matching(uint32_t character) const {
  return with_case(CodePointSet::of(character, character));
}

Result<CodePointSet> ClassReader::take_escape() {
  Item item = TRY(take_escaped(false));
  return with_case(std::move(item.set));
}

// A letter that is no escape is an error: it may mean something in another syntax.
Result<ClassReader::Item> ClassReader::take_escaped(bool in_class) {
  const auto character = [](uint32_t c) { return Item{CodePointSet::of(c, c), c}; };
  const size_t begin = at();
  const uint32_t c = TRY(take_character());
  if (c < 0x80) {
    const auto letter = static_cast<char>(c);
    if (const auto control = control_escape(letter)) return character(*control);
    if (auto set = shorthand_set(letter, options_.syntax)) return Item{std::move(*set), {}};
    if (letter == 'D' || letter == 'W' || letter == 'S') {
      const auto small = static_cast<char>(letter - 'A' + 'a');
      return Item{~*shorthand_set(small, options_.syntax), {}};
    }
    if (letter == 'p' || letter == 'P') return take_property(letter == 'P');
    if (letter == 'u' && is_ecma()) return take_unicode_escape();
    if (letter == 'b' && in_class && is_ecma()) return character('\b');
    if (letter == 'a' && !is_ecma()) return character('\a');
    if (letter == 'x') {
      if (!is_ecma() && take("{")) {
        const uint32_t code_point = TRY(take_hex_digits(1, 8));
        if (!take("}")) return error(Code::corrupt, "a closing brace is missing");
        return character(code_point);
      }
      const uint32_t code_point = TRY(take_hex_digits(2, 2));
      return character(code_point);
    }
    if (letter == 'c' && is_ecma()) {
      const uint32_t which = TRY(take_character());
      if (!is_ascii_letter(which)) return error(Code::corrupt, "\\c wants a letter");
      return character(which % 32);
    }
    if (letter == '0' && (done() || !is_digit(static_cast<unsigned char>(rest()[0])))) {
      return character(0);
    }
    if (!is_ascii_letter(c) && !is_digit(c)) return character(c);
    move_to(begin);
    if (is_digit(c) || letter == 'k') {
      return error(Code::unsupported, "back references are not supported");
    }
    return error(Code::corrupt, "no such escape");
  }
  return character(c);
}

// After \u: four digits, a pair of surrogates, or digits in braces.
Result<ClassReader::Item> ClassReader::take_unicode_escape() {
  uint32_t c = 0;
  if (take("{")) {
    c = TRY(take_hex_digits(1, 8));
    if (!take("}")) return error(Code::corrupt, "a closing brace is missing");
  } else {
    c = TRY(take_hex_digits(4, 4));
    const size_t after = at();
    if (c >= 0xD800 && c <= 0xDBFF && take("\\u")) {
      const Result<uint32_t> low = take_hex_digits(4, 4);
      if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (*low - 0xDC00);
      } else {
        move_to(after);
      }
    }
  }
  return Item{CodePointSet::of(c, c), c};
}

// After \p: {name}, {kind=name}, or in RE2 one letter.
Result<ClassReader::Item> ClassReader::take_property(bool negated) {
  std::string_view name;
  if (take("{")) {
    const size_t end = rest().find('}');
    if (end == std::string_view::npos) return error(Code::corrupt, "a closing brace is missing");
    name = rest().substr(0, end);
    move_to(at() + end + 1);
  } else if (!is_ecma() && !done()) {
    name = rest().substr(0, 1);
    move_to(at() + 1);
  } else {
    return error(Code::corrupt, "\\p wants a name in braces");
  }
  const bool inverted = !is_ecma() && name.starts_with("^");
  if (inverted) name.remove_prefix(1);
  for (const std::string_view kind : {"General_Category=", "gc=", "Script=", "sc="}) {
    if (name.starts_with(kind)) {
      name.remove_prefix(kind.size());
      break;
    }
  }
  std::optional<CodePointSet> set = find_unicode_set(name);
  if (!set) return error(Code::unsupported, "this Unicode property is not known");
  return Item{negated != inverted ? ~*set : std::move(*set), {}};
}

// A name in brackets and colons; anything else that begins like it is characters, as in RE2.
std::optional<CodePointSet> ClassReader::take_posix_class() {
  if (is_ecma() || !next_is("[:")) return std::nullopt;
  constexpr size_t kLongestName = 16;  // so that no text is searched again and again
  std::string_view name = rest().substr(2, kLongestName);
  const size_t size = name.find(":]");
  if (size == std::string_view::npos) return std::nullopt;
  name = name.substr(0, size);
  const bool negated = name.starts_with("^");
  if (negated) name.remove_prefix(1);
  std::optional<CodePointSet> set = posix_set(name);
  if (!set) return std::nullopt;
  move_to(at() + 2 + size + 2);
  return negated ? ~*set : std::move(*set);
}

Result<ClassReader::Item> ClassReader::take_class_item() {
  if (auto set = take_posix_class()) return Item{std::move(*set), {}};
  if (take("\\")) return take_escaped(true);
  const uint32_t c = TRY(take_character());
  return Item{CodePointSet::of(c, c), c};
}

// Items and ranges of them. A hyphen is a character at both ends and beside a set.
Result<CodePointSet> ClassReader::take_class() {
  const bool negated = take("^");
  std::vector<CodePointRange> ranges;
  const auto add = [&](const CodePointSet& set) {
    ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
  };
  bool is_first = !is_ecma();  // in RE2 a bracket that comes first is a character
  while (is_first || !take("]")) {
    is_first = false;
    const Item item = TRY(take_class_item());
    const size_t after = at();
    if (item.character && take("-") && !next_is("]")) {
      const Item end = TRY(take_class_item());
      if (end.character) {
        if (*end.character < *item.character) {
          return error(Code::corrupt, "this range ends before it begins");
        }
        ranges.push_back({*item.character, *end.character});
        continue;
      }
    }
    move_to(after);
    add(item.set);
  }
  CodePointSet set = with_case(CodePointSet(std::move(ranges)));
  return negated ? ~set : set;
}

}  // namespace ruv
