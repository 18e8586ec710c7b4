// Formulas of scaled rotary positions that a checkpoint's config states by their parameters and a
// GGUF file by their results: the reader of configs, the writer of GGUF and the model share them.
#pragma once

#include <cstdint>

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

// The numbers of a file whose rope.scaling.type is llama3, unchecked. Fails: not_found, corrupt.
Result<Llama3Scaling> llama3_scaling_of(const ModelFile& file);

// LongRoPE (Ding et al., 2024): the factor of cos and sin for a context `stretch` times as long as
// the original, where no file gives one.
double longrope_magnitude(double stretch, int64_t original);

}  // namespace ruv
