// Jina Embeddings 3: XLM-R with rotary positions.
#include "family/families.h"
#include "family/rotary_encoder.h"

namespace ruv::family {
namespace {
constexpr auto kNames = rotary_encoder_names(
    {{"blk.{}.ffn_up", "layers.{}.mlp.fc1"}, {"blk.{}.ffn_down", "layers.{}.mlp.fc2"}});

constexpr HfClass hf_class() {
  HfClass hf = kRotaryEncoderClass;
  hf.model_type = "jina_embeddings_v3";
  hf.class_names = "JinaEmbeddingsV3Model JinaEmbeddingsV3ForMaskedLM";
  hf.norm_eps = 1e-5;
  hf.max_positions = 8194;
  hf.n_heads = 16;
  hf.rope_base = 20000;
  hf.classifier = {.class_names = "JinaEmbeddingsV3ForSequenceClassification",
                   .dense = "classifier.dense",
                   .out = "classifier.out_proj",
                   .act = "tanh"};
  return hf;
}
constexpr HfClass kClasses[] = {hf_class()};

constexpr BlockSpec block() {
  BlockSpec block = kRotaryEncoderBlock;
  block.qkv_bias = block.all_bias = true;
  block.gated = false;
  block.act = Act::gelu;
  return block;
}
}  // namespace

constinit const FamilyRecord jina_bert_v3 =
    encoder_record({.name = "jina-bert-v3",
                    .published = "Jina Embeddings 3, without its adapters",
                    .block = block(),
                    .own_names = kNames,
                    .head_prefixes = "roberta.",
                    .classes = kClasses});
}  // namespace ruv::family
