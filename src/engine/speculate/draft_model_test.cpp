// A draft model beside the model it drafts for, on trained models.
#include "engine/speculate/draft_model.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/rng.h"
#include "engine/sample/sampler.h"
#include "ruv/logits.h"

namespace ruv::draft_model_test {
namespace {

using Tokens = std::vector<Token>;

// Between two readings it advances by two milliseconds, so each step takes as long.
class EvenClock final : public Clock {
 public:
  int64_t now_ns() const override { return now_ns_ += 2'000'000; }

 private:
  mutable int64_t now_ns_ = 0;
};
const EvenClock kClock;

std::string shared_data() {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return folder != nullptr ? folder : RUV_SOURCE_DIR "/../shared/data";
}

// What the model says greedily after `prompt`, without its end.
Tokens greedy(const Model& model, Tokens prompt, size_t n) {
  const size_t n_prompt = prompt.size();
  while (prompt.size() < n_prompt + n) {
    Token next = 0;
    const Status status =
        compute_logits(model, prompt, {.n_threads = 1},
                       [&](int64_t, std::span<const float> logits) { next = argmax(logits); });
    EXPECT_TRUE(status.ok());
    if (model.tokenizer->ends_answer(next)) break;
    prompt.push_back(next);
  }
  return {prompt.begin() + static_cast<ptrdiff_t>(n_prompt), prompt.end()};
}

class DraftModelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nano_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
  }
  static void TearDownTestSuite() { nano_.reset(); }

  static Tokens question(const Model& model, const std::string& text) {
    return tokenize_chat(model, {{text_message("user", text)}}).value();
  }
  static std::unique_ptr<DraftModel> drafts_for(const Model& draft, const Model& target,
                                                DraftModelLimits limits = {}) {
    if (limits.n_ctx == 0) limits.n_ctx = 512;
    limits.n_threads = 1;
    auto model = DraftModel::create(draft, target, limits);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    return std::move(*model);
  }

  static std::shared_ptr<const Model> nano_;
};
std::shared_ptr<const Model> DraftModelTest::nano_;

// Generates `answer` with drafts checked against it; returns the number of passes.
int64_t passes(DraftModel& drafts, Tokens sequence, const Tokens& answer, int64_t max_tokens) {
  DraftTimeline timeline(drafts);
  Tokens draft;
  int64_t n_passes = 0;
  for (size_t at = 0; at < answer.size(); ++n_passes) {
    const DraftModel::Turn turn{&timeline, sequence, max_tokens, &draft};
    drafts.propose({&turn, 1}, kClock);
    EXPECT_LE(static_cast<int64_t>(draft.size()), max_tokens);
    size_t n = 0;
    while (n < draft.size() && at + n < answer.size() && draft[n] == answer[at + n]) ++n;
    const size_t n_new = std::min(n + 1, answer.size() - at);
    for (size_t i = 0; i < n_new; ++i) sequence.push_back(answer[at++]);
  }
  return n_passes;
}

TEST_F(DraftModelTest, AModelGuessesItselfWithoutError) {
  const Tokens prompt = question(*nano_, "What is the capital of France?");
  const Tokens answer = greedy(*nano_, prompt, 60);
  ASSERT_GE(answer.size(), 6U);
  const std::unique_ptr<DraftModel> drafts = drafts_for(*nano_, *nano_);
  EXPECT_TRUE(drafts->same_vocabulary());
  const auto n = static_cast<int64_t>(answer.size());
  EXPECT_EQ(passes(*drafts, prompt, answer, 3), (n + 3) / 4);
  EXPECT_EQ(passes(*drafts, prompt, answer, 100), 1);
  EXPECT_NEAR(drafts->cost().step_ms(StepShape::of(20, 1, 1)), 2, 0.05);
  EXPECT_EQ(drafts->pool().n_free(), drafts->pool().n_pages());
}

