// In the order in which BERT applies them (Devlin et al., 2018, and its published code).
#include "format/bert_steps.h"

#include "text/split/schemes.h"

namespace ruv {

std::vector<NormalizerStep> bert_normalizers(const BertNormalization& wanted) {
  std::vector<NormalizerStep> steps;
  const auto add = [&](bool is_wanted, NormalizerKind kind) {
    if (is_wanted) steps.push_back({.kind = kind});
  };
  add(wanted.clean_text, NormalizerKind::clean_text);
  add(wanted.space_ideographs, NormalizerKind::space_ideographs);
  add(wanted.strip_accents, NormalizerKind::nfd);
  add(wanted.strip_accents, NormalizerKind::strip_accents);
  add(wanted.lowercase, NormalizerKind::lowercase);
  return steps;
}

std::vector<SplitStep> bert_splits() {
  return {{.regex = "\\s+", .behavior = SplitBehavior::removed},
          {.regex = std::string(patterns::kPunctuationSign), .behavior = SplitBehavior::isolated}};
}

}  // namespace ruv
