// Weights of a model that has learned nothing yet.
#pragma once

#include "train/parameters.h"

namespace ruv {

// Draws the numbers of all parameters anew, of the seed alone: matrices normal with a deviation of
// 0.02, those that write to the residual stream (attn_output, ffn_down) of 0.02 / √(2 n_layers)
// (Radford et al., 2019), weights of norms 1, biases and other vectors 0. Fails: unsupported,
// naming a tensor of the model's file, or a part of the model, that is not among the parameters and
// would stay as it was trained.
Status draw_weights(const Model& model, const Parameters<float>& parameters, uint64_t seed);

}  // namespace ruv