TEST_F(DraftModelTest, WhatWasRejectedIsTakenBack) {
  // The answer is not what the draft model would say, so guesses are wrong again and again; after
  // each, it must guess as if it had read the sequence at once.
  const std::unique_ptr<DraftModel> drafts = drafts_for(*nano_, *nano_);
  const Tokens prompt = question(*nano_, "Say something.");
  const Tokens other = tokenize(*nano_, "the weather in Berlin is fine, and in Paris too").value();
  DraftTimeline timeline(*drafts);
  Tokens sequence = prompt;
  Tokens draft;
  for (size_t i = 0; i <= other.size(); ++i) {
    const DraftModel::Turn turn{&timeline, sequence, 4, &draft};
    drafts->propose({&turn, 1}, kClock);
    EXPECT_EQ(draft, greedy(*nano_, sequence, 4)) << "after " << i;
    EXPECT_GE(timeline.n_computed(), static_cast<int64_t>(sequence.size()) - 1);
    if (i < other.size()) sequence.push_back(other[i]);
  }
}

TEST_F(DraftModelTest, SequencesAreDraftedForTogetherAsAlone) {
  const std::unique_ptr<DraftModel> drafts =
      drafts_for(*nano_, *nano_, {.n_ctx = 256, .n_pages = 48, .max_sequences = 3});
  const std::vector<Tokens> sequences = {question(*nano_, "What is the capital of France?"),
                                         question(*nano_, "Who are you?"),
                                         question(*nano_, "How many days has a week?")};
  std::vector<DraftTimeline> timelines;
  std::vector<Tokens> out(3);
  std::vector<DraftModel::Turn> turns;
  timelines.reserve(3);
  for (size_t i = 0; i < 3; ++i) {
    timelines.emplace_back(*drafts);
    turns.push_back({&timelines[i], sequences[i], 2 + static_cast<int64_t>(i), &out[i]});
  }
  drafts->propose(turns, kClock);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(out[i], greedy(*nano_, sequences[i], 2 + i)) << i;
}

TEST_F(DraftModelTest, LongPromptsAreReadInPieces) {
  const std::unique_ptr<DraftModel> drafts =
      drafts_for(*nano_, *nano_, {.max_sequences = 1, .max_batch_tokens = 16});
  const Tokens prompt = question(*nano_, "What is the capital of France, please?");
  ASSERT_GT(prompt.size(), 33U);
  DraftTimeline timeline(*drafts);
  Tokens draft = {1};
  const DraftModel::Turn turn{&timeline, prompt, 4, &draft};
  for (size_t n_read = 16; n_read < prompt.size(); n_read += 16) {
    drafts->propose({&turn, 1}, kClock);
    EXPECT_TRUE(draft.empty());
    EXPECT_EQ(timeline.n_computed(), static_cast<int64_t>(n_read));
  }
  drafts->propose({&turn, 1}, kClock);
  EXPECT_EQ(draft, greedy(*nano_, prompt, 4));
}

TEST_F(DraftModelTest, WithoutPagesOrContextNothingIsGuessed) {
  const std::unique_ptr<DraftModel> drafts =
      drafts_for(*nano_, *nano_, {.n_ctx = 64, .n_pages = 5, .max_sequences = 2});
  const Tokens prompt = question(*nano_, "Hi");
  ASSERT_GE(prompt.size(), 17U);
  ASSERT_LE(prompt.size(), 44U);
  Tokens draft;
  auto first = std::make_unique<DraftTimeline>(*drafts);
  DraftTimeline second(*drafts);
  const DraftModel::Turn one{first.get(), prompt, 4, &draft};
  drafts->propose({&one, 1}, kClock);
  EXPECT_FALSE(draft.empty());
  const DraftModel::Turn two{&second, prompt, 64 - static_cast<int64_t>(prompt.size()), &draft};
  drafts->propose({&two, 1}, kClock);
  EXPECT_TRUE(draft.empty()) << "four pages are wanted, the other has some of five";
  first.reset();
  drafts->propose({&two, 1}, kClock);
  EXPECT_FALSE(draft.empty());
  const DraftModel::Turn long_one{&second, prompt, 65 - static_cast<int64_t>(prompt.size()),
                                  &draft};
  drafts->propose({&long_one, 1}, kClock);
  EXPECT_TRUE(draft.empty()) << "context";
}

