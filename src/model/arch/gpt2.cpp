// GPT-2: layer norm, learned positions, a plain feed-forward, biases everywhere.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec gpt2{.name = "gpt2",
                              .block = {.norm = Norm::layer,
                                        .positions = Positions::learned,
                                        .qkv_bias = true,
                                        .all_bias = true,
                                        .gated = false,
                                        .act = Act::gelu_tanh}};
}
