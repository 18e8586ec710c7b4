// BaseRows: the numbers of a model's matrices as its file has them, row by row in the decoder's
// order. Packed weights are in a form for multiplying; where a row itself is wanted, binding is run
// once more on the same file with a source that packs nothing.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

class BaseRows {
 public:
  // `model` must outlive the result. Costs memory for the addresses of all rows, and for copies of
  // matrices that are stored transposed. Fails: as bind_weights.
  static Result<BaseRows> create(const Model& model, WorkerPool& pool);

  // As Model and its layers have them, but plain rows. Roles of experts have none.
  const Weight& of(int64_t layer, Role role) const {
    return plain_->layers[static_cast<size_t>(layer)][role].weight;
  }
  const Weight& output() const { return plain_->output; }
  const Weight& token_embd() const { return plain_->token_embd; }
  // Requires: `to` holds matrix.n_in numbers. Any thread.
  void decode(const Weight& matrix, int64_t row, float* to) const;

 private:
  explicit BaseRows(std::unique_ptr<Model> plain) : plain_(std::move(plain)) {}

  std::unique_ptr<Model> plain_;
};

}  // namespace ruv
