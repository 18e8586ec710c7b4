// The tokens that a drafting head's outputs mean, where it has fewer than the model.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

inline constexpr std::string_view kHeadTokens = "d2t";  // the tensor

// Empty: all tokens of the model, in order. Folders of a head with a layer have the distance of
// each token from its output, others and GGUF files the tokens. Fails: not_found, corrupt (a tensor
// or key, each named).
Result<std::vector<Token>> read_head_tokens(const WeightSource& source, const Model& head);

}  // namespace ruv
