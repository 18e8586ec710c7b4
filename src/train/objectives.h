// Objectives of training beside the cross entropy of tokens. Each is of one step: what it takes by
// sequence has the order of the step's sequences and must outlive it.
#pragma once

#include "train/contrastive_loss.h"
#include "train/parameters.h"
#include "train/policy_loss.h"
#include "train/preference_loss.h"
#include "train/step_objective.h"
#include "train/teacher.h"

namespace ruv {

// Log-probabilities of sequences' tokens, as Trainer::log_probs has them.
using SequenceLogs = std::vector<std::vector<double>>;

// Pairs: sequences 2i are chosen, 2i + 1 rejected. Log-probabilities of an answer are those of its
// targets times their weights. The loss is a mean over pairs.
class DpoObjective final : public StepObjective {
 public:
  DpoObjective(const DpoNumbers& numbers, const SequenceLogs& reference)
      : numbers_(numbers), reference_(&reference) {}
  int64_t n_together(int64_t) const override { return 2; }
  Result<double> add(const TrainPart& part) override;

 private:
  DpoNumbers numbers_;
  const SequenceLogs* reference_;
};

// Pairs as those of DpoObjective; a reward is head · hidden state of the last token.
class RewardObjective final : public StepObjective {
 public:
  RewardObjective(const Parameter<float>& head, int64_t n_pairs)
      : head_(&head), n_pairs_(n_pairs) {}
  OutputRows reads() const override { return OutputRows::hidden; }
  int64_t n_together(int64_t) const override { return 2; }
  Result<double> add(const TrainPart& part) override;

 private:
  const Parameter<float>* head_;
  int64_t n_pairs_;
};

// Answers that were drawn, by sequence.
struct DrawnAnswers {
  std::vector<double> advantages;  // of whole answers
  SequenceLogs old, reference;
};

// The mean over answers of the mean over their targets, by weights (Shao et al., 2024).
class GrpoObjective final : public StepObjective {
 public:
  GrpoObjective(const PolicyNumbers& numbers, const DrawnAnswers& answers)
      : numbers_(numbers), answers_(&answers) {}
  Result<double> add(const TrainPart& part) override;

 private:
  PolicyNumbers numbers_;
  const DrawnAnswers* answers_;
};

struct PpoNumbers {
  PolicyNumbers policy = {};
  AdvantageNumbers advantage = {};
  double value_weight = 0.1;  // of the loss of values beside that of the policy
};

// The last target of an answer has its advantage as a reward, and each target what leaving the
// reference costs: -kl · (old - reference). Values are head · hidden state, as they are in the
// step, and advantages are made of both. The loss is a mean over the targets of the step: of the
// clipped policy, and of half the squares of (value - its target), where a target is advantage +
// value.
class PpoObjective final : public StepObjective {
 public:
  // `n_targets`: of the step.
  PpoObjective(const PpoNumbers& numbers, const DrawnAnswers& answers, const Parameter<float>& head,
               int64_t n_targets)
      : numbers_(numbers), answers_(&answers), head_(&head), n_targets_(n_targets) {}
  OutputRows reads() const override { return OutputRows::logits_and_hidden; }
  Result<double> add(const TrainPart& part) override;

 private:
  PpoNumbers numbers_;
  const DrawnAnswers* answers_;
  const Parameter<float>* head_;
  int64_t n_targets_;
};

// An anchor, a text that belongs to it, and others that do not, as numbers of sequences.
struct ContrastGroup {
  int64_t anchor = 0, positive = 0;
  std::vector<int64_t> negatives = {};
};
struct ContrastNumbers {
  bool is_triplet = false;    // else InfoNCE over the positives and negatives of the whole step
  bool pools_last = false;    // the last token is the embedding, else the mean of all
  double margin = 0.5;        // of triplets: how far apart is enough
  double temperature = 0.07;  // of InfoNCE: less looks at the nearest alone
};
// The mean over groups, or over all negatives of triplets. The step must fit into one part.
class ContrastObjective final : public StepObjective {
 public:
  ContrastObjective(const ContrastNumbers& numbers, std::span<const ContrastGroup> groups)
      : numbers_(numbers), groups_(groups) {}
  OutputRows reads() const override { return OutputRows::hidden; }
  int64_t n_together(int64_t n) const override { return n; }
  Result<double> add(const TrainPart& part) override;

 private:
  double add_losses(Embeddings& embeddings) const;

  ContrastNumbers numbers_;
  std::span<const ContrastGroup> groups_;
};

// What a teacher says of the same tokens, as a mean by the weights of targets.
class DistillObjective final : public StepObjective {
 public:
  DistillObjective(Teacher& teacher, std::span<const TrainSequence> sequences, double temperature);
  Result<double> add(const TrainPart& part) override;

 private:
  Teacher* teacher_;
  std::span<const TrainSequence> sequences_;
  double temperature_, scale_;
};

}  // namespace ruv
