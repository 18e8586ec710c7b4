// Gemma 2: sandwich norms, capped logits, a window in every second layer.
#include <cmath>

#include "model/arch/archs.h"
#include "model/hparams.h"

namespace ruv::arch {
constinit const ArchSpec gemma2{
    .name = "gemma2",
    .block = {.norm_place = NormPlace::sandwich,
              .act = Act::gelu_tanh,
              .window = Window::every_second,
              .attn_softcap = 50},
    .embed_scale = EmbedScale::sqrt_dim,
    .final_softcap = 30,
    // The 27B model scales queries by its hidden size per head; GGUF files do not say so.
    .adjust = [](HParams& h) {
      if (h.n_layers == 46) h.attn_scale = std::sqrt(float(h.n_heads) / float(h.n_embd));
    }};
}
