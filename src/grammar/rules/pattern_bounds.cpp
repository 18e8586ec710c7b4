#include "grammar/rules/pattern_bounds.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr uint32_t kHeightOfSet = 3;
constexpr uint32_t kSizeOfRange = 4;
// All texts, among which a complement is taken.
constexpr LanguageBounds kAllTexts = {
    .size = 20, .height = 6, .width = 1, .front_height = 5, .front_width = 1};

struct PatternBounds {
  LanguageBounds bounds;
  bool has_empty;
};

// The bounds of a node, given those of all nodes before it.
PatternBounds bounds_of_node(const Pattern& pattern, const PatternNode& n,
                             const std::vector<PatternBounds>& below) {
  const auto has_empty = [&](uint32_t child) { return below[child].has_empty; };
  PatternBounds made = {BoundedLanguages::kEmpty, true};
  switch (n.kind) {
    case PatternKind::set:
      made.bounds.size += kSizeOfRange * static_cast<uint32_t>(pattern.sets[n.set].ranges().size());
      made.bounds.height = made.bounds.front_height = kHeightOfSet;
      return {made.bounds, false};
    case PatternKind::sequence:
      for (size_t i = n.children.size(); i-- > 0;) {
        const PatternBounds& child = below[n.children[i]];
        made.bounds = bounds_before(child.bounds, child.has_empty, made.bounds);
      }
      made.has_empty = std::ranges::all_of(n.children, has_empty);
      return made;
    case PatternKind::choice:
    case PatternKind::intersection:
      for (const uint32_t child : n.children) {
        made.bounds = bounds_beside(below[child].bounds, made.bounds);
      }
      made.has_empty = n.kind == PatternKind::choice ? std::ranges::any_of(n.children, has_empty)
                                                     : std::ranges::all_of(n.children, has_empty);
      return made;
    case PatternKind::repeat: {
      const PatternBounds& child = below[n.children[0]];
      return {bounds_of_loop(child.bounds), n.min == 0 || child.has_empty};
    }
    case PatternKind::complement: {
      const PatternBounds& child = below[n.children[0]];
      return {bounds_of_complement(child.bounds, kAllTexts), !child.has_empty};
    }
    default:
      return made;
  }
}

}  // namespace

// Children precede their parents, so one pass over the nodes is enough.
LanguageBounds bounds_of_pattern(const Pattern& pattern) {
  std::vector<PatternBounds> made;
  made.reserve(pattern.nodes.size());
  for (const PatternNode& n : pattern.nodes) made.push_back(bounds_of_node(pattern, n, made));
  return made[pattern.root].bounds;
}

}  // namespace ruv
