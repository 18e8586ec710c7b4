// What all threads choose together is what each sequence would have chosen alone.
#include "engine/step_choices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "base/worker_pool.h"

namespace ruv {
namespace {

class TeamExecutor final : public Executor {
 public:
  std::optional<StepResult> run(const Batch&, const StopFlag&) override { std::abort(); }
  KvPages& pages() override { std::abort(); }
  void each(int64_t n, const std::function<void(int, int64_t)>& f) override {
    pool_.run_items(n, f);
  }
  int n_threads() const override { return pool_.n_threads(); }

 private:
  WorkerPool pool_{3};
};

class ChoicesTest : public testing::Test {
 protected:
  static constexpr int64_t kVocab = 100'003;  // four parts

  ChoicesTest() { model_.h.n_vocab = kVocab; }

  // The token that is told first.
  std::unique_ptr<Sequence> sequence(const GenerateParams& params, Event& told) {
    Request request;
    request.prompt = {1, 2, 3};
    request.params = params;
    request.params.seed = 7;
    request.on_event = [&told](const Event& event) { told = event; };
    return std::make_unique<Sequence>(RequestId{1}, std::move(request), model_, pages_, 100, 0);
  }
  std::vector<float> logits(int64_t n_values) {
    std::vector<float> all(kVocab);
    for (float& x : all) x = static_cast<float>(rng_.below(static_cast<uint64_t>(n_values))) / 100;
    return all;
  }
  static GenerateParams greedy() {
    GenerateParams params;
    params.temperature = 0;
    return params;
  }
  // The first tokens of sequences with these parameters: chosen together, and each by itself.
  void expect_same(const std::vector<GenerateParams>& asked, int64_t n_values) {
    std::vector<Event> together(asked.size());
    std::vector<Event> alone(asked.size());
    std::vector<std::vector<float>> rows;
    std::vector<std::unique_ptr<Sequence>> sequences;
    StepChoices choices(std::ssize(asked), kVocab);
    for (size_t i = 0; i < asked.size(); ++i) rows.push_back(logits(n_values));
    const std::vector<std::vector<float>> kept = rows;
    for (size_t i = 0; i < asked.size(); ++i) {
      sequences.push_back(sequence(asked[i], together[i]));
      sequences[i]->begin_step(0);
      choices.add(*sequences[i], 0, rows[i]);
    }
    choices.choose(executor_);
    for (size_t i = 0; i < asked.size(); ++i) {
      sequences[i]->advance(-1, 1);
      choose_alone(*sequence(asked[i], alone[i]), kept[i]);
      ASSERT_EQ(together[i].ids, alone[i].ids) << i;
      ASSERT_EQ(together[i].ids.size(), 1U);
      ASSERT_EQ(together[i].logprobs.size(), alone[i].logprobs.size());
      if (asked[i].n_logprobs < 0) continue;
      EXPECT_EQ(together[i].logprobs[0].chosen.logprob, alone[i].logprobs[0].chosen.logprob);
    }
  }
  // A step of one row that one thread chooses.
  void choose_alone(Sequence& one, std::vector<float> row) {
    one.begin_step(0);
    one.choose(0, row, scratch_);
    one.advance(-1, 1);
  }
  // Drafts for a sequence; nothing is learned from them.
  static void give_draft(Sequence& one, const std::vector<Token>& draft) {
    static const DraftHistory history(1024, 1);
    static const StepTimer costs;
    static AcceptanceRates rates(200);
    one.drafts().reset(new SequenceDrafts{
        .drafter = SequenceDrafter(&history, one.scope(), one.n_vocab(), one.n_ctx()),
        .length = DraftLength(costs, rates),
        .timeline = {},
        .head = {},
        .draft = {.tokens = draft},
        .chance = {}});
  }

