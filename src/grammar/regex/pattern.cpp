// Recursive descent, one function per level of precedence: choice, intersection (if operators are
// on), sequence, loop, atom. The nesting of groups bounds the recursion.
#include "grammar/regex/pattern.h"

#include <algorithm>

#include "grammar/regex/class_reader.h"

namespace ruv {
namespace {

constexpr uint32_t kUnlimitedRepeats = UINT32_MAX;
constexpr int kMaxDepth = 250;
constexpr size_t kMaxBytes = 1 << 16;

class PatternReader {
 public:
  PatternReader(std::string_view text, const PatternOptions& options)
      : options_(options), in_(text, options) {}

  Result<Pattern> read() {
    made_.root = TRY(take_choice(0));
    if (!in_.done()) return in_.error(Code::corrupt, "a parenthesis closes that was not opened");
    return std::move(made_);
  }

 private:
  using Node = Result<uint32_t>;

  uint32_t add(PatternNode node) {
    constexpr PatternKind kPlaces[] = {PatternKind::start,      PatternKind::end,
                                       PatternKind::line_start, PatternKind::line_end,
                                       PatternKind::word_edge,  PatternKind::not_word_edge,
                                       PatternKind::ahead,      PatternKind::not_ahead};
    node.has_place = std::ranges::find(kPlaces, node.kind) != std::end(kPlaces) ||
                     std::ranges::any_of(node.children, [&](uint32_t child) {
                       return made_.nodes[child].has_place;
                     });
    made_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(made_.nodes.size() - 1);
  }
  uint32_t add(PatternKind kind) { return add({.kind = kind}); }
  uint32_t add_set(CodePointSet set) {
    made_.sets.push_back(std::move(set));
    return add({.kind = PatternKind::set, .set = static_cast<uint32_t>(made_.sets.size() - 1)});
  }
  uint32_t add(PatternKind kind, std::vector<uint32_t> children) {
    if (children.size() == 1) return children[0];
    return add({.kind = kind, .children = std::move(children)});
  }

  // Alternatives up to a closing parenthesis or the end.
  Node take_choice(int depth) {
    if (depth > kMaxDepth) return in_.error(Code::unsupported, "nested too deep");
    std::vector<uint32_t> parts;
    do {
      const uint32_t part = TRY(take_intersection(depth));
      parts.push_back(part);
    } while (in_.take("|"));
    return add(PatternKind::choice, std::move(parts));
  }

  Node take_intersection(int depth) {
    std::vector<uint32_t> parts;
    do {
      const uint32_t part = TRY(take_sequence(depth));
      parts.push_back(part);
    } while (options_.operators && in_.take("&"));
    if (parts.size() > 1 && has_place(parts)) return no_place("an intersection");
    return add(PatternKind::intersection, std::move(parts));
  }

  Node take_sequence(int depth) {
    std::vector<uint32_t> parts;
    while (!in_.done() && !in_.next_is("|") && !in_.next_is(")") &&
           !(options_.operators && in_.next_is("&"))) {
      const uint32_t part = TRY(take_repeated(depth));
      parts.push_back(part);
    }
    if (parts.empty()) return add(PatternKind::empty);
    return add(PatternKind::sequence, std::move(parts));
  }

  Node take_repeated(int depth) {
    uint32_t node = TRY(take_atom(depth));
    for (bool repeated = false;; repeated = true) {
      uint32_t min = 0;
      uint32_t max = kUnlimitedRepeats;
      const bool taken = TRY(take_counts(min, max));
      if (!taken) return node;
      if (repeated) return in_.error(Code::corrupt, "nothing to repeat");
      in_.take("?");  // lazy
      node = add({.kind = PatternKind::repeat, .min = min, .max = max, .children = {node}});
    }
  }

  // Whether a loop follows. Braces that do not hold numbers are characters.
  Result<bool> take_counts(uint32_t& min, uint32_t& max) {
    if (in_.take("*")) return true;
    if (in_.take("+")) {
      min = 1;
      return true;
    }
    if (in_.take("?")) {
      max = 1;
      return true;
    }
    const size_t begin = in_.at();
    if (!in_.take("{")) return false;
    const auto low = in_.take_number();
    std::optional<uint32_t> high = low;
    if (low && in_.take(",")) {
      high = in_.next_is("}") ? kUnlimitedRepeats : in_.take_number();
    }
    if (!low || !high || !in_.take("}")) {
      in_.move_to(begin);
      return false;
    }
    if (*high < *low) return in_.error(Code::corrupt, "this loop ends before it begins");
    min = *low;
    max = *high;
    return true;
  }

