// ExactModel: a model's logits in float32 throughout: weights as they decode, activations that are
// not rounded, keys and values that are not stored in fewer bits. It is what scores are compared by
// across programs; inference is faster and rounds more.
#pragma once

#include <functional>

#include "base/worker_pool.h"
#include "model/decoder.h"
#include "train/train_device.h"

namespace ruv {

class ExactModel {
 public:
  // n_threads: 0: one per core. Fails: as load_model.
  static Result<std::unique_ptr<ExactModel>> create(const std::string& path, int n_threads);

  // Calls f(i, logits after token i) for i from `first` to the last of the tokens. Memory is that
  // of the longest text so far. Fails: invalid (no tokens, one beyond the vocabulary), unsupported
  // (by the name of an operation that training devices do not have), out_of_memory.
  using Taker = std::function<void(int64_t, std::span<const float>)>;
  Status each_logits(std::span<const int32_t> tokens, int64_t first, const Taker& f);

 private:
  explicit ExactModel(int n_threads) : pool_(n_threads), device_(make_train_device<float>()) {}
  // Makes room for a step of n_rows rows, of which n_logits have logits.
  Status reserve(int64_t n_rows, int64_t n_logits);

  WorkerPool pool_;
  std::shared_ptr<TrainDevice<float>> device_;
  std::shared_ptr<const Model> model_;
  std::optional<Activations> activations_;
  int64_t max_rows_ = 0, max_logits_ = 0;  // that have room in them
  std::unique_ptr<Ops> ops_;
};

}  // namespace ruv
