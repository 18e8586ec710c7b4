// A recursive descent parser: choice → sequence → atom with quantifiers. Depth is limited, so
// recursion is safe here and in later walks over the tree. Equal sets are stored once.
#include "text/split/split_regex.h"

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "text/split/regex_class_parser.h"

namespace ruv {
namespace {

// Limits for patterns from files. Published patterns are far below them.
constexpr size_t kMaxPatternBytes = 16384;
constexpr uint16_t kMaxDepth = 40;
constexpr size_t kMaxSets = 512;
constexpr uint32_t kMaxRepeats = 1000;

// A lookahead reduced to a condition on the next character.
struct NextSymbol {
  CodePointSet set;
  bool at_end = false;
};

NextSymbol anything() { return {CodePointSet::of(0, kLastCodePoint), true}; }

}  // namespace

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : in_(pattern) {}

  Result<SplitRegex> parse() {
    out_.root_ = TRY(parse_choice());
    if (!in_.done()) return in_.error(Code::corrupt, ") without (");
    return std::move(out_);
  }

 private:
  using Node = uint32_t;

  Result<Node> add(RegexNode node) {
    for (const Node child : node.children) {
      node.depth = std::max<uint16_t>(node.depth, out_.nodes_[child].depth + 1);
    }
    if (node.depth > kMaxDepth) {
      return in_.error(Code::unsupported, fmt::format("nested deeper than {}", kMaxDepth));
    }
    out_.nodes_.push_back(std::move(node));
    return static_cast<Node>(out_.nodes_.size() - 1);
  }
  Result<Node> add_parts(RegexKind kind, std::vector<Node> children) {
    if (children.size() == 1) return children[0];
    RegexNode node;
    node.kind = children.empty() ? RegexKind::empty : kind;
    node.children = std::move(children);
    return add(std::move(node));
  }
  // The index of an equal set, added if it is new.
  Result<uint32_t> intern(CodePointSet set) {
    const auto known = std::find(out_.sets_.begin(), out_.sets_.end(), set);
    if (known == out_.sets_.end()) {
      if (out_.sets_.size() == kMaxSets) {
        return in_.error(Code::unsupported, fmt::format("more than {} classes", kMaxSets));
      }
      out_.sets_.push_back(std::move(set));
      return static_cast<uint32_t>(out_.sets_.size() - 1);
    }
    return static_cast<uint32_t>(known - out_.sets_.begin());
  }
  Result<Node> add_set(CodePointSet set) {
    RegexNode node;
    node.kind = RegexKind::set;
    node.set = TRY(intern(std::move(set)));
    return add(std::move(node));
  }
  Result<Node> add_look(NextSymbol next) {
    RegexNode node;
    node.kind = RegexKind::look;
    node.at_end = next.at_end;
    node.set = TRY(intern(std::move(next.set)));
    return add(std::move(node));
  }
  Result<Node> add_repeat(Node body, uint32_t min, uint32_t max, bool lazy) {
    RegexNode node;
    node.kind = RegexKind::repeat;
    node.min = min;
    node.max = max;
    node.lazy = lazy;
    node.children = {body};
    if (max == kUnlimited && may_be_empty(body)) {
      return in_.error(Code::unsupported, "a loop over something that may be empty");
    }
    return add(std::move(node));
  }

  // Whether a node can match the empty text: loops over such nodes need care.
  bool may_be_empty(Node n) const {
    const RegexNode& node = out_.nodes_[n];
    const auto empty = [&](Node child) { return may_be_empty(child); };
    switch (node.kind) {
      case RegexKind::set:
        return false;
      case RegexKind::sequence:
        return std::all_of(node.children.begin(), node.children.end(), empty);
      case RegexKind::choice:
        return std::any_of(node.children.begin(), node.children.end(), empty);
      case RegexKind::repeat:
        return node.min == 0 || may_be_empty(node.children[0]);
      default:
        return true;
    }
  }

  // choice := sequence ('|' sequence)*
  Result<Node> parse_choice() {
    if (++open_groups_ > kMaxDepth) {
      return in_.error(Code::unsupported, fmt::format("groups nested deeper than {}", kMaxDepth));
    }
    std::vector<Node> parts;
    do {
      parts.push_back(TRY(parse_sequence()));
    } while (in_.take("|"));
    --open_groups_;
    return add_parts(RegexKind::choice, std::move(parts));
  }

  // sequence := (atom quantifier*)*
  Result<Node> parse_sequence() {
    std::vector<Node> parts;
    char before = '\0';  // the letter before, when case is ignored
    while (!in_.done() && !in_.next_is("|") && !in_.next_is(")")) {
      if (in_.take("(?#")) {
        while (!in_.take(")")) TRY(in_.take_character());
        continue;
      }
      if (TRY(take_options())) {
        // As Oniguruma: options hold to the end of the group, alternatives included.
        const bool outer = any_case_;
        any_case_ = options_any_case_;
        parts.push_back(TRY(parse_choice()));
        any_case_ = outer;
        break;
      }
      const size_t from = in_.at();
      const Node atom = TRY(parse_atom());
      TRY(check_pair(before, in_.from(from)));
      before = in_.from(from).size() == 1 ? in_.from(from)[0] : '\0';
      parts.push_back(TRY(parse_quantifiers(atom)));
    }
    return add_parts(RegexKind::sequence, std::move(parts));
  }

