// Scores that a classifier gives a text or a pair of texts: one for each label. Cross-encoders
// (rerankers) are classifiers of pairs with one label.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ruv/model.h"

namespace ruv {

struct ClassifierInfo {
  int64_t n_labels = 0;
  std::vector<std::string> labels = {};  // their names; empty: the model's files have none
  bool of_mean = false;                  // scores are of the mean of all states, not of the first
};
// Fails: unsupported (the model has no classifier).
Result<ClassifierInfo> classifier_info(const Model& model);

// The scores of a hidden state (n_embd): numbers before any softmax or sigmoid. The same bytes on
// every machine. Requires: the model has a classifier.
std::vector<float> class_scores(const Model& model, std::span<const float> state);

}  // namespace ruv
