// TrainSequence: a text to learn, as token ids. Its batches: as many whole sequences in one step as
// have room.
#pragma once

#include "device/batch_builder.h"
#include "train/token_loss.h"

namespace ruv {

// A conversation learns the answers alone, a plain text every token.
struct TrainSequence {
  std::vector<int32_t> tokens;
  // By token: how much it counts that it is predicted from those before it, at least 0; 0: it is
  // not learned. Empty: 1 for all. Nothing comes before the first token, so its weight is not read.
  std::vector<float> weights = {};

  float weight(size_t i) const { return i == 0 ? 0 : weights.empty() ? 1 : weights[i]; }
  bool learns(size_t i) const { return weight(i) > 0; }
  // How many tokens are to be predicted.
  int64_t n_targets() const;
  // Σ of their weights, by which the sum of their losses is divided.
  double weight_sum() const;
};

// What is read of a step: logits from the first target to the last, the same of hidden states, or
// hidden states of all tokens.
enum class OutputRows : uint8_t { logits, logits_and_hidden, hidden };

// Where the outputs of a sequence are.
struct SequenceRows {
  size_t number = 0;  // of the sequence
  int64_t first = 0, n = 0;
};

// Sequences in one step, and the token that each row of its logits should give.
struct TrainBatch {
  BatchBuilder rows;
  std::vector<int32_t> targets;  // without logits: none
  std::vector<float> weights;    // of the targets
  std::vector<SequenceRows> sequences;
};

// Steps of at most max_rows rows. A sequence has rows up to the token before its last target, or
// where hidden states are read all. `together` sequences after each other share a step. Those with
// many rows choose their step first, each the step that it fills best, so that few rows stay empty;
// in a step sequences keep their order. Fails: invalid, naming the sequence: longer than a step, a
// token that is not one of n_vocab, weights of another number, or not at least 0; too many rows
// together.
struct BatchLimits {
  int64_t max_rows = 0;
  int64_t n_vocab = 0;
  int64_t together = 1;
  OutputRows reads = OutputRows::logits;
};
// `adapters`: which all sequences are computed with, and which must outlive the batches.
Result<std::vector<TrainBatch>> make_batches(std::span<const TrainSequence> sequences,
                                             const BatchLimits& limits, AdapterMix adapters = {});

// In which order n sequences are learned, again and again: a random one for each round, of the seed
// and the round alone, so that a run can be resumed at any step.
class SequenceOrder {
 public:
  SequenceOrder(size_t n, uint64_t seed) : n_(n), seed_(seed) {}
  // The sequence at place `i` of all rounds. Requires: n > 0.
  size_t at(uint64_t i);

 private:
  size_t n_;
  uint64_t seed_;
  uint64_t round_ = 0;
  std::vector<size_t> order_;  // of the round
};

// A long text cut to sequences of n tokens that predict n - 1, each beginning with the last token
// of the one before.
std::vector<TrainSequence> cut_text(std::span<const int32_t> tokens, size_t n);

}  // namespace ruv
