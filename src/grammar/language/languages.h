// Languages: regular languages over bytes, as expressions that are the states of their own
// automata.
//
// What may follow once a byte of a text of L was read is a language again: the derivative of L by
// that byte (Brzozowski, 1964). Expressions are interned, equal ones have one id, and sums,
// products and complements are put into a normal form, so a language has few derivatives: they are
// the states of its automaton, made when a text first reaches them. Intersection and complement
// cost nothing more than union does, which is why patterns, formats, lengths and their negations
// become one automaton. Equal parts of different grammars have equal ids, and so share what is
// known of them.
//
// A node costs about 100 bytes and lasts as long as the object: texts that are read make states, so
// their number grows with use and is bounded by max_nodes. An owner whose object has overflowed
// makes a new one.
//
// Not thread-safe: an owner locks.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/language/byte_set.h"
#include "grammar/language/id_table.h"

namespace ruv {

// Index into one Languages.
enum class Language : uint32_t {
  nothing = 0,   // no text at all
  empty = 1,     // the empty text only
  anything = 2,  // all texts
};

class Languages {
 public:
  static constexpr uint32_t kUnlimited = UINT32_MAX;

  // Holds at most max_nodes expressions, about 100 bytes each.
  // Memory for `room` expressions is taken at once, some 100 bytes each: growing later takes
  // milliseconds each time that their number has doubled.
  explicit Languages(size_t max_nodes, size_t room = size_t{1} << 12);

  // One byte of a set.
  Language byte_of(const ByteSet& set);
  // Exactly this text. One node per byte; texts with equal ends share these.
  Language text(std::string_view text);
  // A text of `first`, then one of `second`. Time linear in the parts that `first` was made of.
  Language concat(Language first, Language second);
  Language concat(std::span<const Language> parts);
  // The union and the intersection. Deriving them takes time linear in the parts for each state.
  Language any_of(std::span<const Language> parts);
  Language any_of(Language a, Language b) { return any_of(std::array{a, b}); }
  Language all_of(std::span<const Language> parts);
  Language all_of(Language a, Language b) { return all_of(std::array{a, b}); }
  // The texts of `a` that are not of `without`.
  Language but(Language a, Language without) { return all_of(a, complement(without)); }
  // All texts that are not of the language.
  Language complement(Language language);
  // min to max texts one after another; max may be kUnlimited. A count is a number in the node, so
  // a large one costs nothing until texts reach it; then each round is a state. Requires: min <=
  // max.
  Language repeat(Language part, uint32_t min, uint32_t max);
  Language optional(Language part) { return any_of(Language::empty, part); }
  Language star(Language part) { return repeat(part, 0, kUnlimited); }

  // An automaton's first state. Unlike expressions, equal automata are not one language.
  struct State {
    bool accepts = false;
    std::vector<std::pair<ByteSet, uint32_t>> next;  // disjoint sets, and states by their index
  };
  Language automaton(std::span<const State> states);

  // A language that is defined later by an equation in which it may occur itself, but only after at
  // least one byte, so that the equation has one solution. `has_empty` must be that of the
  // definition, whose height, a bound of the recursion that derives it, may be at most max_height:
  // expressions that are made before it is defined count that. To be defined before it is derived.
  static constexpr uint16_t kMaxHeight = 400;
  Language unknown(bool has_empty, uint16_t max_height);
  void define(Language unknown, Language definition);

  // Whether the empty text belongs to it.
  bool has_empty(Language language) const { return node(language).has_empty; }
  // What may follow after `byte`: the state of the automaton that it leads to.
  Language after(Language language, uint8_t byte);
  Language after(Language language, std::string_view text);
  // Whether no text belongs to it. Looks through the automaton where an intersection or a
  // complement occurs; the answer is kept.
  bool is_nothing(Language language);
  // Whether several texts belong to it. False also where finding out takes too long.
  bool has_several(Language language);
  // Bytes of its longest text, or kUnlimited. Exact but for intersections and complements, where it
  // is a bound.
  uint32_t longest(Language language) const { return node(language).longest; }

  // A language made with but(), of which finitely many texts were taken away: all others, and
  // these.
  struct Exclusion {
    Language base;
    Language excluded;
  };
  std::optional<Exclusion> exclusion_of(Language language);
  // The same where what was taken away may also have no end, but begins in few ways.
  std::optional<Exclusion> narrow_exclusion_of(Language language);
  // A language that was made as part{min,max}, where part is one byte or one character, and what
  // follows it; nothing for others.
  struct Repetition {
    Language part;
    uint32_t min;
    uint32_t max;
    Language rest;
  };
  std::optional<Repetition> repetition_of(Language language) const;

  // An intersection, and what follows it; nothing for others.
  struct Intersection {
    std::vector<Language> parts;
    Language rest;
  };
  std::optional<Intersection> intersection_of(Language language) const;

  // Whether there was no room for an expression, which then became `nothing`. Stays so: what was
  // built since the room ran out must not be used.
  bool overflowed() const { return overflowed_; }
  size_t size() const { return nodes_.size(); }

  // The derivatives of a language: disjoint sets of bytes, and what follows after each.
  struct Arc {
    ByteSet bytes;
    Language next;
  };
  // Valid until the next call.
  std::span<const Arc> arcs(Language language);

 private:
  std::optional<Exclusion> exclusion_where(Language language, bool (Languages::*may_be)(Language));
  bool is_finite(Language language);
  bool begins_narrow(Language language);
  enum class Kind : uint8_t {
    nothing,
    empty,
    bytes,
    concat,
    any,
    all,
    complement,
    repeat,
    state,
    unknown
  };
  enum class Emptiness : uint8_t { unknown, no, yes };
  struct Node {
    Kind kind;
    bool has_empty;
    bool is_plain;  // neither intersections nor complements in it: some text belongs to it
    Emptiness emptiness = Emptiness::unknown;
    uint16_t height;      // of the recursion that derives it
    uint32_t longest;     // bytes, or kUnlimited
    uint32_t first = 0;   // child, set of bytes, or the beginning of the children
    uint32_t second = 0;  // child, or the number of children
    uint32_t min = 0;     // of repeat
    uint32_t max = 0;
    uint32_t arcs = 0;  // index into arcs_, 0: not derived yet
    uint32_t n_arcs = 0;
  };

  const Node& node(Language language) const { return nodes_[static_cast<uint32_t>(language)]; }
  std::span<const Language> children(const Node& node) const {
    return std::span(children_).subspan(node.first, node.second);
  }
  // The id of an expression, which is made if there is none yet.
  Language intern(const Node& node, std::span<const Language> children = {});
  bool same(const Node& a, const Node& b, std::span<const Language> children_of_b) const;
  Language concat_two(Language first, Language second);
  Language make_sum(Kind kind, std::vector<Language>& parts);
  // Derivation: what follows after each byte, made once and kept as arcs.
  void derive(Language language);
  void derive_into(Language language, std::vector<Arc>& out);
  void derive_sum(const Node& node, std::vector<Arc>& out);
  void derive_wide_sum(const Node& node, std::span<const Language> parts, std::vector<Arc>& out);
  void derive_complement(const Node& node, std::vector<Arc>& out);

  size_t max_nodes_;
  bool overflowed_ = false;
  std::vector<Node> nodes_;
  std::vector<Language> children_;
  std::vector<ByteSet> sets_;
  std::vector<Arc> arcs_;
  IdTable ids_;      // of expressions
  IdTable set_ids_;  // of sets
};

}  // namespace ruv
