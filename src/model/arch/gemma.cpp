// Gemma 1.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec gemma{
    .name = "gemma", .block = {.act = Act::gelu_tanh}, .embed_scale = EmbedScale::sqrt_dim};
}
