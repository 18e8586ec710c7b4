// EuroBERT: Llama as an encoder.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "eurobert",
                                 .class_names = "EuroBertModel EuroBertForMaskedLM",
                                 .heads_divide = true,
                                 .norm_eps = 1e-5,
                                 .max_positions = 8192,
                                 .n_heads = 12,
                                 .null_kv_heads = true,
                                 .null_head_dim = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .tied = true,
                                 .classifier = {.class_names = "EuroBertForSequenceClassification",
                                                .dense = "dense",
                                                .out = "classifier",
                                                .act = "gelu",
                                                .pooling_key = "classifier_pooling",
                                                .poolings = "late bos mean"},
                                 .without_effect = "mask_token_id pretraining_tp"}};
}  // namespace

constinit const FamilyRecord eurobert{.name = "eurobert",
                                      .published = "EuroBERT 210M to 2.1B",
                                      .block = {.bidirectional = true},
                                      .gguf_keys = " attention.causal ",
                                      .classes = kClasses};
}  // namespace ruv::family
