// What records of encoders share, and the block of BERT.
#pragma once

#include "family/family.h"

namespace ruv::family {

// Learned positions, biases everywhere, GELU without a gate, and norms after each sum.
inline constexpr BlockSpec kBertBlock{.norm = Norm::layer,
                                      .embd_norm = true,
                                      .norm_place = NormPlace::sum,
                                      .bidirectional = true,
                                      .token_types = true,
                                      .positions = Positions::learned,
                                      .qkv_bias = true,
                                      .all_bias = true,
                                      .gated = false,
                                      .act = Act::gelu};

// The record with what the files of encoders have in common: GGUF files say that attention is not
// causal, the last layer's sum is already normalised, and names of tensors begin without a prefix.
constexpr FamilyRecord encoder_record(FamilyRecord own) {
  own.gguf_keys = " attention.causal ";
  own.last_norm = "";
  own.usual_names = false;
  own.base_prefix = "";
  return own;
}

}  // namespace ruv::family
