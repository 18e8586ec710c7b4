#include "train/exact_model.h"

#include <algorithm>
#include <bit>

#include "device/batch_builder.h"

namespace ruv {

// Draft heads have no part in the model's own logits.
Result<std::unique_ptr<ExactModel>> ExactModel::create(const std::string& path, int n_threads) {
  std::unique_ptr<ExactModel> exact(new ExactModel(n_threads));
  LoadOptions load;
  load.n_threads = n_threads;
  load.draft_head = false;
  exact->model_ = TRY(load_model_on(exact->device_, path, load));
  exact->ops_ = exact->device_->make_ops(exact->pool_);
  return exact;
}

// Sizes are doubled, so that longer and longer texts do not allocate each time.
Status ExactModel::reserve(int64_t n_rows, int64_t n_logits) {
  if (n_rows <= max_rows_ && n_logits <= max_logits_) return {};
  const auto room = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  const int64_t rows = std::max(max_rows_, room(n_rows));
  const int64_t logits = std::max(max_logits_, room(n_logits));
  activations_.reset();
  max_rows_ = max_logits_ = 0;
  activations_ = TRY(Activations::create(*model_, rows, logits));
  max_rows_ = rows;
  max_logits_ = logits;
  return {};
}

// A step without recording: nothing is kept of it.
Status ExactModel::each_logits(std::span<const int32_t> tokens, int64_t first, const Taker& f) {
  const int64_t n = std::ssize(tokens);
  const int64_t n_vocab = model_->h.n_vocab;
  if (first < 0 || first >= n) {
    return fail(Code::invalid, "no logits from token {} of {} on", first, n);
  }
  const auto is_unknown = [n_vocab](int32_t token) { return token < 0 || token >= n_vocab; };
  if (std::ranges::any_of(tokens, is_unknown)) {
    return fail(Code::invalid, "a token is not one of the vocabulary of {}", n_vocab);
  }
  BatchBuilder rows;
  rows.begin_sequence(0, {});
  rows.add(tokens);
  rows.want_logits(n - first);
  TRY(reserve(n, n - first));
  device_->forgive();
  const auto output = decode(*ops_, *model_, rows.batch(), *activations_, max_rows_);
  TRY(device_->failure());
  const Adjoined<float> logits = device_->memory().numbers(output->logits, false);
  for (int64_t i = 0; i < logits.n_rows; ++i) {
    f(first + i, {logits.row(i), static_cast<size_t>(logits.n_cols)});
  }
  return {};
}

}  // namespace ruv
