// What a node of a pattern matches depends on what precedes it (the beginning, a word
// character, …) and after it. So nodes are compiled from the right: given which texts may be the
// rest after the node, for each kind of character that the rest may follow, a node makes the same
// of itself. Anchors choose among these kinds, lookahead intersects, `$` leaves only the empty
// rest.
#include "grammar/regex/pattern_language.h"

#include <algorithm>
#include <array>
#include <optional>

#include "grammar/regex/class_reader.h"

namespace ruv {
namespace {

// Nodes that are compiled, those of loops once a round: nested loops multiply.
constexpr size_t kMaxCompiled = 20000;
// Endless loops around anchors may be nested so deep; the definition of each has a height of its
// own.
constexpr uint16_t kMaxEndless = 3;
constexpr uint16_t kHeightOfEndless = 100;
// Loops around anchors are unrolled up to here: each round is compiled for its own rest.
constexpr uint32_t kMaxUnrolled = 32;

enum Before : size_t { kStart, kWord, kBreak, kOther };
constexpr size_t kBefores = 4;
// The rests of a text, by what precedes them.
using Rests = std::array<Language, kBefores>;

class PatternCompiler {
 public:
  PatternCompiler(Languages& languages, const Pattern& pattern, const PatternAlphabet& alphabet)
      : l_(languages), pattern_(pattern), alphabet_(alphabet) {
    const CodePointSet all = CodePointSet::of(0, kLastCodePoint);
    const CodePointSet word = *shorthand_set('w', PatternSyntax::re2);
    const CodePointSet line_break = CodePointSet::of('\n', '\n');
    ends_ = {Language::nothing, alphabet_.character(l_, word), alphabet_.character(l_, line_break),
             alphabet_.character(l_, all & ~(word | line_break))};
    any_text_ = l_.star(alphabet_.character(l_, all));
    texts_.resize(pattern_.nodes.size());
  }

  Result<Language> run(PatternMatch match) {
    if (match == PatternMatch::whole) {
      const Rests rests = TRY(compile(pattern_.root, all(Language::empty)));
      return rests[kStart];
    }
    const Rests rests = TRY(compile(pattern_.root, all(any_text_)));
    return after_text(any_text_, rests)[kStart];
  }

 private:
  static Rests all(Language rest) { return {rest, rest, rest, rest}; }
  const PatternNode& node(uint32_t id) const { return pattern_.nodes[id]; }

  template <typename Make>
  Rests each(Make&& make) {
    Rests made;
    for (size_t before = 0; before < kBefores; ++before) made[before] = make(before);
    return made;
  }

  // A text of `language`, then a rest that follows its last character.
  Rests after_text(Language language, const Rests& rests) {
    if (std::ranges::all_of(rests, [&](Language rest) { return rest == rests[0]; })) {
      return all(l_.concat(language, rests[0]));
    }
    Language consumed = Language::nothing;
    const Language some = l_.has_empty(language) ? l_.but(language, Language::empty) : language;
    if (rests[kWord] == rests[kOther] && rests[kBreak] == rests[kOther]) {
      consumed = l_.concat(some, rests[kOther]);
    } else {
      for (const Before before : {kWord, kBreak, kOther}) {
        const Language ending = l_.concat(any_text_, ends_[before]);
        consumed = l_.any_of(consumed, l_.concat(l_.all_of(some, ending), rests[before]));
      }
    }
    if (!l_.has_empty(language)) return all(consumed);
    return each([&](size_t before) { return l_.any_of(consumed, rests[before]); });
  }

  Result<Rests> compile(uint32_t id, const Rests& rests) {
    const PatternNode& n = node(id);
    if (l_.overflowed() || ++n_compiled_ > kMaxCompiled) {
      return fail(Code::unsupported, "this pattern is too large");
    }
    if (!n.has_place) return after_text(text_of(id), rests);
    switch (n.kind) {
      case PatternKind::sequence:
        return sequence(n, rests);
      case PatternKind::choice:
        return choice(n, rests);
      case PatternKind::repeat:
        return loop(n, rests);
      case PatternKind::ahead:
      case PatternKind::not_ahead:
        return ahead(n, rests);
      default:
        return place(n.kind, rests);
    }
  }

  Result<Rests> sequence(const PatternNode& n, Rests rests) {
    for (size_t i = n.children.size(); i-- > 0;) {
      rests = TRY(compile(n.children[i], rests));
    }
    return rests;
  }

  Result<Rests> choice(const PatternNode& n, const Rests& rests) {
    Rests made = all(Language::nothing);
    for (const uint32_t child : n.children) {
      const Rests one = TRY(compile(child, rests));
      made = each([&](size_t before) { return l_.any_of(made[before], one[before]); });
    }
    return made;
  }

  // From the last round back; rounds beyond the least number may be left out.
  Result<Rests> loop(const PatternNode& n, const Rests& rests) {
    const bool unlimited = n.max == UINT32_MAX;
    const uint32_t rounds = unlimited ? n.min : n.max;
    if (rounds > kMaxUnrolled) {
      return fail(Code::unsupported,
                  "anchors or lookahead in a loop of more than {} rounds are not supported",
                  kMaxUnrolled);
    }
    Rests made = rests;
    if (unlimited) made = TRY(endless_loop(n.children[0], rests));
    for (uint32_t round = rounds; round > 0; --round) {
      const Rests once = TRY(compile(n.children[0], made));
      made = round > n.min
                 ? each([&](size_t before) { return l_.any_of(once[before], rests[before]); })
                 : once;
    }
    return made;
  }

