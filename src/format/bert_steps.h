// BERT's normalisation and splitting, expressed as steps of a TokenizerSpec.
#pragma once

#include <vector>

#include "text/tokenizer_spec.h"

namespace ruv {

struct BertNormalization {
  bool clean_text = true;
  bool space_ideographs = true;
  bool strip_accents = true;
  bool lowercase = true;
};

std::vector<NormalizerStep> bert_normalizers(const BertNormalization& wanted);
// White space is dropped; each punctuation character is a word of its own.
std::vector<SplitStep> bert_splits();

}  // namespace ruv
