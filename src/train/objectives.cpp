#include "train/objectives.h"

#include <algorithm>

#include "train/distill_loss.h"
#include "train/log_probs.h"

namespace ruv {
namespace {

bool learns(const TrainPart& part) {
  return part.logits.adjoints != nullptr || part.hidden.adjoints != nullptr;
}

// head · a hidden state.
double head_value(const Parameter<float>& head, const float* hidden) {
  double sum = 0;
  for (size_t i = 0; i < head.values.size(); ++i) sum += double{head.values[i]} * double{hidden[i]};
  return sum;
}

// Adds `factor` times the derivative of that to the head and the hidden state.
void add_head_gradient(const Parameter<float>& head, const float* hidden, float* adjoint,
                       double factor) {
  for (size_t i = 0; i < head.values.size(); ++i) {
    head.gradient[i] += static_cast<float>(factor * double{hidden[i]});
    adjoint[i] += static_cast<float>(factor * double{head.values[i]});
  }
}

// Σ weight · x over a sequence's targets.
double weighted_sum(const TrainPart& part, const SequenceRows& rows, std::span<const double> x) {
  double sum = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    sum +=
        double{part.batch.weights[static_cast<size_t>(rows.first + i)]} * x[static_cast<size_t>(i)];
  }
  return sum;
}

std::span<const double> part_of(const std::vector<double>& all, const SequenceRows& rows) {
  return std::span(all).subspan(static_cast<size_t>(rows.first), static_cast<size_t>(rows.n));
}

TokenLogProbs logs_of(const DrawnAnswers& answers, const SequenceRows& rows, int64_t i,
                      double now) {
  const auto at = static_cast<size_t>(i);
  return {now, answers.old[rows.number][at], answers.reference[rows.number][at]};
}

bool has_target(const TrainPart& part, int64_t row) {
  return part.batch.targets[static_cast<size_t>(row)] != kNoTarget;
}

}  // namespace

// Pairs lie in one part, in their order.
Result<double> DpoObjective::add(const TrainPart& part) {
  const auto logs = target_log_probs(part.logits, part.batch.targets, part.pool);
  const double scale = 2 / static_cast<double>(reference_->size());
  std::vector<double> factors(logs.size(), 0);
  double loss = 0;
  const std::vector<SequenceRows>& all = part.batch.sequences;
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].number % 2 != 0 || all[i + 1].number != all[i].number + 1) {
      return fail(Code::invalid, "training: an answer of a pair has no token to learn");
    }
    const auto sum_of = [&](const SequenceRows& rows, const std::vector<double>& from, bool here) {
      return weighted_sum(part, rows, here ? part_of(from, rows) : std::span(from));
    };
    const PairLogProbs pair{sum_of(all[i], logs, true), sum_of(all[i + 1], logs, true),
                            sum_of(all[i], (*reference_)[all[i].number], false),
                            sum_of(all[i + 1], (*reference_)[all[i + 1].number], false)};
    const PairLoss found = dpo_loss(pair, numbers_);
    loss += scale * found.loss;
    for (const auto& [rows, by] :
         {std::pair(all[i], found.by_chosen), std::pair(all[i + 1], found.by_rejected)}) {
      for (auto row = static_cast<size_t>(rows.first);
           row < static_cast<size_t>(rows.first + rows.n); ++row) {
        factors[row] = scale * by * double{part.batch.weights[row]};
      }
    }
  }
  if (learns(part)) add_log_prob_gradient(part.logits, part.batch.targets, factors, part.pool);
  return loss;
}

Result<double> RewardObjective::add(const TrainPart& part) {
  const double scale = 1 / static_cast<double>(n_pairs_);
  const std::vector<SequenceRows>& all = part.batch.sequences;
  double loss = 0;
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    const int64_t chosen = all[i].first + all[i].n - 1;
    const int64_t rejected = all[i + 1].first + all[i + 1].n - 1;
    const PairLoss found = reward_loss(head_value(*head_, part.hidden.row(chosen)),
                                       head_value(*head_, part.hidden.row(rejected)));
    loss += scale * found.loss;
    if (!learns(part)) continue;
    add_head_gradient(*head_, part.hidden.row(chosen), part.hidden.adjoint(chosen),
                      scale * found.by_chosen);
    add_head_gradient(*head_, part.hidden.row(rejected), part.hidden.adjoint(rejected),
                      scale * found.by_rejected);
  }
  return loss;
}

Result<double> GrpoObjective::add(const TrainPart& part) {
  const auto logs = target_log_probs(part.logits, part.batch.targets, part.pool);
  std::vector<double> factors(logs.size(), 0);
  const double of_answers = 1 / static_cast<double>(answers_->advantages.size());
  double loss = 0;
  for (const SequenceRows& rows : part.batch.sequences) {
    double weight = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      weight += double{part.batch.weights[static_cast<size_t>(rows.first + i)]};
    }
    for (int64_t i = 0; i < rows.n; ++i) {
      const auto row = static_cast<size_t>(rows.first + i);
      if (!has_target(part, rows.first + i)) continue;
      const double scale = of_answers * double{part.batch.weights[row]} / weight;
      const TokenLoss found = grpo_loss(logs_of(*answers_, rows, i, logs[row]),
                                        answers_->advantages[rows.number], numbers_);
      loss += scale * found.loss;
      factors[row] = scale * found.by_now;
    }
  }
  if (learns(part)) add_log_prob_gradient(part.logits, part.batch.targets, factors, part.pool);
  return loss;
}

