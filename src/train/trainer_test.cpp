// A small model learns a text, and what a run that is resumed or written gives.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "format/model_file.h"
#include "train/write_model.h"

namespace ruv::trainer_test {
namespace {

constexpr std::string_view kText =
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on. The quick brown cat jumps "
    "over the lazy fox, and the fox sleeps on. The lazy brown dog jumps over the quick cat, and "
    "the cat sleeps on. The lazy quick fox jumps over the brown dog, and the dog sleeps on. ";

std::string golden(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

std::string temporary(const std::string& name) {
  return testing::TempDir() + "ruv_trainer_" + std::to_string(getpid()) + "_" + name;
}

// Bytes of a text as tokens that the small models have: they have few.
std::vector<TrainSequence> sequences_of(std::string_view text, int64_t n_vocab, size_t n) {
  std::vector<int32_t> tokens;
  for (const char c : text)
    tokens.push_back(static_cast<int32_t>(c) % static_cast<int32_t>(n_vocab));
  return cut_text(tokens, n);
}

TrainOptions quick_options() {
  TrainOptions options;
  options.n_threads = 2;
  options.max_rows = 64;
  options.rate = {.shape = RateShape::cosine, .peak = 3e-3, .n_steps = 40, .n_warmup = 4};
  return options;
}

// One step with the next sequences of an order.
StepReport learn(Trainer& trainer, const std::vector<TrainSequence>& texts) {
  SequenceOrder order(texts.size(), 1);
  std::vector<TrainSequence> chosen;
  for (uint64_t i = 0; i < 4; ++i) {
    chosen.push_back(texts[order.at(4 * static_cast<uint64_t>(trainer.n_steps()) + i)]);
  }
  const Result<StepReport> report = trainer.step(chosen);
  EXPECT_TRUE(report) << report.error().message();
  return report.value_or(StepReport());
}

std::vector<float> all_values(const Trainer& trainer) {
  std::vector<float> all;
  for (const Parameter<float>& p : trainer.parameters().all()) {
    all.insert(all.end(), p.values.begin(), p.values.end());
  }
  return all;
}

TEST(Trainer, ATextIsLearnedAndOneLikeItToo) {
  const auto trainer = *Trainer::create(golden("llama2"), quick_options());
  const auto texts = sequences_of(kText.substr(0, 200), trainer->model().h.n_vocab, 21);
  const auto others = sequences_of(kText.substr(200), trainer->model().h.n_vocab, 21);
  const double before = *trainer->loss(texts);
  const double held_out = *trainer->loss(others);
  double first = 0;
  for (int i = 0; i < 40; ++i) {
    const StepReport report = learn(*trainer, texts);
    if (i == 0) first = report.loss;
    EXPECT_EQ(report.step, i + 1);
  }
  EXPECT_NEAR(first, before, 1);
  EXPECT_LT(*trainer->loss(texts), before - 1);
  EXPECT_LT(*trainer->loss(others), held_out - 0.5);
}

// The loss of each token alone, by a weight of 1 for it.
TEST(Trainer, ALossIsTheMeanByTheWeightsOfTokens) {
  const auto trainer = *Trainer::create(golden("llama2"), quick_options());
  TrainSequence text = sequences_of(kText, trainer->model().h.n_vocab, 12)[0];
  const std::vector<float> weights = {9, 0.25F, 0, 1, 0, 0.5F, 2, 0, 0, 0.125F, 0, 0};
  double sum = 0;
  double weight = 0;
  for (size_t i = 1; i < weights.size(); ++i) {
    text.weights.assign(weights.size(), 0);
    text.weights[i] = 1;
    sum += double{weights[i]} * *trainer->loss({&text, 1});
    weight += double{weights[i]};
  }
  text.weights = weights;
  EXPECT_NEAR(*trainer->loss({&text, 1}), sum / weight, 1e-9);
  const StepReport report = *trainer->step({&text, 1});
  EXPECT_NEAR(report.loss, sum / weight, 1e-9);
  EXPECT_EQ(report.n_targets, 5);
  EXPECT_EQ(report.weight, weight);
}

// Weights that are all the same change nothing: one token twice as much as the others is that
// token's gradient twice.
TEST(Trainer, AWeightIsAFactorOfTheGradient) {
  const auto norm_with = [](std::vector<float> weights) {
    TrainOptions options = quick_options();
    options.greatest_norm = 0;
    const auto trainer = *Trainer::create(golden("llama2"), options);
    TrainSequence text = sequences_of(kText, trainer->model().h.n_vocab, 5)[0];
    text.weights = std::move(weights);
    return trainer->step({&text, 1})->gradient_norm;
  };
  EXPECT_NEAR(norm_with({0, 0.5F, 0.5F, 0.5F, 0.5F}), norm_with({}), 1e-6);
  EXPECT_NEAR(norm_with({0, 0, 0.25F, 0, 0}), norm_with({0, 0, 1, 0, 0}), 1e-6);
  EXPECT_GT(std::abs(norm_with({0, 1, 0.25F, 0.25F, 0.25F}) - norm_with({})), 1e-3);
}

// In parts of any size, with checkpoints or without, by any number of threads.
TEST(Trainer, HowAStepIsComputedChangesNothing) {
  std::vector<float> expected;
  for (const auto& [n_threads, checkpoints] : {std::pair(1, 0), std::pair(3, 0), std::pair(2, 7)}) {
    TrainOptions options = quick_options();
    options.n_threads = n_threads;
    options.checkpoint_entries = checkpoints;
    const auto trainer = *Trainer::create(golden("qwen2"), options);
    const auto texts = sequences_of(kText, trainer->model().h.n_vocab, 21);
    for (int i = 0; i < 2; ++i) learn(*trainer, texts);
    const std::vector<float> values = all_values(*trainer);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected) << n_threads << " " << checkpoints;
  }
}

TEST(Trainer, GradientsOfPartsAreThoseOfTheWhole) {
  std::vector<double> norms, losses;
  for (const int64_t max_rows : {20, 80}) {
    TrainOptions options = quick_options();
    options.max_rows = max_rows;
    const auto trainer = *Trainer::create(golden("llama2"), options);
    const auto texts = sequences_of(kText, trainer->model().h.n_vocab, 21);
    const StepReport report = learn(*trainer, texts);
    norms.push_back(report.gradient_norm);
    losses.push_back(report.loss);
  }
  EXPECT_NEAR(norms[0], norms[1], 1e-5 * norms[0]);
  EXPECT_NEAR(losses[0], losses[1], 1e-6);
}

// Stopped after each number of steps.
TEST(Trainer, ARunThatIsResumedGivesTheSameBytes) {
  const std::string path = temporary("state");
  const auto whole = *Trainer::create(golden("llama2"), quick_options());
  const auto texts = sequences_of(kText, whole->model().h.n_vocab, 21);
  for (int i = 0; i < 5; ++i) learn(*whole, texts);
  for (const int stop : {1, 4}) {
    {
      const auto first = *Trainer::create(golden("llama2"), quick_options());
      for (int i = 0; i < stop; ++i) learn(*first, texts);
      ASSERT_TRUE(first->save(path).ok());
    }
    const auto second = *Trainer::create(golden("llama2"), quick_options());
    ASSERT_TRUE(second->resume(path).ok());
    EXPECT_EQ(second->n_steps(), stop);
    for (int i = stop; i < 5; ++i) learn(*second, texts);
    EXPECT_EQ(all_values(*second), all_values(*whole)) << stop;
  }
  std::filesystem::remove(path);
}

// Of the small models' matrices most have 512 numbers or more.
TrainOptions options_of_bytes() {
  TrainOptions options = quick_options();
  options.optimiser.adam.bytes_from = 512;
  return options;
}

// By any number of threads, stopped after each number of steps, and saved to the same file.
TEST(Trainer, MomentsAsBytesGiveTheSameBytesWhenResumed) {
  const std::string path = temporary("byte_state");
  const auto file_of = [&](const Trainer& trainer) {
    EXPECT_TRUE(trainer.save(path).ok());
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto whole = *Trainer::create(golden("llama2"), options_of_bytes());
  const auto texts = sequences_of(kText, whole->model().h.n_vocab, 21);
  for (int i = 0; i < 5; ++i) learn(*whole, texts);
  const std::string expected = file_of(*whole);
  for (const int stop : {1, 4}) {
    TrainOptions options = options_of_bytes();
    options.n_threads = stop;
    {
      const auto first = *Trainer::create(golden("llama2"), options);
      for (int i = 0; i < stop; ++i) learn(*first, texts);
      ASSERT_TRUE(first->save(path).ok());
    }
    const auto second = *Trainer::create(golden("llama2"), options);
    ASSERT_TRUE(second->resume(path).ok());
    for (int i = stop; i < 5; ++i) learn(*second, texts);
    EXPECT_EQ(all_values(*second), all_values(*whole)) << stop;
    EXPECT_EQ(file_of(*second), expected) << stop;
  }
  std::filesystem::remove(path);
}

TEST(Trainer, AStateOfAnotherFormIsRefusedByName) {
  const std::string path = temporary("form_state");
  const auto bytes = *Trainer::create(golden("llama2"), options_of_bytes());
  const auto plain = *Trainer::create(golden("llama2"), quick_options());
  ASSERT_TRUE(bytes->save(path).ok());
  Status refused = plain->resume(path);
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("keeps 'token_embd.weight' in 8 bits and not in float32"),
            std::string::npos)
      << refused.message();
  ASSERT_TRUE(plain->save(path).ok());
  refused = bytes->resume(path);
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("in float32 and not in 8 bits"), std::string::npos)
      << refused.message();
  std::filesystem::remove(path);
}

// The same run with moments in float32 and as bytes: losses of all steps, and what is left at the
// end of one that learns its texts.
TEST(Trainer, MomentsAsBytesLearnAsMuch) {
  for (const bool by_muon : {false, true}) {
    std::vector<std::vector<double>> losses;
    for (TrainOptions options : {quick_options(), options_of_bytes()}) {
      if (by_muon) options.optimiser.muon = MuonNumbers();
      const auto trainer = *Trainer::create(golden("llama2"), options);
      const auto texts = sequences_of(kText, trainer->model().h.n_vocab, 21);
      std::vector<double>& of_run = losses.emplace_back();
      for (int i = 0; i < 40; ++i) of_run.push_back(learn(*trainer, texts).loss);
      of_run.push_back(*trainer->loss(texts));
    }
    EXPECT_EQ(losses[0][0], losses[1][0]);
    EXPECT_LT(losses[0].back(), losses[0][0] - 1);
    double most = 0;
    for (size_t i = 0; i < losses[0].size(); ++i) {
      most = std::max(most, std::abs(losses[0][i] - losses[1][i]));
    }
    EXPECT_LT(most, 0.01) << by_muon;
    EXPECT_GT(most, 0) << "moments are bytes";
    EXPECT_NEAR(losses[1].back(), losses[0].back(), 0.005) << by_muon;
  }
}

TEST(Trainer, AFileOfAnotherRunChangesNothing) {
  const std::string path = temporary("other_state");
  ASSERT_TRUE((*Trainer::create(golden("qwen2"), quick_options()))->save(path).ok());
  const auto trainer = *Trainer::create(golden("llama2"), quick_options());
  const std::vector<float> before = all_values(*trainer);
  EXPECT_EQ(trainer->resume(path).code(), Code::invalid);
  ASSERT_TRUE(trainer->save(path).ok());
  const auto size = std::filesystem::file_size(path);
  for (const uintmax_t at : {uintmax_t{3}, size / 2, size - 1}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_EQ(trainer->resume(path).code(), Code::corrupt) << at;
  }
  std::filesystem::resize_file(path, 5);
  EXPECT_EQ(trainer->resume(path).code(), Code::corrupt);
  EXPECT_EQ(all_values(*trainer), before);
  std::filesystem::remove(path);
}

TEST(Trainer, WhatIsNotChosenStaysAsItIs) {
  TrainOptions options = quick_options();
  options.trains = [](std::string_view name) { return name.find("attn_q") != name.npos; };
  const auto trainer = *Trainer::create(golden("llama2"), options);
  EXPECT_EQ(std::ssize(trainer->parameters().all()), trainer->model().h.n_layers);
  const auto texts = sequences_of(kText, trainer->model().h.n_vocab, 21);
  const double before = *trainer->loss(texts);
  for (int i = 0; i < 10; ++i) learn(*trainer, texts);
  EXPECT_LT(*trainer->loss(texts), before);
  options.trains = [](std::string_view) { return false; };
  EXPECT_EQ(Trainer::create(golden("llama2"), options).error().code(), Code::invalid);
}

// 60 rows are two full steps of 30, whatever the order; the last token of a text has no row.
TEST(MakeBatches, StepsAreFilled) {
  for (const std::vector<size_t>& lengths :
       {std::vector<size_t>{6, 21, 11, 26}, std::vector<size_t>{11, 6, 26, 21}}) {
    std::vector<TrainSequence> texts;
    for (const size_t n : lengths) texts.push_back({std::vector<int32_t>(n, 1)});
    texts.push_back({{1, 1}, {0, 0}});  // nothing to learn, no rows
    const auto batches = *make_batches(texts, {30, 8});
    ASSERT_EQ(batches.size(), 2U);
    for (const TrainBatch& batch : batches) EXPECT_EQ(batch.rows.n_rows(), 30);
  }
}

// Rows end before the last target, and logits begin with the first.
TEST(MakeBatches, WhatNoTargetNeedsIsNotComputed) {
  const TrainSequence text = {{4, 5, 6, 7, 3}, {0, 0, 1, 0.5F, 0}};
  const auto batches = *make_batches({&text, 1}, {4, 8});
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].rows.batch().tokens, (std::vector<int32_t>{4, 5, 6}));
  EXPECT_EQ(batches[0].targets, (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(batches[0].weights, (std::vector<float>{1, 0.5F}));
}

TEST(Trainer, StepsThatLearnNothingAreRefused) {
  const auto trainer = *Trainer::create(golden("llama2"), quick_options());
  EXPECT_EQ(trainer->step({}).error().code(), Code::invalid);
  for (const TrainSequence& wrong : std::vector<TrainSequence>{{{1}},
                                                               {{1, 2}, {1}},
                                                               {{1, 2}, {1, 0}},
                                                               {{1, 2}, {0, -1}},
                                                               {{1, 2}, {0, NAN}},
                                                               {{1, 2}, {0, INFINITY}},
                                                               {{1, 1 << 20}},
                                                               {std::vector<int32_t>(66, 1)}}) {
    EXPECT_EQ(trainer->step({&wrong, 1}).error().code(), Code::invalid);
    EXPECT_EQ(trainer->loss({&wrong, 1}).error().code(), Code::invalid);
  }
  EXPECT_EQ(trainer->n_steps(), 0);
}

// A model of each order of rows, with matrices of its own and fused ones: what is loaded again has
// the loss of what was trained.
TEST(WriteModel, AFileHasWhatWasTrained) {
  const std::string path = temporary("model.gguf");
  for (const char* const name : {"llama2", "gemma3", "phi3", "gpt2"}) {
    TrainOptions options = quick_options();
    if (std::string_view(name) == "gpt2") options.rate.peak = 1e-3;
    const auto trainer = *Trainer::create(golden(name), options);
    const auto texts = sequences_of(kText, trainer->model().h.n_vocab, 21);
    const double before = *trainer->loss(texts);
    for (int i = 0; i < 5; ++i) learn(*trainer, texts);
    const double after = *trainer->loss(texts);
    EXPECT_GT(std::abs(after - before), 1e-2) << name;
    const Status written = write_trained_model(trainer->model(), trainer->parameters(), DType::f32,
                                               path, {.replace = true});
    ASSERT_TRUE(written.ok()) << written.message();
    const auto again = *Trainer::create(path, options);
    EXPECT_NEAR(*again->loss(texts), after, 1e-6) << name;
    EXPECT_EQ(all_values(*again), all_values(*trainer)) << name;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ruv::trainer_test
