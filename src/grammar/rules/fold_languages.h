// Folds the regular parts of a grammar into languages: what runs a grammar is fastest on these.
#pragma once

#include "grammar/rules/rule_set.h"

namespace ruv {

struct FoldLimits {
  // Larger languages are not made: deriving recurses on heights, and states of sums and products
  // have as many parts as these.
  LanguageBounds language = {.size = 20000, .height = 60};
  // Expressions that are made in all, at most.
  uint32_t total_size = 500000;
};

// A node all of whose children are languages becomes one, as far as the limits allow; so do
// neighbours in a sequence and alternatives of a choice, and references to rules that are
// languages. What remains means the same. Rules keep their places, used or not. Linear time,
// besides the languages that are made. Requires: `languages` is that of the nodes; it does not
// overflow unless it has less room than total_size.
void fold_languages(Languages& languages, RuleSet& rules, const FoldLimits& limits = {});

}  // namespace ruv
