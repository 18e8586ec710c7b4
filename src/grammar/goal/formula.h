// Formulas: boolean formulas over numbered atoms, interned, so that equal ones have one id. What is
// asked of a JSON value is a formula over schemas, and what is still asked of an object or an array
// that is being written is one over counts of members and items. Both change by substitution of
// atoms, which simplifies at once: what is decided disappears.
//
// A node takes about 60 bytes and lasts as long as the object. Not thread-safe: an owner locks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/language/id_table.h"

namespace ruv {

// Index into one Formulas.
enum class Formula : uint32_t { no = 0, yes = 1 };

class Formulas {
 public:
  enum class Kind : uint8_t { no, yes, atom, negation, all, any, one };

  // Holds at most max_nodes formulas.
  explicit Formulas(size_t max_nodes);

  // The atom of this number; its meaning is the owner's.
  Formula atom(uint32_t index);
  // The negation; that of a negation is what was negated.
  Formula negation(Formula formula);
  // The conjunction, the disjunction; of none: yes, no.
  Formula all_of(std::span<const Formula> parts) { return sum(Kind::all, parts); }
  Formula any_of(std::span<const Formula> parts) { return sum(Kind::any, parts); }
  Formula all_of(Formula a, Formula b);
  Formula any_of(Formula a, Formula b);
  // Exactly one of them holds.
  Formula one_of(std::span<const Formula> parts);

  // What a formula is at its top.
  Kind kind(Formula formula) const { return node(formula).kind; }
  // Requires: an atom.
  uint32_t atom_of(Formula formula) const { return node(formula).first; }
  // What is negated. Requires: a negation.
  Formula inner(Formula formula) const { return static_cast<Formula>(node(formula).first); }
  // Requires: all, any or one. Valid until a formula is made.
  std::span<const Formula> children(Formula formula) const {
    return std::span(children_).subspan(node(formula).first, node(formula).n);
  }
  // The conjunction's children, or the formula itself. A copy.
  std::vector<Formula> conjuncts(Formula formula) const;

  // The formula with another one in the place of each atom. Linear in its size.
  Formula substitute(Formula formula, const std::function<Formula(uint32_t atom)>& replace);
  // Whether it holds where each atom is true or false.
  bool holds(Formula formula, const std::function<bool(uint32_t atom)>& is_true);
  // Adds its atoms, each once, in an order that depends on the formula only.
  void add_atoms(Formula formula, std::vector<uint32_t>& atoms) const;

  // Whether a formula had no room, or was nested too deep, and became `no`. Stays so.
  bool overflowed() const { return overflowed_; }
  size_t size() const { return nodes_.size(); }

 private:
  // Recursion goes as deep as formulas are nested.
  static constexpr uint16_t kMaxHeight = 300;
  struct Node {
    Kind kind;
    uint16_t height;
    uint32_t first;  // the atom, what is negated, or the beginning of the children
    uint32_t n;      // number of children
  };
  const Node& node(Formula formula) const { return nodes_[static_cast<uint32_t>(formula)]; }
  Formula intern(Kind kind, uint32_t first, std::span<const Formula> children);
  Formula sum(Kind kind, std::span<const Formula> parts);
  using Seen = std::unordered_map<Formula, Formula>;
  Formula substitute(Formula formula, const std::function<Formula(uint32_t)>& replace, Seen& seen);

  size_t max_nodes_;
  bool overflowed_ = false;
  std::vector<Node> nodes_;
  std::vector<Formula> children_;
  IdTable ids_;
};

}  // namespace ruv