TEST_F(DraftModelTest, ASmallerTrainedModelGuessesMostTokens) {
  const std::string path = shared_data() + "/trained/pico/ruvltra-pico-f16.gguf";
  if (!file_exists(path)) GTEST_SKIP() << "no " << path;
  const auto pico = load_model(path).value();
  const std::unique_ptr<DraftModel> drafts = drafts_for(*pico, *nano_);
  EXPECT_TRUE(drafts->same_vocabulary());
  int64_t n_tokens = 0;
  int64_t n_passes = 0;
  for (const char* text : {"What is the capital of France?", "Who are you?", "What is 3 plus 4?",
                           "Hello, how are you today?", "How many days has a week?"}) {
    const Tokens prompt = question(*nano_, text);
    const Tokens answer = greedy(*nano_, prompt, 40);
    n_tokens += static_cast<int64_t>(answer.size());
    n_passes += passes(*drafts, prompt, answer, 4);
  }
  EXPECT_GE(n_tokens, 2 * n_passes) << n_tokens << " tokens in " << n_passes << " passes";
}

TEST_F(DraftModelTest, AModelOfOtherWordsGuessesByText) {
  const std::string path = shared_data() + "/models/stories260K/derived/stories260K.f32.gguf";
  if (!file_exists(path)) GTEST_SKIP() << "no " << path;
  const auto stories = load_model(path).value();
  // The large model says what the small one would, in its own words.
  const Tokens prompt = tokenize(*nano_, "Once upon a time").value();
  const Tokens start = tokenize(*stories, "Once upon a time").value();
  const Tokens said = greedy(*stories, start, 120);
  Tokens answer;
  nano_->tokenizer->encode(stories->tokenizer->decode(said, false), SpecialParsing::off, true,
                           answer);
  ASSERT_GE(answer.size(), 60U);
  const std::unique_ptr<DraftModel> drafts = drafts_for(*stories, *nano_);
  EXPECT_FALSE(drafts->same_vocabulary());
  const int64_t n_passes = passes(*drafts, prompt, answer, 16);
  EXPECT_LE(2 * n_passes, static_cast<int64_t>(answer.size())) << answer.size() << " tokens";
  EXPECT_EQ(drafts->pool().n_free(), drafts->pool().n_pages());
}

TEST_F(DraftModelTest, RefusesLimitsAndVocabulariesByName) {
  const auto refusal = [](const Model& draft, const Model& target, DraftModelLimits limits) {
    const auto model = DraftModel::create(draft, target, limits);
    EXPECT_FALSE(model.has_value());
    return model ? std::string() : std::string(model.error().message());
  };
  EXPECT_NE(refusal(*nano_, *nano_, {}).find("n_ctx 0"), std::string::npos);
  EXPECT_NE(refusal(*nano_, *nano_, {.n_ctx = 10, .max_sequences = 9, .max_batch_tokens = 8})
                .find("max_batch_tokens 8"),
            std::string::npos);
  const auto states = load_model(RUV_SOURCE_DIR "/tests/golden/models/lfm2").value();
  EXPECT_NE(refusal(*states, *states, {.n_ctx = 32}).find("'lfm2' keeps running states"),
            std::string::npos);
  const auto pair = VocabularyPair::create(nullptr, 100, nano_->tokenizer.get(), 4096);
  ASSERT_FALSE(pair.has_value());
  EXPECT_NE(std::string(pair.error().message()).find("4096"), std::string::npos);
  EXPECT_TRUE(VocabularyPair::create(nullptr, 100, nullptr, 100).value().equal());
}

}  // namespace
}  // namespace ruv::draft_model_test
