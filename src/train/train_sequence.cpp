#include "train/train_sequence.h"

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace ruv {
namespace {

// What a batch cannot hold is refused before anything is computed.
Status check(const TrainSequence& sequence, size_t number, const BatchLimits& limits) {
  const auto& [max_rows, n_vocab] = limits;
  const auto n = std::ssize(sequence.tokens);
  if (n - 1 > max_rows) {
    return fail(Code::invalid, "training: sequence {} has {} tokens; a step has at most {}", number,
                n, max_rows + 1);
  }
  if (!sequence.learned.empty() && std::ssize(sequence.learned) != n) {
    return fail(Code::invalid,
                "training: sequence {} has {} tokens and says of {} whether they are "
                "learned",
                number, n, sequence.learned.size());
  }
  for (const int32_t token : sequence.tokens) {
    if (token < 0 || token >= n_vocab) {
      return fail(Code::invalid, "training: sequence {} has token {}; there are {}", number, token,
                  n_vocab);
    }
  }
  return {};
}

// Its rows up to the last target, and their logits from the first one on.
void add(const TrainSequence& sequence, AdapterMix adapters, TrainBatch& batch) {
  const auto n = sequence.tokens.size();
  size_t first = 1;
  while (first < n && !sequence.learns(first)) ++first;
  size_t last = n - 1;
  while (last > first && !sequence.learns(last)) --last;
  batch.rows.begin_sequence(0, {});
  batch.rows.set_adapters(adapters);
  batch.rows.add(std::span(sequence.tokens).first(last));
  batch.rows.want_logits(static_cast<int64_t>(last - first + 1));
  for (size_t i = first; i <= last; ++i) {
    batch.targets.push_back(sequence.learns(i) ? sequence.tokens[i] : kNoTarget);
  }
}

}  // namespace

int64_t TrainSequence::n_targets() const {
  int64_t n = 0;
  for (size_t i = 0; i < tokens.size(); ++i) n += learns(i) ? 1 : 0;
  return n;
}

// A sequence without targets would be computed in vain.
Result<std::vector<TrainBatch>> make_batches(std::span<const TrainSequence> sequences,
                                             const BatchLimits& limits, AdapterMix adapters) {
  std::vector<TrainBatch> batches;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const TrainSequence& sequence = sequences[i];
    TRY(check(sequence, i, limits));
    if (sequence.n_targets() == 0) continue;
    const auto n_rows = std::ssize(sequence.tokens) - 1;
    if (batches.empty() || batches.back().rows.n_rows() + n_rows > limits.max_rows) {
      batches.emplace_back();
    }
    add(sequence, adapters, batches.back());
  }
  return batches;
}

// Fisher and Yates.
size_t SequenceOrder::at(uint64_t i) {
  const uint64_t round = i / n_;
  if (order_.empty() || round != round_) {
    round_ = round;
    order_.resize(n_);
    std::iota(order_.begin(), order_.end(), size_t{0});
    Rng rng(seed_ ^ (round * 0x9E3779B97F4A7C15ULL));
    for (size_t k = n_; k > 1; --k) std::swap(order_[k - 1], order_[rng.below(k)]);
  }
  return order_[i % n_];
}

// A last part of one token predicts nothing.
std::vector<TrainSequence> cut_text(std::span<const int32_t> tokens, size_t n) {
  std::vector<TrainSequence> sequences;
  for (size_t at = 0; at + 1 < tokens.size(); at += n - 1) {
    const auto part = tokens.subspan(at, std::min(n, tokens.size() - at));
    sequences.push_back({{part.begin(), part.end()}});
  }
  return sequences;
}

}  // namespace ruv
