#include "train/train_sequence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "base/rng.h"

namespace ruv {
namespace {

// What a batch cannot hold is refused before anything is computed.
Status check(const TrainSequence& sequence, size_t number, const BatchLimits& limits) {
  const int64_t max_rows = limits.max_rows;
  const int64_t n_vocab = limits.n_vocab;
  const auto n = std::ssize(sequence.tokens);
  if (n - 1 > max_rows) {
    return fail(Code::invalid, "training: sequence {} has {} tokens; a step has at most {}", number,
                n, max_rows + 1);
  }
  if (!sequence.weights.empty() && std::ssize(sequence.weights) != n) {
    return fail(Code::invalid, "training: sequence {} has {} weights for {} tokens", number,
                sequence.weights.size(), n);
  }
  for (const float weight : sequence.weights) {
    if (std::isfinite(weight) && weight >= 0) continue;
    return fail(Code::invalid, "training: sequence {} has a weight of {}", number, weight);
  }
  for (const int32_t token : sequence.tokens) {
    if (token < 0 || token >= n_vocab) {
      return fail(Code::invalid, "training: sequence {} has token {}; there are {}", number, token,
                  n_vocab);
    }
  }
  return {};
}

// The first and the last target. Requires: there is one.
std::pair<size_t, size_t> ends_of_targets(const TrainSequence& sequence) {
  size_t first = 1;
  while (!sequence.learns(first)) ++first;
  size_t last = sequence.tokens.size() - 1;
  while (!sequence.learns(last)) --last;
  return {first, last};
}

// The rows that a sequence has; 0: nothing of it is wanted.
int64_t rows_of(const TrainSequence& sequence, OutputRows reads) {
  if (reads == OutputRows::hidden) return std::ssize(sequence.tokens);
  return sequence.n_targets() > 0 ? static_cast<int64_t>(ends_of_targets(sequence).second) : 0;
}

// Its rows up to the last target, and their outputs from the first one on; or all.
void add(const TrainSequence& sequence, size_t number, AdapterMix adapters, OutputRows reads,
         TrainBatch& batch) {
  batch.rows.begin_sequence(0, {});
  batch.rows.set_adapters(adapters);
  if (reads == OutputRows::hidden) {
    const auto n = std::ssize(sequence.tokens);
    batch.rows.add(sequence.tokens);
    batch.sequences.push_back({number, batch.rows.want_hidden(n), n});
    return;
  }
  const auto [first, last] = ends_of_targets(sequence);
  const auto n = static_cast<int64_t>(last - first + 1);
  batch.rows.add(std::span(sequence.tokens).first(last));
  batch.sequences.push_back({number, batch.rows.want_logits(n), n});
  if (reads == OutputRows::logits_and_hidden) batch.rows.want_hidden(n);
  for (size_t i = first; i <= last; ++i) {
    batch.targets.push_back(sequence.learns(i) ? sequence.tokens[i] : kNoTarget);
    batch.weights.push_back(sequence.weight(i));
  }
}

// Which sequences share a step, as ascending numbers: the longest that has no step yet goes to the
// step with the least room that has enough (best fit decreasing; Johnson, 1973). Steps are in the
// order of their first sequences.
std::vector<std::vector<size_t>> share_steps(std::span<const int64_t> n_rows, int64_t max_rows) {
  std::vector<size_t> by_length;
  for (size_t i = 0; i < n_rows.size(); ++i) {
    if (n_rows[i] > 0) by_length.push_back(i);
  }
  std::ranges::stable_sort(by_length, std::greater(), [&](size_t i) { return n_rows[i]; });
  std::vector<std::vector<size_t>> steps;
  std::multimap<int64_t, size_t> by_room;
  for (const size_t i : by_length) {
    const auto found = by_room.lower_bound(n_rows[i]);
    size_t step = steps.size();
    int64_t room = max_rows;
    if (found != by_room.end()) {
      std::tie(room, step) = *found;
      by_room.erase(found);
    } else {
      steps.emplace_back();
    }
    steps[step].push_back(i);
    by_room.emplace(room - n_rows[i], step);
  }
  for (std::vector<size_t>& step : steps) std::ranges::sort(step);
  std::ranges::sort(steps, {}, [](const std::vector<size_t>& step) { return step.front(); });
  return steps;
}

}  // namespace

int64_t TrainSequence::n_targets() const {
  int64_t n = 0;
  for (size_t i = 0; i < tokens.size(); ++i) n += learns(i) ? 1 : 0;
  return n;
}

double TrainSequence::weight_sum() const {
  double sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i) sum += double{weight(i)};
  return sum;
}

// A sequence without targets would be computed in vain.
Result<std::vector<TrainBatch>> make_batches(std::span<const TrainSequence> sequences,
                                             const BatchLimits& limits, AdapterMix adapters) {
  const auto together = static_cast<size_t>(limits.together);
  std::vector<int64_t> n_rows;
  for (size_t i = 0; i < sequences.size(); ++i) {
    TRY(check(sequences[i], i, limits));
    if (i % together == 0) n_rows.push_back(0);
    n_rows.back() += rows_of(sequences[i], limits.reads);
    if (n_rows.back() > limits.max_rows) {
      return fail(Code::invalid,
                  "training: sequences {} to {}, whose loss is one, have {} rows together; a step "
                  "has at most {}",
                  i / together * together, i, n_rows.back(), limits.max_rows);
    }
  }
  std::vector<TrainBatch> batches;
  for (const std::vector<size_t>& step : share_steps(n_rows, limits.max_rows)) {
    batches.emplace_back();
    for (const size_t group : step) {
      const size_t end = std::min((group + 1) * together, sequences.size());
      for (size_t i = group * together; i < end; ++i) {
        if (rows_of(sequences[i], limits.reads) == 0) continue;
        add(sequences[i], i, adapters, limits.reads, batches.back());
      }
    }
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
