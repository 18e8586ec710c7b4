// The middle of a layer's keys, as far as their bias determines it. What every key has in common
// does not affect attention and is expensive to store in few bits.
#pragma once

#include "model/model.h"

namespace ruv {

// (n_kv_heads · head_dim): the mean of the rotated bias over the positions the model was trained
// for. Channels that turn slowly keep their bias, those that turn fast come to nothing. Subtracting
// it from all keys adds the same number to all scores of a query, which no softmax sees. Empty
// where there is no bias, where a norm or a soft cap follows (then the shift would show), or where
// the bias is nothing.
std::vector<float> key_centre(const Model& model, int64_t layer, std::span<const float> key_bias);

}  // namespace ruv
