// Gemma 3 (text): normalised queries and keys, five windowed layers to one global, two rope bases.
#include <cmath>

#include "model/arch/archs.h"
#include "model/hparams.h"

namespace ruv::arch {
constinit const ArchSpec gemma3{
    .name = "gemma3",
    .block = {.norm_place = NormPlace::sandwich,
              .qk_norm = true,
              .act = Act::gelu_tanh,
              .window = Window::five_of_six},
    .embed_scale = EmbedScale::sqrt_dim,
    .local_rope_base = 10000,
    // The 27B model scales queries by its hidden size per head; GGUF files do not say so.
    .adjust = [](HParams& h) {
      if (h.n_layers == 62) h.attn_scale = std::sqrt(float(h.n_heads) / float(h.n_embd));
    }};
}
