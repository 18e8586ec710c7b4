// Ranked merges of a vocabulary that merges by scores.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace ruv {

// "left right" for each way to make a token of two others, the highest scores first. Fails:
// unsupported (a token is too long), quoting `source`. Requires: a score for each token.
Result<std::vector<std::string>> merges_of_scores(const TokenizerSpec& spec,
                                                  const std::string& source);

// Texts in which tokens of one score meet, so that both ways to merge can be compared. Fails: as
// above, and unsupported (too many tokens have one score).
Result<std::vector<std::string>> texts_of_ties(const TokenizerSpec& spec,
                                               const std::string& source);

}  // namespace ruv
