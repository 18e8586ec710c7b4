// Llama 2 and 3, Mistral (whose files name a window), and Mixtral, which has experts.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "llama",
     .class_names = "LlamaForCausalLM LlamaModel LLaMAForCausalLM",
     .max_positions = 2048,
     .null_kv_heads = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .without_effect = "pretraining_tp"},
    {.model_type = "mistral",
     .class_names = "MistralForCausalLM MistralModel",
     .max_positions = 131072,
     .n_kv_heads = 8,
     .windows = HfWindows::all,
     .window = 4096},
    {.model_type = "mixtral",
     .class_names = "MixtralForCausalLM MixtralModel",
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_kv_heads = 8,
     .windows = HfWindows::all,
     .rope_base = 1e6,
     .experts = HfExperts::everywhere,
     .without_effect = "output_router_logits router_aux_loss_coef router_jitter_noise"},
};
}

constinit const FamilyRecord llama{.name = "llama",
                                   .block = {.windows = Windows::all},
                                   .experts = true,
                                   // The converter of this architecture alone moves rows.
                                   .neighbour_rows = true,
                                   .classes = kClasses};
}  // namespace ruv::family
