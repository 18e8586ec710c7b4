#include "grammar/rules/rule_set.h"

#include <algorithm>

namespace ruv {

bool TokenSet::has(Token token) const {
  const bool listed = std::ranges::any_of(
      ranges, [&](const Range& range) { return range.first <= token && token <= range.last; });
  return listed != complement;
}

// A complement goes through the vocabulary once.
void TokenSet::add_to(TokenMask& mask, int64_t n_vocab) const {
  if (complement) {
    for (Token token = 0; token < n_vocab; ++token) {
      if (has(token)) mask.add(token);
    }
    return;
  }
  for (const Range& range : ranges) {
    for (Token token = range.first; token <= range.last && token < n_vocab; ++token)
      mask.add(token);
  }
}

}  // namespace ruv
