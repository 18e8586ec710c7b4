// ReasoningRegion: where a model thinks in its answer, and for how long.
#pragma once

#include <cstdint>
#include <vector>

#include "ruv/token.h"

namespace ruv {

// Where a model thinks before it answers: any tokens, up to those that end it. The form of an
// answer holds for what follows.
struct ReasoningRegion {
  // The token that begins it, which must be the answer's first; -1: only the prompt begins it.
  Token begin = -1;
  std::vector<Token> end = {};  // the tokens that end it, at least one
  bool is_open = false;         // the prompt has begun it
  // After this many tokens the end is written for the model; 0 leaves no room to think, -1 is not a
  // limit. Lower saves time and costs quality.
  int64_t max_tokens = -1;
  // Tokens of which two may come between its end and a form: line breaks.
  std::vector<Token> gap = {};
};

}  // namespace ruv