  Node take_atom(int depth) {
    if (in_.take("(")) return take_group(depth);
    if (in_.take("[")) {
      CodePointSet set = TRY(in_.take_class());
      return add_set(std::move(set));
    }
    if (in_.take(".")) return add_set(dot());
    if (in_.take("^")) return add(options_.lines ? PatternKind::line_start : PatternKind::start);
    if (in_.take("$")) return add(options_.lines ? PatternKind::line_end : PatternKind::end);
    if (in_.take("\\")) return take_escape();
    if (options_.operators && in_.take("~")) return take_complement(depth);
    if (in_.next_is("*") || in_.next_is("+") || in_.next_is("?")) {
      return in_.error(Code::corrupt, "nothing to repeat");
    }
    const uint32_t c = TRY(in_.take_character());
    return add_set(in_.matching(c));
  }

  Node take_complement(int depth) {
    if (depth + 1 > kMaxDepth) return in_.error(Code::unsupported, "nested too deep");
    if (in_.done()) return in_.error(Code::corrupt, "the pattern ends too early");
    const uint32_t node = TRY(take_atom(depth + 1));
    if (made_.nodes[node].has_place) return no_place("a complement");
    return add({.kind = PatternKind::complement, .children = {node}});
  }

  Node take_escape() {
    if (in_.take("b")) return add(PatternKind::word_edge);
    if (in_.take("B")) return add(PatternKind::not_word_edge);
    if (options_.syntax == PatternSyntax::re2) {
      if (in_.take("A")) return add(PatternKind::start);
      if (in_.take("z")) return add(PatternKind::end);
    }
    CodePointSet set = TRY(in_.take_escape());
    return add_set(std::move(set));
  }

  // After '('.
  Node take_group(int depth) {
    const bool any_case = in_.any_case();
    const PatternOptions options = options_;
    PatternKind kind = PatternKind::sequence;
    if (in_.take("?")) {
      if (in_.take("=")) {
        kind = PatternKind::ahead;
      } else if (in_.take("!")) {
        kind = PatternKind::not_ahead;
      } else {
        const bool is_group = TRY(take_group_head());
        if (!is_group) return add(PatternKind::empty);  // flags for the rest of the group around
      }
    }
    const uint32_t inner = TRY(take_choice(depth + 1));
    if (!in_.take(")")) return in_.error(Code::corrupt, "a closing parenthesis is missing");
    in_.set_any_case(any_case);
    options_ = options;
    if (kind == PatternKind::sequence) return inner;
    return add({.kind = kind, .children = {inner}});
  }

  // After "(?": a name, flags, or both; false where flags stand alone.
  Result<bool> take_group_head() {
    if (in_.next_is("<=") || in_.next_is("<!")) {
      return in_.error(Code::unsupported, "lookbehind is not supported");
    }
    if (in_.take("<") || in_.take("P<")) {
      while (!in_.take(">")) {
        const uint32_t c = TRY(in_.take_character());
        if (c == '(' || c == ')') return in_.error(Code::corrupt, "a name lacks its end");
      }
      return true;
    }
    for (bool on = true;;) {
      if (in_.take(":")) return true;
      if (options_.syntax == PatternSyntax::re2 && in_.take(")")) return false;
      if (in_.take("-"))
        on = false;
      else if (in_.take("i"))
        in_.set_any_case(on);
      else if (in_.take("s"))
        options_.dot_all = on;
      else if (options_.syntax == PatternSyntax::re2 && in_.take("m"))
        options_.lines = on;
      else
        return in_.error(Code::unsupported, "this kind of group is not supported");
    }
  }

  CodePointSet dot() const {
    if (options_.dot_all) return CodePointSet::of(0, kLastCodePoint);
    CodePointSet breaks = CodePointSet::of('\n', '\n');
    if (options_.syntax == PatternSyntax::ecma) {
      breaks = breaks | CodePointSet::of('\r', '\r') | CodePointSet::of(0x2028, 0x2029);
    }
    return ~breaks;
  }
  bool has_place(const std::vector<uint32_t>& nodes) const {
    return std::ranges::any_of(nodes, [&](uint32_t n) { return made_.nodes[n].has_place; });
  }
  tl::unexpected<Status> no_place(std::string_view where) const {
    return in_.error(Code::unsupported,
                     fmt::format("anchors and lookahead in {} are not supported", where));
  }

  PatternOptions options_;
  ClassReader in_;
  Pattern made_;
};

}  // namespace

Result<Pattern> read_pattern(std::string_view text, const PatternOptions& options) {
  if (text.size() > kMaxBytes) {
    return fail(Code::unsupported, "a pattern of {} bytes; at most {} are read", text.size(),
                kMaxBytes);
  }
  return PatternReader(text, options).read();
}

}  // namespace ruv
