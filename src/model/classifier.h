// Classifier: what makes scores of a hidden state, on the host.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "format/sentence_files.h"
#include "ruv/classify.h"

namespace ruv {

class WeightSource;

// The function between the two matrices.
enum class HeadAct : uint8_t { none, tanh, relu, gelu };

struct Classifier {
  ClassifierInfo info;
  // (n_embd, n_embd); empty: there is one matrix only.
  std::vector<float> dense, dense_bias;
  HeadAct act = HeadAct::none;
  std::vector<float> norm;  // layer norm after the activation; empty: none
  float norm_eps = 0;
  std::vector<float> out, out_bias;  // (n_labels, n_embd)
};

// Scores of the last state as logits of one token, less those of another where there is one. Fails:
// unsupported (the output is more than a matrix), corrupt (no such token), not_found.
Result<std::shared_ptr<const Classifier>> token_classifier(const Model& model,
                                                           const LogitScore& tokens);

// The classifier of a model's file. Fails: not_found, corrupt, unsupported, naming the tensor or
// key.
Result<std::shared_ptr<const Classifier>> bind_classifier(const Model& model, WeightSource& source);

}  // namespace ruv
