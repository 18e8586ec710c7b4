// Formulas of scaled rotary positions that a checkpoint's config states by their parameters and a
// GGUF file by their results: the reader of configs, the writer of GGUF and the model share them.
#pragma once

#include <cstdint>
#include <vector>

#include "format/model_file.h"

namespace ruv {

// Llama 3.1: wavelengths longer than original/low are stretched by `factor`, those shorter than
// original/high stay, and between them the stretch falls along a ramp.
struct Llama3Scaling {
  double factor = 1, low = 1, high = 4;  // low_freq_factor, high_freq_factor
  double original = 0;                   // original_max_position_embeddings

  bool is_valid() const;
  // Share of the unscaled frequency in the scaled one: 0, 1, or between on the ramp.
  double kept_share(double wavelength) const;
};

// The divisors of rotary frequencies that this amounts to, one for each pair. Requires: is_valid.
std::vector<float> llama3_divisors(const Llama3Scaling& scaling, double base, int64_t n_dims);
// The numbers of a file whose rope.scaling.type is llama3, unchecked. Fails: not_found, corrupt.
Result<Llama3Scaling> llama3_scaling_of(const ModelFile& file);

// YaRN (Peng et al., 2023): pairs that turn often within the original context keep their frequency,
// those that turn seldom are stretched by `factor`, and between them the stretch falls along a ramp
// over the pairs.
struct YarnScaling {
  double factor = 1, original = 0;       // original_max_position_embeddings
  double beta_fast = 32, beta_slow = 1;  // turns at which the ramp begins and ends
  bool truncates = true;                 // it begins and ends at whole pairs

  bool is_valid() const;
  // Shares of the unscaled frequencies of n_dims / 2 pairs in the scaled ones. Requires: is_valid,
  // base > 0 and other than 1.
  std::vector<double> kept_shares(int64_t n_dims, double base) const;
};

// YaRN's factor of cos and sin for a context `factor` times as long as the original.
double yarn_magnitude(double factor, double mscale = 1);

// LongRoPE (Ding et al., 2024): the factor of cos and sin for a context `stretch` times as long as
// the original, where no file gives one.
double longrope_magnitude(double stretch, int64_t original);

}  // namespace ruv
