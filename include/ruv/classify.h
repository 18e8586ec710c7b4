// Scores of a text or a pair of texts, one for each label; cross-encoders rank pairs by one label.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ruv/model.h"
#include "ruv/pooling.h"

namespace ruv {

struct ClassifierInfo {
  int64_t n_labels = 0;
  std::vector<std::string> labels = {};  // their names; empty: the model's files have none
  // What is scored of the states: the first one, the last one or the mean; none: each of them.
  Pooling pooling = Pooling::cls;
};
// Fails: unsupported (the model has no classifier).
Result<ClassifierInfo> classifier_info(const Model& model);

// The scores of a hidden state (n_embd), or of several, one after another, the mean of theirs:
// numbers before any softmax or sigmoid. The same bytes on every machine. Requires: the model has a
// classifier; there is a state.
std::vector<float> class_scores(const Model& model, std::span<const float> states);

}  // namespace ruv
