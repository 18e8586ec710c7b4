// EmbeddingGemma: Gemma 3 as an encoder, with windows in both directions. In folders it is a class
// of Gemma 3 with a key that says so.
#include "family/families.h"

namespace ruv::family {

constinit const FamilyRecord gemma_embedding{.name = "gemma-embedding",
                                             .published = "EmbeddingGemma 300M",
                                             .block = {.norm_place = NormPlace::sandwich,
                                                       .bidirectional = true,
                                                       .qk_norm = QkNorm::heads,
                                                       .act = Act::gelu_tanh,
                                                       .windows = Windows::periodic,
                                                       .window_period = 6},
                                             .embed_scale = EmbedScale::sqrt_dim,
                                             .local_rope_base = 10000,
                                             .gguf_keys = " attention.causal ",
                                             .norms_minus_one = true};

}  // namespace ruv::family
