#include "engine/hidden_pool.h"

#include <algorithm>

namespace ruv {

HiddenPool::HiddenPool(Pooling pooling, int64_t n_tokens, int64_t n_embd)
    : pooling_(pooling), n_tokens_(n_tokens), n_embd_(static_cast<size_t>(n_embd)) {
  const bool sums = pooling == Pooling::mean || pooling == Pooling::weighted_mean;
  if (sums) sum_.resize(n_embd_);
  out_.resize(n_embd_ * (pooling == Pooling::none ? static_cast<size_t>(n_tokens) : 1));
}

// The first token's state comes with those of its whole step, which only a norm more makes of them.
int64_t HiddenPool::n_wanted(Range tokens) const {
  const int64_t n = tokens.end - tokens.begin;
  switch (pooling_) {
    case Pooling::cls:
      return tokens.begin == 0 ? n : 0;
    case Pooling::last:
      return tokens.end == n_tokens_ ? 1 : 0;
    default:
      return n;
  }
}

void HiddenPool::add(Range tokens, HostRows states) {
  for (int64_t i = 0; i < states.n_rows; ++i) {
    add_row(tokens.end - states.n_rows + i, states.row(i));
  }
}

void HiddenPool::add_row(int64_t token, const float* state) {
  if (!sum_.empty()) {
    const double weight = pooling_ == Pooling::mean ? 1 : static_cast<double>(token + 1);
    for (size_t i = 0; i < n_embd_; ++i) sum_[i] += weight * double{state[i]};
    return;
  }
  if (pooling_ == Pooling::cls && token != 0) return;
  const size_t row = pooling_ == Pooling::none ? static_cast<size_t>(token) : 0;
  std::copy_n(state, n_embd_, out_.data() + row * n_embd_);
}

void HiddenPool::clear() { std::ranges::fill(sum_, 0); }

std::vector<float> HiddenPool::take() {
  if (!sum_.empty()) {
    const auto n = static_cast<double>(n_tokens_);
    const double weights = pooling_ == Pooling::mean ? n : n * (n + 1) / 2;
    for (size_t i = 0; i < n_embd_; ++i) out_[i] = static_cast<float>(sum_[i] / weights);
  }
  return std::move(out_);
}

}  // namespace ruv