  // What follows a round is the loop again: R = rests | round, then R.
  Result<Rests> endless_loop(uint32_t child, const Rests& rests) {
    if (can_be_empty(child)) {
      return fail(Code::unsupported,
                  "a loop whose round may be empty cannot contain anchors or lookahead");
    }
    if (n_endless_ == kMaxEndless) {
      return fail(Code::unsupported,
                  "more than {} endless loops around anchors or lookahead are nested", kMaxEndless);
    }
    ++n_endless_;
    Result<Rests> made = solve(child, rests);
    --n_endless_;
    return made;
  }

  // Mostly it does not matter what precedes a round; then one unknown does.
  Result<Rests> solve(uint32_t child, const Rests& rests) {
    const auto max_height = static_cast<uint16_t>(kHeightOfEndless * n_endless_);
    const bool same =
        std::ranges::all_of(rests, [&](Language rest) { return rest == rests[kOther]; });
    if (same) {
      const Rests again = all(l_.unknown(l_.has_empty(rests[kOther]), max_height));
      const Rests made = TRY(one_more(child, again, rests));
      if (std::ranges::all_of(made, [&](Language rest) { return rest == made[kOther]; })) {
        l_.define(again[kOther], made[kOther]);
        return again;
      }
    }
    const Rests again =
        each([&](size_t b) { return l_.unknown(l_.has_empty(rests[b]), max_height); });
    const Rests made = TRY(one_more(child, again, rests));
    for (size_t before = 0; before < kBefores; ++before) l_.define(again[before], made[before]);
    return again;
  }

  Result<Rests> one_more(uint32_t child, const Rests& again, const Rests& rests) {
    const Rests round = TRY(compile(child, again));
    return each([&](size_t before) { return l_.any_of(round[before], rests[before]); });
  }

  bool can_be_empty(uint32_t id) const {
    const PatternNode& n = node(id);
    const auto empty = [&](uint32_t child) { return can_be_empty(child); };
    switch (n.kind) {
      case PatternKind::set:
        return false;
      case PatternKind::sequence:
      case PatternKind::intersection:
        return std::ranges::all_of(n.children, empty);
      case PatternKind::choice:
        return std::ranges::any_of(n.children, empty);
      case PatternKind::repeat:
        return n.min == 0 || can_be_empty(n.children[0]);
      default:
        return true;
    }
  }

  // Lookahead speaks of the same text as the rest, so it only selects among the rests.
  Result<Rests> ahead(const PatternNode& n, const Rests& rests) {
    const Rests inner = TRY(compile(n.children[0], all(Language::anything)));
    return each([&](size_t before) {
      return n.kind == PatternKind::ahead ? l_.all_of(rests[before], inner[before])
                                          : l_.but(rests[before], inner[before]);
    });
  }

  // An anchor or a word edge: keeps the rests that may follow what precedes it.
  Result<Rests> place(PatternKind kind, const Rests& rests) {
    Rests made = all(Language::nothing);
    switch (kind) {
      case PatternKind::line_start:
        made[kBreak] = rests[kBreak];
        [[fallthrough]];
      case PatternKind::start:
        made[kStart] = rests[kStart];
        return made;
      case PatternKind::end:
        return each([&](size_t b) { return l_.all_of(rests[b], Language::empty); });
      case PatternKind::line_end: {
        const Language line_break = ends_[kBreak];
        const Language end = l_.optional(l_.concat(line_break, Language::anything));
        return each([&](size_t b) { return l_.all_of(rests[b], end); });
      }
      case PatternKind::word_edge:
      case PatternKind::not_word_edge: {
        const Language word = l_.concat(ends_[kWord], Language::anything);
        const bool edge = kind == PatternKind::word_edge;
        return each([&](size_t b) {
          return (b == kWord) == edge ? l_.but(rests[b], word) : l_.all_of(rests[b], word);
        });
      }
      default:
        return fail(Code::internal,
                    "a node of a pattern depends on its surroundings in no known way");
    }
  }

  // The texts of a node without anchors. Depth is bounded by the reader.
  Language text_of(uint32_t id) {
    if (!texts_[id]) texts_[id] = make_text(node(id));
    return *texts_[id];
  }

  Language make_text(const PatternNode& n) {
    std::vector<Language> parts;
    parts.reserve(n.children.size());
    for (const uint32_t child : n.children) parts.push_back(text_of(child));
    switch (n.kind) {
      case PatternKind::set:
        return alphabet_.character(l_, pattern_.sets[n.set]);
      case PatternKind::sequence:
        return l_.concat(parts);
      case PatternKind::choice:
        return l_.any_of(parts);
      case PatternKind::intersection:
        return l_.all_of(parts);
      case PatternKind::complement:
        return l_.but(any_text_, parts[0]);
      case PatternKind::repeat:
        return l_.repeat(parts[0], n.min, n.max);
      default:
        return Language::empty;
    }
  }

  Languages& l_;
  const Pattern& pattern_;
  const PatternAlphabet& alphabet_;
  Rests ends_;  // the character that makes what follows come after it
  std::vector<std::optional<Language>> texts_;  // of nodes, once they are known
  size_t n_compiled_ = 0;
  uint16_t n_endless_ = 0;  // around the node that is being compiled
  Language any_text_ = Language::nothing;
};

}  // namespace

Result<Language> language_of(Languages& languages, const Pattern& pattern,
                             const PatternAlphabet& alphabet, PatternMatch match) {
  const Language made = TRY(PatternCompiler(languages, pattern, alphabet).run(match));
  if (languages.overflowed()) return fail(Code::unsupported, "this pattern is too large");
  return made;
}

}  // namespace ruv
