// Gemma 3 (text): normalised queries and keys, five windowed layers to one global, two rope bases.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_bidirectional_attention", "null false"}};
constexpr HfClass kText{.model_type = "gemma3_text",
                        .class_names = "Gemma3ForCausalLM Gemma3TextModel",
                        .act_key = "hidden_activation",
                        .max_positions = 131072,
                        .n_heads = 8,
                        .n_kv_heads = 4,
                        .head_dim = 256,
                        .windows = HfWindows::periodic,
                        .window = 4096,
                        .period_key = "sliding_window_pattern",
                        .rope = HfRope::by_kind,
                        .rope_base = 1e6,
                        .query_scalar = 256,
                        .qkv_bias = "attention_bias",
                        .output_bias = "attention_bias",
                        .tied = true,
                        .encoder_key = "use_bidirectional_attention",
                        .encoder = &gemma_embedding,
                        // Attention is never given this cap.
                        .without_effect = "attn_logit_softcapping _sliding_window_pattern"};

// The class with the vision tower, whose text_config is a config of the other.
constexpr HfClass nested() {
  HfClass hf = kText;
  hf.model_type = "gemma3";
  hf.class_names = "Gemma3ForConditionalGeneration Gemma3Model";
  hf.nested = true;
  hf.encoder_key = {};
  hf.encoder = nullptr;
  hf.neutral = kNeutral;
  return hf;
}
constexpr HfClass kClasses[] = {kText, nested()};
}  // namespace

constinit const FamilyRecord gemma3{.name = "gemma3",
                                    .published = "Gemma 3 270M and 1B, the text of 4B, 12B and 27B",
                                    .block = {.norm_place = NormPlace::sandwich,
                                              .qk_norm = QkNorm::heads,
                                              .act = Act::gelu_tanh,
                                              .windows = Windows::periodic,
                                              .window_period = 6},
                                    .embed_scale = EmbedScale::sqrt_dim,
                                    .final_softcap = {.computed = true},
                                    .local_rope_base = 10000,
                                    .width_scaled_depth = 62,  // 27B
                                    .norms_minus_one = true,
                                    .classes = kClasses};
}  // namespace ruv::family
