// SpeculativeStats: what drafting brought. Drafts are guesses of the next tokens that one step
// checks together; the answer's bytes are the same with and without them.
#pragma once

#include <cstdint>

namespace ruv {

struct SpeculativeStats {
  int64_t n_drafted = 0;   // tokens guessed and checked
  int64_t n_accepted = 0;  // of them right
  int64_t n_passes = 0;    // sequences' turns in a step that decodes, with or without drafts
  int64_t n_tokens = 0;    // generated in these passes
  // Speed with drafts over speed without: the time that plain steps measured in between would have
  // taken for the same tokens over the time it took. 0: nothing to compare yet.
  double speed_up = 0;

  // n_accepted / n_drafted; 0 when nothing was drafted.
  double acceptance() const {
    return n_drafted > 0 ? static_cast<double>(n_accepted) / static_cast<double>(n_drafted) : 0;
  }
  double tokens_per_pass() const {
    return n_passes > 0 ? static_cast<double>(n_tokens) / static_cast<double>(n_passes) : 0;
  }
};

}  // namespace ruv
