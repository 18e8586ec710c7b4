// Nomic-BERT: BERT with rotary positions, a gated feed-forward and no biases.
#include "family/families.h"
#include "family/rotary_encoder.h"

namespace ruv::family {
namespace {
constexpr auto kNames = rotary_encoder_names(kGatedEncoderNames);

constexpr HfClass hf_class() {
  HfClass hf = kRotaryEncoderClass;
  hf.model_type = "nomic_bert";
  hf.class_names = "NomicBertModel NomicBertForMaskedLM";
  hf.act = "silu";
  hf.max_positions = 2048;
  hf.null_head_dim = true;
  hf.rope_base = 1000;
  hf.token_types = 2;
  hf.classifier.class_names = "NomicBertForSequenceClassification";
  return hf;
}
constexpr HfClass kClasses[] = {hf_class()};
}  // namespace

constinit const FamilyRecord nomic_bert = encoder_record({.name = "nomic-bert",
                                                          .published = "Nomic Embed Text 1 and 1.5",
                                                          .block = kRotaryEncoderBlock,
                                                          .own_names = kNames,
                                                          .head_prefixes = "nomic_bert.",
                                                          .classes = kClasses});
}  // namespace ruv::family
