// Samplers for tests of equal bytes: each kind now and then, by itself or with others.
#pragma once

#include "base/rng.h"
#include "ruv/params.h"

namespace ruv {

// `has_text`: the model has a tokenizer.
inline void draw_sampling(Rng& rng, bool has_text, GenerateParams& params) {
  switch (rng.below(10)) {
    case 0:
      params.typical_p = 0.9;
      params.xtc_probability = 0.5;
      params.xtc_threshold = 0.05;
      break;
    case 1:
      params.top_n_sigma = 1.5;
      params.dynatemp_range = 0.5;
      break;
    case 2:
      params.mirostat = 1;
      params.mirostat_tau = 3;
      break;
    case 3:
      params.mirostat = 2;
      params.mirostat_tau = 4;
      break;
    case 4:
      params.adaptive_target = 0.3;
      params.top_k = 0;
      break;
    case 5:
      params.dry_multiplier = 0.8;
      params.dry_allowed_length = 1;
      break;
    case 6:
      params.min_tokens = params.max_tokens / 2;
      params.stop_tokens = {3, 5, 8};
      if (has_text) params.bad_words = {"a", " and", "five"};
      params.ignore_eos = false;
      break;
    case 7:
      params.samplers = {"top_k", "temperature", "penalties", "top_p", "xtc"};
      params.repetition_penalty = 1.2;
      params.xtc_probability = 0.5;
      params.xtc_threshold = 0.05;
      break;
    default:  // as it is
      break;
  }
}

}  // namespace ruv
