// Objectives through a whole model: the gradient of each is that of differences along it, and what
// they learn is what they say.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>

#include "train/objectives.h"
#include "train/trained_heads.h"
#include "train/trainer.h"
#include "train/write_model.h"

namespace ruv::step_objective_test {
namespace {

const std::string kModel = RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf";

// Answers to prompts of three tokens, in pairs.
const std::vector<TrainSequence> kAnswers = {{{3, 14, 15, 9, 2, 6}, {0, 0, 0, 1, 1, 1}},
                                             {{3, 14, 15, 35, 8}, {0, 0, 0, 1, 0.5F}},
                                             {{27, 18, 28, 18, 2}, {0, 0, 0, 1, 1}},
                                             {{27, 18, 28, 4, 5, 9, 4}, {0, 0, 0, 1, 0, 1, 1}}};

std::unique_ptr<Trainer> trainer_with(double rate, bool has_head = false, int64_t max_rows = 64) {
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = max_rows;
  options.rate.peak = rate;
  options.has_head = has_head;
  return *Trainer::create(kModel, options);
}

// (loss(p + εg) - loss(p - εg)) / 2ε is |g|², where g is the gradient at p. A head stays.
void expect_gradient(Trainer& trainer, std::span<const TrainSequence> sequences,
                     StepObjective& objective, const char* name) {
  const Result<StepReport> report = trainer.step(sequences, objective);
  ASSERT_TRUE(report) << name << " " << report.error().message();
  EXPECT_NEAR(*trainer.loss(sequences, objective), report->loss, 1e-6) << name;
  double square = 0;
  std::vector<std::vector<float>> kept;
  for (const Parameter<float>& p : trainer.parameters().all()) {
    kept.emplace_back(p.values.begin(), p.values.end());
    if (&p == trainer.head()) continue;
    for (const float g : p.gradient) square += double{g} * double{g};
  }
  const double epsilon = 2e-3 / std::sqrt(square);
  double losses[2];
  for (int side = 0; side < 2; ++side) {
    const double step = side == 0 ? epsilon : -epsilon;
    for (size_t i = 0; i < kept.size(); ++i) {
      const Parameter<float>& p = trainer.parameters().all()[i];
      if (&p == trainer.head()) continue;
      for (size_t k = 0; k < p.values.size(); ++k) {
        p.values[k] = static_cast<float>(double{kept[i][k]} + step * double{p.gradient[k]});
      }
    }
    losses[side] = *trainer.loss(sequences, objective);
  }
  EXPECT_GT(square, 1e-8) << name;
  EXPECT_NEAR((losses[0] - losses[1]) / (2 * epsilon) / square, 1, 1e-2) << name;
}

// Log-probabilities of a policy that the model has left a little.
SequenceLogs moved(SequenceLogs logs) {
  double by = 0.05;
  for (std::vector<double>& sequence : logs) {
    for (double& x : sequence) x += (by = -by * 0.9);
  }
  return logs;
}

TEST(StepObjective, GradientsAreThoseOfDifferences) {
  const auto trainer = trainer_with(0);
  const SequenceLogs reference = moved(*trainer->log_probs(kAnswers));
  DpoObjective dpo({.beta = 0.5, .smoothing = 0.1}, reference);
  expect_gradient(*trainer, kAnswers, dpo, "dpo");
  const DrawnAnswers drawn{{1, -0.5, 0.25, -1}, moved(reference), reference};
  GrpoObjective grpo({.clip = 0.2, .kl = 0.1}, drawn);
  expect_gradient(*trainer_with(0), kAnswers, grpo, "grpo");
  for (const bool is_triplet : {true, false}) {
    std::vector<ContrastGroup> groups = {{0, 1}, {2, 3}};
    if (is_triplet) groups = {{0, 1, {2}}, {2, 3, {1}}};
    for (const bool pools_last : {true, false}) {
      ContrastObjective contrast({is_triplet, pools_last, 1, 0.5}, groups);
      expect_gradient(*trainer_with(0), kAnswers, contrast, "contrast");
    }
  }
}

// Values are 0 and stay, so that advantages do not depend on the weights.
TEST(StepObjective, GradientsBesideAHead) {
  const auto trainer = trainer_with(0, true);
  const SequenceLogs reference = moved(*trainer->log_probs(kAnswers));
  const DrawnAnswers drawn{{1, -0.5, 0.25, -1}, moved(reference), reference};
  PpoObjective ppo({}, drawn, *trainer->head(), 10);
  expect_gradient(*trainer, kAnswers, ppo, "ppo");
  const auto scorer = trainer_with(0, true);
  for (size_t i = 0; i < scorer->head()->values.size(); ++i) {
    scorer->head()->values[i] = i % 3 == 0 ? 0.5F : -0.25F;
  }
  RewardObjective reward(*scorer->head(), 2);
  expect_gradient(*scorer, kAnswers, reward, "reward");
}

// Heads begin with zeros, and learn what comes two and three tokens later; the model stays.
TEST(StepObjective, DraftHeadsLearnLaterTokens) {
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = 64;
  options.rate.peak = 0.03;
  options.n_draft_heads = 2;
  const auto trainer = *Trainer::create(kModel, options);
  ASSERT_EQ(trainer->parameters().all().size(), 4U) << "a matrix and a bias of each head";
  DraftHeadsObjective objective(*trainer->draft_heads(), trainer->parameters().all(), kAnswers);
  EXPECT_EQ(objective.weight(), 2 * (3 + 1.5 + 2 + 3)) << "all learned tokens are late enough";
  const double model_loss = *trainer->loss(kAnswers);
  const double before = *trainer->loss(kAnswers, objective);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(trainer->step(kAnswers, objective));
  EXPECT_LT(*trainer->loss(kAnswers, objective), before - 1);
  EXPECT_EQ(*trainer->loss(kAnswers), model_loss);
  options.rate.peak = 0;
  const auto still = *Trainer::create(kModel, options);
  for (size_t i = 0; i < 4; ++i) {
    std::ranges::copy(trainer->parameters().all()[i].values,
                      still->parameters().all()[i].values.begin());
  }
  DraftHeadsObjective of_still(*still->draft_heads(), still->parameters().all(), kAnswers);
  expect_gradient(*still, kAnswers, of_still, "draft heads");
  const std::vector<TrainSequence> short_texts = {{{1, 2}}};
  DraftHeadsObjective nothing(*trainer->draft_heads(), trainer->parameters().all(), short_texts);
  EXPECT_EQ(trainer->step(short_texts, nothing).error().code(), Code::invalid);
}

TEST(StepObjective, ATeacherIsFollowed) {
  const std::string path = testing::TempDir() + "ruv_teacher_" + std::to_string(getpid());
  const auto other = trainer_with(1e-2);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(other->step(kAnswers));
  ASSERT_TRUE(write_trained_model(other->model(), other->parameters(), DType::f32, path).ok());
  const auto trainer = trainer_with(0);
  const auto teacher = *Teacher::create(path, trainer->model(), 2, 64);
  DistillObjective distill(*teacher, kAnswers, 2);
  expect_gradient(*trainer, kAnswers, distill, "distill");
  const auto same = *Teacher::create(kModel, trainer->model(), 1, 64);
  DistillObjective nothing_new(*same, kAnswers, 2);
  EXPECT_NEAR(*trainer_with(0)->loss(kAnswers, nothing_new), 0, 1e-9);
  std::filesystem::remove(path);
  const auto stranger =
      Teacher::create(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf", trainer->model(), 1, 64);
  EXPECT_EQ(stranger.error().code(), Code::invalid);
}

// Pairs that are no longer in one part, and sequences that do not fit together.
TEST(StepObjective, WhatIsSeenTogetherMustFit) {
  const auto trainer = trainer_with(0, false, 8);
  const SequenceLogs reference = *trainer->log_probs(kAnswers);
  DpoObjective dpo({}, reference);
  EXPECT_EQ(trainer->step(kAnswers, dpo).error().code(), Code::invalid) << "5 and 4 rows";
  const auto wider = trainer_with(0, false, 12);
  EXPECT_NEAR(*wider->loss(kAnswers, dpo), std::log(2.0), 1e-6) << "in two parts";
  const std::vector<ContrastGroup> groups = {{0, 1, {2}}};
  ContrastObjective contrast({}, groups);
  EXPECT_EQ(wider->step(kAnswers, contrast).error().code(), Code::invalid);
}

TEST(StepObjective, ChosenAnswersBecomeLikelier) {
  const auto trainer = trainer_with(3e-3);
  const SequenceLogs reference = *trainer->log_probs(kAnswers);
  DpoObjective dpo({}, reference);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(trainer->step(kAnswers, dpo));
  const SequenceLogs now = *trainer->log_probs(kAnswers);
  const auto gain = [&](size_t i) { return now[i][0] - reference[i][0]; };
  EXPECT_GT(gain(0), gain(1) + 0.1);
  EXPECT_GT(gain(2), gain(3) + 0.1);
}

// Half the square of what a value lacks is part of the loss, so values come to be the rewards.
TEST(StepObjective, ValuesLearnRewards) {
  const auto trainer = trainer_with(1e-2, true);
  const SequenceLogs reference = *trainer->log_probs(kAnswers);
  const DrawnAnswers drawn{{1, 1, 1, 1}, reference, reference};
  PpoNumbers numbers;
  numbers.value_weight = 10;
  numbers.advantage = {.gamma = 1, .lambda = 1};
  PpoObjective ppo(numbers, drawn, *trainer->head(), 10);
  const double first = trainer->step(kAnswers, ppo)->loss;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(trainer->step(kAnswers, ppo));
  EXPECT_NEAR(first, -1 + 10 * 0.5, 1e-5) << "advantages of 1, values of 0";
  EXPECT_LT(*trainer->loss(kAnswers, ppo), 0.5);
}

}  // namespace
}  // namespace ruv::step_objective_test
