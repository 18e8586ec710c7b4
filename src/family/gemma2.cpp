// Gemma 2: sandwich norms, capped logits, a window in every second layer.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_bidirectional_attention", "null false"}};
constexpr HfClass kClasses[] = {{.model_type = "gemma2",
                                 .class_names = "Gemma2ForCausalLM Gemma2Model",
                                 .act_key = "hidden_activation",
                                 .max_positions = 8192,
                                 .n_heads = 8,
                                 .n_kv_heads = 4,
                                 .head_dim = 256,
                                 .windows = HfWindows::periodic,
                                 .window = 4096,
                                 .query_scalar = 256,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true,
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord gemma2{.name = "gemma2",
                                    .published = "Gemma 2 2B, 9B and 27B",
                                    .block = {.norm_place = NormPlace::sandwich,
                                              .act = Act::gelu_tanh,
                                              .windows = Windows::periodic,
                                              .window_period = 2},
                                    .embed_scale = EmbedScale::sqrt_dim,
                                    .attn_softcap = {.computed = true, .otherwise = 50},
                                    .final_softcap = {.computed = true, .otherwise = 30},
                                    .width_scaled_depth = 46,  // 27B
                                    .norms_minus_one = true,
                                    .classes = kClasses};
}  // namespace ruv::family
