#include "grammar/goal/formula.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace ruv {
namespace {

uint64_t mix_formula(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15 + (hash << 12) + (hash >> 4);
  return hash * 0xD6E8FEB86659FD93;
}

}  // namespace

Formulas::Formulas(size_t max_nodes) : max_nodes_(std::max<size_t>(max_nodes, 16)), ids_(64) {
  nodes_.push_back({Kind::no, 0, 0, 0});
  nodes_.push_back({Kind::yes, 0, 0, 0});
}

// The number of a formula, which is made if there is none yet. Children are given in their order.
Formula Formulas::intern(Kind kind, uint32_t first, std::span<const Formula> children) {
  uint64_t hash = mix_formula(static_cast<uint64_t>(kind), children.empty() ? first : 0);
  uint16_t height = 0;
  for (const Formula child : children) {
    hash = mix_formula(hash, static_cast<uint32_t>(child));
    height = std::max(height, node(child).height);
  }
  if (kind == Kind::negation) height = node(static_cast<Formula>(first)).height;
  const uint32_t known = ids_.find(hash, [&](uint32_t id) {
    const Node& other = nodes_[id];
    if (other.kind != kind || other.n != children.size()) return false;
    return children.empty()
               ? other.first == first
               : std::ranges::equal(this->children(static_cast<Formula>(id)), children);
  });
  if (known != IdTable::kNone) return static_cast<Formula>(known);
  if (nodes_.size() >= max_nodes_ || height >= kMaxHeight) {
    overflowed_ = true;
    return Formula::no;
  }
  if (!children.empty()) {
    first = static_cast<uint32_t>(children_.size());
    children_.insert(children_.end(), children.begin(), children.end());
  }
  const auto id = static_cast<Formula>(nodes_.size());
  nodes_.push_back(
      {kind, static_cast<uint16_t>(height + 1), first, static_cast<uint32_t>(children.size())});
  ids_.insert(hash, static_cast<uint32_t>(id));
  return id;
}

Formula Formulas::atom(uint32_t index) { return intern(Kind::atom, index, {}); }

Formula Formulas::negation(Formula formula) {
  if (formula == Formula::no) return Formula::yes;
  if (formula == Formula::yes) return Formula::no;
  if (kind(formula) == Kind::negation) return inner(formula);
  return intern(Kind::negation, static_cast<uint32_t>(formula), {});
}

// Flat, ascending, without repetitions, without what decides nothing.
Formula Formulas::sum(Kind kind, std::span<const Formula> parts) {
  const Formula neutral = kind == Kind::all ? Formula::yes : Formula::no;
  const Formula absorbing = kind == Kind::all ? Formula::no : Formula::yes;
  std::vector<Formula> flat;
  flat.reserve(parts.size());
  for (const Formula part : parts) {
    if (part == absorbing) return absorbing;
    if (part == neutral) continue;
    if (node(part).kind == kind) {
      const std::span<const Formula> inner_parts = children(part);
      flat.insert(flat.end(), inner_parts.begin(), inner_parts.end());
    } else {
      flat.push_back(part);
    }
  }
  std::ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (const Formula part : flat) {  // a formula and its negation
    if (node(part).kind == Kind::negation && std::ranges::binary_search(flat, inner(part))) {
      return absorbing;
    }
  }
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  return intern(kind, 0, flat);
}

Formula Formulas::all_of(Formula a, Formula b) { return all_of(std::array{a, b}); }
Formula Formulas::any_of(Formula a, Formula b) { return any_of(std::array{a, b}); }

// What is certain is decided here, so that the node has only open parts, each once.
Formula Formulas::one_of(std::span<const Formula> parts) {
  std::vector<Formula> open;
  std::vector<Formula> refused;  // must not hold
  bool has_one = false;
  for (const Formula part : parts) {
    if (part == Formula::yes && has_one) return Formula::no;
    has_one = has_one || part == Formula::yes;
    if (part != Formula::yes && part != Formula::no) open.push_back(part);
  }
  std::ranges::sort(open);
  std::vector<Formula> single;
  for (size_t i = 0; i < open.size();) {  // what occurs twice cannot be the one
    size_t end = i + 1;
    while (end < open.size() && open[end] == open[i]) ++end;
    (end == i + 1 ? single : refused).push_back(open[i]);
    i = end;
  }
  if (has_one) {
    refused.insert(refused.end(), single.begin(), single.end());
    single.clear();
  }
  for (Formula& part : refused) part = negation(part);
  if (!has_one) {
    if (single.empty()) return Formula::no;
    refused.push_back(single.size() == 1 ? single[0] : intern(Kind::one, 0, single));
  }
  return all_of(refused);
}

std::vector<Formula> Formulas::conjuncts(Formula formula) const {
  if (formula == Formula::yes) return {};
  if (kind(formula) != Kind::all) return {formula};
  const std::span<const Formula> parts = children(formula);
  return {parts.begin(), parts.end()};
}

Formula Formulas::substitute(Formula formula, const std::function<Formula(uint32_t)>& replace) {
  Seen seen;
  return substitute(formula, replace, seen);
}

// Recursion is bounded by kMaxHeight; sums that occur several times are substituted once.
Formula Formulas::substitute(Formula formula, const std::function<Formula(uint32_t)>& replace,
                             Seen& seen) {
  switch (kind(formula)) {
    case Kind::no:
    case Kind::yes:
      return formula;
    case Kind::atom:
      return replace(atom_of(formula));
    case Kind::negation:
      return negation(substitute(inner(formula), replace, seen));
    case Kind::all:
    case Kind::any:
    case Kind::one:
      break;
  }
  const auto known = seen.find(formula);
  if (known != seen.end()) return known->second;
  const std::span<const Formula> span = children(formula);
  std::vector<Formula> parts(span.begin(), span.end());
  bool changed = false;
  for (Formula& part : parts) {
    const Formula made = substitute(part, replace, seen);
    changed = changed || made != part;
    part = made;
  }
  Formula made = formula;
  if (changed) made = kind(formula) == Kind::one ? one_of(parts) : sum(kind(formula), parts);
  seen.emplace(formula, made);
  return made;
}

// With all atoms decided, substitution leaves yes or no.
bool Formulas::holds(Formula formula, const std::function<bool(uint32_t)>& is_true) {
  const Formula value = substitute(
      formula, [&](uint32_t index) { return is_true(index) ? Formula::yes : Formula::no; });
  return value == Formula::yes;
}

// Atoms are interned, so each is met once.
void Formulas::add_atoms(Formula formula, std::vector<uint32_t>& atoms) const {
  std::unordered_set<Formula> seen;
  std::vector<Formula> open = {formula};
  while (!open.empty()) {
    const Formula at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    switch (kind(at)) {
      case Kind::no:
      case Kind::yes:
        break;
      case Kind::atom:
        atoms.push_back(atom_of(at));
        break;
      case Kind::negation:
        open.push_back(inner(at));
        break;
      case Kind::all:
      case Kind::any:
      case Kind::one:
        for (const Formula part : children(at)) open.push_back(part);
    }
  }
}

}  // namespace ruv