// Values and rewards are of targets alone: rows between them were given.
Result<double> PpoObjective::add(const TrainPart& part) {
  const auto logs = target_log_probs(part.logits, part.batch.targets, part.pool);
  std::vector<double> factors(logs.size(), 0);
  const double scale = 1 / static_cast<double>(n_targets_);
  double loss = 0;
  for (const SequenceRows& sequence : part.batch.sequences) {
    std::vector<int64_t> rows;
    std::vector<double> rewards, values;
    for (int64_t i = 0; i < sequence.n; ++i) {
      const int64_t row = sequence.first + i;
      if (!has_target(part, row)) continue;
      const TokenLogProbs token = logs_of(*answers_, sequence, i, 0);
      rows.push_back(row);
      rewards.push_back(-numbers_.policy.kl * (token.old - token.reference));
      values.push_back(head_value(*head_, part.hidden.row(row)));
    }
    rewards.back() += answers_->advantages[sequence.number];
    const auto advantages = token_advantages(rewards, values, numbers_.advantage);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      const TokenLoss found =
          clipped_policy_loss(logs_of(*answers_, sequence, rows[i] - sequence.first, logs[row]),
                              advantages[i], numbers_.policy.clip);
      const double error = -advantages[i];  // value - (advantage + value)
      loss += scale * (found.loss + numbers_.value_weight * error * error / 2);
      factors[row] = scale * found.by_now;
      if (!learns(part)) continue;
      add_head_gradient(*head_, part.hidden.row(rows[i]), part.hidden.adjoint(rows[i]),
                        scale * numbers_.value_weight * error);
    }
  }
  if (learns(part)) add_log_prob_gradient(part.logits, part.batch.targets, factors, part.pool);
  return loss;
}

double ContrastObjective::add_losses(Embeddings& embeddings) const {
  double loss = 0;
  std::vector<int64_t> candidates;
  double n_triplets = 0;
  for (const ContrastGroup& group : groups_) {
    candidates.push_back(group.positive);
    candidates.insert(candidates.end(), group.negatives.begin(), group.negatives.end());
    n_triplets += static_cast<double>(group.negatives.size());
  }
  const double of_group = 1 / static_cast<double>(groups_.size());
  for (const ContrastGroup& group : groups_) {
    if (!numbers_.is_triplet) {
      loss += of_group * info_nce_loss(embeddings, {group.anchor, group.positive, candidates},
                                       numbers_.temperature, of_group);
      continue;
    }
    for (const int64_t negative : group.negatives) {
      loss += triplet_loss(embeddings, {group.anchor, group.positive, negative}, numbers_.margin,
                           1 / n_triplets) /
              n_triplets;
    }
  }
  return loss;
}

Result<double> ContrastObjective::add(const TrainPart& part) {
  const int64_t width = part.hidden.n_cols;
  const std::vector<SequenceRows>& all = part.batch.sequences;
  Embeddings embeddings{width, {}, {}};
  embeddings.values.resize(all.size() * static_cast<size_t>(width), 0);
  embeddings.gradients = embeddings.values;
  // The rows that an embedding is the mean of.
  const auto pooled = [&](const SequenceRows& rows) {
    return numbers_.pools_last ? SequenceRows{rows.number, rows.first + rows.n - 1, 1} : rows;
  };
  for (const SequenceRows& sequence : all) {
    const SequenceRows rows = pooled(sequence);
    double* const to = embeddings.values.data() + rows.number * static_cast<size_t>(width);
    for (int64_t i = rows.first; i < rows.first + rows.n; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        to[c] += double{part.hidden.row(i)[c]} / static_cast<double>(rows.n);
      }
    }
  }
  const double loss = add_losses(embeddings);
  if (!learns(part)) return loss;
  for (const SequenceRows& sequence : all) {
    const SequenceRows rows = pooled(sequence);
    const double* const by = embeddings.gradients.data() + rows.number * static_cast<size_t>(width);
    for (int64_t i = rows.first; i < rows.first + rows.n; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        part.hidden.adjoint(i)[c] += static_cast<float>(by[c] / static_cast<double>(rows.n));
      }
    }
  }
  return loss;
}

DistillObjective::DistillObjective(Teacher& teacher, std::span<const TrainSequence> sequences,
                                   double temperature)
    : teacher_(&teacher), sequences_(sequences), temperature_(temperature) {
  double weight = 0;
  for (const TrainSequence& sequence : sequences) weight += sequence.weight_sum();
  scale_ = 1 / weight;
}

// The teacher's part has the same sequences, and so the same rows.
Result<double> DistillObjective::add(const TrainPart& part) {
  std::vector<TrainSequence> same;
  for (const SequenceRows& rows : part.batch.sequences) same.push_back(sequences_[rows.number]);
  const Adjoined<float> logits = TRY(teacher_->logits(same));
  return scale_ * distill_loss(part.logits, logits, {part.batch.targets, part.batch.weights},
                               temperature_, scale_, part.pool);
}

}  // namespace ruv
