// GTE (multilingual, v1.5): BERT with rotary positions and a gated feed-forward of which only the
// last matrix has biases. Other programs have no GGUF files of it.
#include "family/families.h"
#include "family/rotary_encoder.h"

namespace ruv::family {
namespace {
constexpr auto kNames = rotary_encoder_names(kGatedEncoderNames);

constexpr HfClass hf_class() {
  HfClass hf = kRotaryEncoderClass;
  hf.model_type = "gte";
  hf.class_names = "GteModel GteForMaskedLM";
  hf.max_positions = 8192;
  hf.rope_base = 160000;
  hf.classifier.class_names = "GteForSequenceClassification";
  return hf;
}
constexpr HfClass kClasses[] = {hf_class()};

constexpr BlockSpec block() {
  BlockSpec block = kRotaryEncoderBlock;
  block.qkv_bias = block.down_bias = block.output_bias = true;
  block.act = Act::gelu;
  return block;
}
}  // namespace

constinit const FamilyRecord gte =
    encoder_record({.name = "gte",
                    .published = "GTE multilingual base, GTE en v1.5",
                    .block = block(),
                    .own_names = kNames,
                    .head_prefixes = "gte.",
                    .classes = kClasses});
}  // namespace ruv::family