  // Some pairs of letters are one character in another case: ss is also U+00DF.
  Status check_pair(char before, std::string_view atom) const {
    if (!any_case_ || atom.size() != 1) return {};
    const std::string pair{static_cast<char>(before | 32), static_cast<char>(atom[0] | 32)};
    for (const std::string_view ligature : {"ss", "st", "ff", "fi", "fl"}) {
      if (pair == ligature) {
        return in_.error(Code::unsupported, "letters that are one character in another case")
            .value();
      }
    }
    return {};
  }

  // "(?i)" and the like, which stand for the rest of their group; sets options_any_case_.
  Result<bool> take_options() {
    const size_t from = in_.at();
    if (!in_.take("(?")) return false;
    const std::optional<bool> any_case = TRY(take_flags());
    if (any_case && in_.take(")")) {
      options_any_case_ = *any_case;
      return true;
    }
    in_.move_to(from);
    return false;
  }

  // "i", "-i" or nothing: whether case is ignored from there on. Nothing when the flags are others.
  Result<std::optional<bool>> take_flags() {
    bool any_case = any_case_;
    bool on = true;
    for (;;) {
      if (in_.take("i")) {
        any_case = on;
      } else if (on && in_.take("-")) {
        on = false;
      } else if (in_.next_is(":") || in_.next_is(")")) {
        return any_case;
      } else if (in_.next_is("m") || in_.next_is("x") || in_.next_is("s")) {
        return in_.error(Code::unsupported, "options other than i");
      } else {
        return std::optional<bool>();
      }
    }
  }

  // atom := '(' … ')' | '[' … ']' | '.' | '^' | '$' | escape | character
  Result<Node> parse_atom() {
    if (in_.take("(")) return parse_group();
    if (in_.take("[")) return add_set(TRY(in_.take_class(any_case_, 0)));
    if (in_.take(".")) return add_set(~CodePointSet::of('\n', '\n'));
    if (in_.take("$")) return add_look({CodePointSet::of('\n', '\n'), true});
    if (in_.next_is("^")) {
      return in_.error(Code::unsupported,
                       "^ looks back for a line end; \\A is the text's beginning");
    }
    if (in_.next_is("*") || in_.next_is("+") || in_.next_is("?")) {
      return in_.error(Code::corrupt, "nothing to repeat");
    }
    if (in_.take("\\z")) return add_look({{}, true});
    if (in_.take("\\A")) {
      RegexNode node;
      node.kind = RegexKind::text_start;
      return add(std::move(node));
    }
    RegexClassParser::Atom atom;
    if (in_.take("\\")) {
      atom = TRY(in_.take_escape(false));
    } else {
      const uint32_t c = TRY(in_.take_character());
      atom = {CodePointSet::of(c, c), c};
    }
    const bool fold = any_case_ && atom.literal;
    return add_set(fold ? TRY(in_.any_case(atom.set)) : std::move(atom.set));
  }

  // The rest of a group; its "(" has been taken.
  Result<Node> parse_group() {
    const bool outer = any_case_;
    const bool look_equal = in_.take("?=");
    const bool look_not = !look_equal && in_.take("?!");
    const bool atomic = in_.take("?>");
    if (in_.next_is("?<=") || in_.next_is("?<!"))
      return in_.error(Code::unsupported, "look-behind");
    if (in_.take("?P<") || in_.take("?<")) {
      while (!in_.take(">")) TRY(in_.take_character());
    } else if (in_.next_is("?")) {
      in_.take("?");
      const std::optional<bool> any_case = TRY(take_flags());
      if (!any_case) return in_.error(Code::unsupported, "this kind of group");
      in_.take(":");
      any_case_ = *any_case;
    }
    const Node inside = TRY(parse_choice());
    any_case_ = outer;
    if (!in_.take(")")) return in_.error(Code::corrupt, "( without )");
    if (atomic) return atomic_of(inside);
    if (!look_equal && !look_not) return inside;
    std::optional<NextSymbol> next = next_symbol_of(inside);
    if (!next) return in_.error(Code::unsupported, "lookahead of several characters");
    return add_look(look_not ? NextSymbol{~next->set, !next->at_end} : std::move(*next));
  }

