// Token healing through the whole engine: what comes out, what is counted, and where it stays out.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "base/utf8.h"
#include "fault/patience.h"
#include "ruv/engine.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class EngineHealing : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    engine_ = Engine::create(model_, {.n_threads = 2, .n_ctx = 256, .max_sequences = 4}).value();
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
  }

  static GenerateParams greedy(bool healing, int64_t max_tokens = 12) {
    GenerateParams p;
    p.temperature = 0;
    p.max_tokens = max_tokens;
    p.token_healing = healing;
    return p;
  }
  static Answer ask(const std::string& text, const GenerateParams& params) {
    return generate(*engine_, tokenize(*model_, text).value(), params).value();
  }

  static std::shared_ptr<const Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> EngineHealing::model_;
std::unique_ptr<Engine> EngineHealing::engine_;

constexpr const char* kWhole = "Once upon a time there was a little";

TEST_F(EngineHealing, ACutWordGoesOnAsIfItHadNotBeenCut) {
  const std::string start = "Once upon a";
  const std::string whole = ask(start, greedy(false)).text;
  ASSERT_GT(whole.size(), 12U) << whole;
  for (size_t cut = 1; cut < 8; ++cut) {
    const std::string healed = ask(start + whole.substr(0, cut), greedy(true)).text;
    const std::string rest = whole.substr(cut);
    EXPECT_EQ(healed.substr(0, rest.size()), rest) << "cut after '" << whole.substr(0, cut) << "'";
  }
}

TEST_F(EngineHealing, NothingOfThePromptIsSaidAgain) {
  const std::string text = kWhole;
  for (size_t n = 6; n < text.size(); ++n) {
    const std::string prompt = text.substr(0, n);
    const Answer answer = ask(prompt, greedy(true, 3));
    const std::vector<Token> ids = tokenize(*model_, prompt).value();
    EXPECT_EQ(answer.timings.n_prompt_tokens, static_cast<int64_t>(ids.size()));
    EXPECT_EQ(answer.timings.n_generated_tokens, static_cast<int64_t>(answer.ids.size()));
    // The tokens of the answer end with its text; the first may begin in the prompt.
    const std::string said = detokenize(*model_, answer.ids).value();
    ASSERT_TRUE(said.ends_with(answer.text)) << prompt << "|" << said << "|" << answer.text;
    const std::string before = said.substr(0, said.size() - answer.text.size());
    EXPECT_TRUE(prompt.ends_with(before)) << prompt << "|" << before;
  }
}

TEST_F(EngineHealing, CountsReachMaxTokensAfterThePrefix) {
  GenerateParams params = greedy(true, 5);
  params.ignore_eos = true;
  EXPECT_EQ(ask("Once upon a ti", params).ids.size(), 5U);
  params.max_tokens = 0;
  EXPECT_EQ(ask("Once upon a ti", params).ids.size(), 0U);
  EXPECT_EQ(ask("Once upon a ti", params).text, "");
}

TEST_F(EngineHealing, ReportsHowMuchOfTheFirstTokenThePromptHad) {
  std::vector<int64_t> healed;
  std::vector<Token> ids;
  std::string text;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  const auto on_event = [&](const Event& event) {
    const std::lock_guard lock(mutex);
    text += event.text;
    for (const Token id : event.ids) {
      ids.push_back(id);
      healed.push_back(event.n_healed_bytes);
    }
    finished = event.finish != FinishReason::none;
    done.notify_one();
  };
  GenerateParams params = greedy(true, 4);
  params.stop = {"Once"};  // in the prompt only
  ASSERT_TRUE(engine_->submit({tokenize(*model_, "Once upon a ti").value(), params, on_event}));
  std::unique_lock lock(mutex);
  wait_patiently(done, lock, "an answer", [&] { return finished; });
  ASSERT_FALSE(ids.empty());
  const std::string first = detokenize(*model_, {&ids[0], 1}).value();
  EXPECT_TRUE(text.starts_with(first.substr(static_cast<size_t>(healed[0]))));
  EXPECT_GT(healed[0], 0);
  for (size_t i = 1; i < healed.size(); ++i) EXPECT_EQ(healed[i], 0);
}

TEST_F(EngineHealing, SampledAnswersKeepThePromptToo) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    GenerateParams params;
    params.token_healing = true;
    params.temperature = 3;
    params.top_k = 0;
    params.min_p = 0;
    params.top_p = 1;
    params.max_tokens = 2;
    params.seed = seed;
    params.repetition_penalty = 1.3;
    params.n_logprobs = 2;
    const Answer answer = ask("Tell me about dif", params);
    EXPECT_EQ(answer.logprobs.size(), answer.ids.size());
    const std::string said = detokenize(*model_, answer.ids).value();
    if (!is_valid_utf8(said)) continue;  // cut inside a character
    ASSERT_TRUE(said.ends_with(answer.text)) << said << "|" << answer.text;
    const std::string before = said.substr(0, said.size() - answer.text.size());
    EXPECT_TRUE(std::string("Tell me about dif").ends_with(before)) << before;
  }
}

TEST_F(EngineHealing, ChangesNothingWhereNothingCanFollow) {
  // The control token that ends a template's text is never taken back.
  const std::vector<Token> chat = tokenize_chat(*model_, {{text_message("user", "Hi")}}).value();
  std::vector<Token> control(chat.begin(), chat.begin() + 1);
  EXPECT_EQ(generate(*engine_, control, greedy(true)).value().ids,
            generate(*engine_, control, greedy(false)).value().ids);
  // Nor are fixed tokens.
  const std::vector<Token> ids = tokenize(*model_, "Once upon a ti").value();
  Request request{ids, greedy(true), {}};
  request.n_fixed_tokens = -1;
  EXPECT_EQ(engine_->submit(request).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv
