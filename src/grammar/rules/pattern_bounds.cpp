#include "grammar/rules/pattern_bounds.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr uint32_t kHeightOfSet = 3;
constexpr uint32_t kSizeOfRange = 4;
// All texts, among which a complement is taken.
constexpr LanguageBounds kAllTexts = {.size = 20, .height = 5};

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
      return {{made.bounds.size, kHeightOfSet}, false};
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
      return {{child.bounds.size + 1, child.bounds.height + 2}, n.min == 0 || child.has_empty};
    }
    case PatternKind::complement: {
      LanguageBounds bounds = below[n.children[0]].bounds;
      ++bounds.height;
      return {bounds_beside(bounds, kAllTexts), !below[n.children[0]].has_empty};
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