  // What the next character must be for this to match, when that alone decides it.
  std::optional<NextSymbol> next_symbol_of(Node n) const {
    const RegexNode& node = out_.nodes_[n];
    switch (node.kind) {
      case RegexKind::empty:
        return anything();
      case RegexKind::set:
        return NextSymbol{out_.sets_[node.set], false};
      case RegexKind::look:
        return NextSymbol{out_.sets_[node.set], node.at_end};
      case RegexKind::text_start:
        return std::nullopt;
      case RegexKind::sequence:
        return next_symbol_of_sequence(node.children);
      case RegexKind::choice: {
        NextSymbol all;
        for (const Node child : node.children) {
          const auto one = next_symbol_of(child);
          if (!one) return std::nullopt;
          all = {all.set | one->set, all.at_end || one->at_end};
        }
        return all;
      }
      case RegexKind::repeat:
        if (node.min == 0) return anything();
        return node.min == 1 ? next_symbol_of(node.children[0]) : std::nullopt;
    }
    return std::nullopt;
  }
  // A sequence is decided by one character when one part takes a character, the parts before it
  // only look at that character, and those after it can be empty.
  std::optional<NextSymbol> next_symbol_of_sequence(const std::vector<Node>& parts) const {
    NextSymbol all = anything();
    bool consumed = false;
    for (const Node part : parts) {
      const RegexNode& node = out_.nodes_[part];
      if (node.kind == RegexKind::empty) continue;
      if (node.kind == RegexKind::repeat && node.min == 0) {
        if (consumed) continue;
        return std::nullopt;
      }
      const auto one = next_symbol_of(part);
      if (consumed || !one) return std::nullopt;
      all = {all.set & one->set, all.at_end && one->at_end};
      consumed = node.kind != RegexKind::look;
    }
    return all;
  }

  // '?', '*', '+', '{m,n}' after an atom, each with an optional '?' (lazy) or '+' (possessive).
  Result<Node> parse_quantifiers(Node atom) {
    for (;;) {
      uint32_t min = 0;
      uint32_t max = kUnlimited;
      bool braces = false;
      if (in_.take("*")) {
      } else if (in_.take("+")) {
        min = 1;
      } else if (in_.take("?")) {
        max = 1;
      } else if (in_.next_is("{") && TRY(take_interval(min, max))) {
        braces = true;
      } else {
        return atom;
      }
      // As Oniguruma: {n}? is an optional {n}, and {n,m}+ a loop over {n,m}.
      const bool exact = braces && min == max;
      if (!exact && in_.take("?")) {
        atom = TRY(add_repeat(atom, min, max, true));
      } else if (!braces && in_.take("+")) {
        atom = TRY(possessive(atom, min, max));
      } else {
        atom = TRY(add_repeat(atom, min, max, false));
      }
    }
  }

  // "{m}", "{m,}", "{,n}" or "{m,n}"; false when the brace is only a character.
  Result<bool> take_interval(uint32_t& min, uint32_t& max) {
    const size_t from = in_.at();
    in_.take("{");
    const std::optional<uint32_t> low = TRY(take_number());
    const bool comma = in_.take(",");
    const std::optional<uint32_t> high = comma ? TRY(take_number()) : low;
    if (!in_.take("}") || (!low && !high)) {
      in_.move_to(from);
      return false;
    }
    min = low.value_or(0);
    max = high.value_or(kUnlimited);
    if (min > max) return in_.error(Code::unsupported, "an interval that runs backwards");
    return true;
  }
  // A decimal number; nothing without digits. Fails beyond kMaxRepeats.
  Result<std::optional<uint32_t>> take_number() {
    std::optional<uint32_t> value;
    for (char digit = '0'; digit <= '9';) {
      if (!in_.take({&digit, 1})) {
        ++digit;
        continue;
      }
      value = value.value_or(0) * 10 + static_cast<uint32_t>(digit - '0');
      digit = '0';
      if (*value > kMaxRepeats) {
        return in_.error(Code::unsupported, fmt::format("more than {} repeats", kMaxRepeats));
      }
    }
    return value;
  }

  // A loop that never gives characters back. Over one class, that is a loop that must end where the
  // class ends.
  Result<Node> possessive(Node body, uint32_t min, uint32_t max) {
    const RegexNode& node = out_.nodes_[body];
    if (node.kind != RegexKind::set) {
      return in_.error(Code::unsupported, "a possessive loop over more than one class");
    }
    const Node stop = TRY(add_look({~out_.sets_[node.set], true}));
    if (max == 1) return add_parts(RegexKind::choice, {body, stop});
    return add_parts(RegexKind::sequence, {TRY(add_repeat(body, min, max, false)), stop});
  }
  Result<Node> atomic_of(Node inside) {
    const RegexNode node = out_.nodes_[inside];
    if (node.kind == RegexKind::set) return inside;
    const bool loop = node.kind == RegexKind::repeat && !node.lazy && node.min <= 1 &&
                      (node.max == kUnlimited || node.max == 1);
    if (!loop) return in_.error(Code::unsupported, "an atomic group of more than one loop");
    return possessive(node.children[0], node.min, node.max);
  }

  RegexClassParser in_;
  SplitRegex out_;
  bool any_case_ = false;
  bool options_any_case_ = false;
  int open_groups_ = 0;
};

Result<SplitRegex> SplitRegex::parse(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return fail(Code::unsupported, "regex of {} bytes: longer than {}", pattern.size(),
                kMaxPatternBytes);
  }
  return RegexParser(pattern).parse();
}

std::string SplitRegex::quote(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\()[]{}.*+?^$|").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace ruv