  Model model_;
  PagePool pages_{4};
  TeamExecutor executor_;
  Rng rng_{11};
  SampleScratch scratch_;
};

TEST_F(ChoicesTest, GreedyTakesTheFirstOfEqualsInAnyPart) {
  for (const int64_t n_values : {2, 1000, 10'000'000}) {
    for (int round = 0; round < 10; ++round) {
      expect_same(std::vector<GenerateParams>(3, greedy()), n_values);
    }
  }
}

TEST_F(ChoicesTest, AGreedyRowWithoutAnyLargestGivesTheFirst) {
  std::vector<float> row(kVocab, -std::numeric_limits<float>::infinity());
  Event told;
  const auto one = sequence(greedy(), told);
  StepChoices choices(1, kVocab);
  one->begin_step(0);
  choices.add(*one, 0, row);
  choices.choose(executor_);
  one->advance(-1, 1);
  EXPECT_EQ(told.ids, std::vector<Token>{0});
}

TEST_F(ChoicesTest, OthersChooseByTheirOwnRules) {
  GenerateParams drawn;
  drawn.temperature = 0.8;
  GenerateParams biased = greedy();
  biased.logit_bias = {{77'777, 1e6F}};
  GenerateParams penalized = greedy();
  penalized.repetition_penalty = 1.5;
  GenerateParams told = greedy();
  told.n_logprobs = 3;
  for (int round = 0; round < 5; ++round) {
    expect_same({greedy(), drawn, biased, greedy(), penalized, told}, 5000);
  }
}

// The rows of a draft, chosen at once, give what steps of one row give, as far as the draft is
// right.
TEST_F(ChoicesTest, RowsOfADraftAreChosenAsIfItWereRight) {
  GenerateParams drawn;
  drawn.temperature = 0.9;
  drawn.presence_penalty = 0.4;
  drawn.repetition_penalty = 1.3;
  drawn.repetition_window = 3;
  GenerateParams all = drawn;
  all.top_k = 0;
  GenerateParams excluding = drawn;
  excluding.xtc_probability = 0.5;
  excluding.xtc_threshold = 0.01;
  GenerateParams dry = drawn;
  dry.dry_multiplier = 3;
  dry.dry_allowed_length = 0;
  GenerateParams surprised = drawn;
  surprised.mirostat = 2;
  surprised.mirostat_eta = 1;
  GenerateParams aimed = drawn;
  aimed.adaptive_target = 0.05;
  for (const GenerateParams& params : {greedy(), drawn, all, excluding, dry, surprised, aimed}) {
    std::vector<std::vector<float>> rows;
    for (int i = 0; i < 5; ++i) rows.push_back(logits(300));
    Event told;
    std::vector<Token> right;
    const auto alone = sequence(params, told);
    for (const std::vector<float>& row : rows) {
      choose_alone(*alone, row);
      right.push_back(told.ids.at(0));
    }
    for (size_t n_right = 0; n_right < rows.size(); ++n_right) {
      std::vector<Token> draft(right.begin(), right.end() - 1);
      if (n_right < draft.size()) draft[n_right] ^= 1;
      const auto drafted = sequence(params, told);
      give_draft(*drafted, draft);
      drafted->begin_step(std::ssize(draft));
      std::vector<std::vector<float>> changed = rows;
      StepChoices choices(std::ssize(rows), kVocab);
      for (int64_t i = 0; i < std::ssize(rows); ++i) {
        choices.add(*drafted, i, changed[static_cast<size_t>(i)]);
      }
      choices.choose(executor_);
      for (size_t i = 0; i <= n_right; ++i) {
        drafted->advance(-1, 1);
        EXPECT_EQ(told.ids.at(0), right[i]) << "row " << i << " of " << n_right;
      }
      // The next step begins where this one was left.
      const auto again = sequence(params, told);
      for (size_t i = 0; i <= n_right; ++i) choose_alone(*again, rows[i]);
      choose_alone(*again, rows[0]);
      const Token next = told.ids.at(0);
      choose_alone(*drafted, rows[0]);
      EXPECT_EQ(told.ids.at(0), next);
    }
  }
}

}  // namespace
}  // namespace ruv
