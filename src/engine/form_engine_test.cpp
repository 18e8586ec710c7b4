// Forms of answers through the whole engine: every answer that is not cut off has its form, alone
// and in a batch, with drafts and without.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/json.h"
#include "ruv/engine.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

class EngineForm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    engine_ = Engine::create(model_, {.n_threads = 2, .n_ctx = 512, .max_sequences = 4}).value();
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
  }
  static Request request(const AnswerForm& form, const std::string& prompt, double temperature,
                         uint64_t seed) {
    Request made = {.prompt = tokenize(*model_, prompt).value()};
    made.params.temperature = temperature;
    made.params.seed = seed;
    made.params.max_tokens = 300;
    made.form = engine_->load_form(form).value();
    return made;
  }
  static Answer answer(Request request) {
    return engine_->stream(std::move(request)).value().collect().value();
  }

  static std::shared_ptr<const Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> EngineForm::model_;
std::unique_ptr<Engine> EngineForm::engine_;

const AnswerForm kPerson = {
    .text = R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
      "age": {"type": "integer", "minimum": 0, "maximum": 120},
      "kind": {"enum": ["cat", "dog"]}}, "required": ["name", "age", "kind"],
      "additionalProperties": false})"};

TEST_F(EngineForm, EveryAnswerHasItsForm) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Answer got = answer(request(kPerson, "A person as JSON: ", seed == 0 ? 0 : 1.5, seed));
    ASSERT_EQ(got.finish, FinishReason::stop) << got.text;
    const auto json = parse_json(got.text, "answer");
    ASSERT_TRUE(json) << got.text;
    ASSERT_TRUE(json->is_object()) << got.text;
    EXPECT_EQ(json->size(), 3U) << got.text;
    EXPECT_LE(json->at("age").get<int64_t>(), 120) << got.text;
    EXPECT_TRUE(json->at("kind") == "cat" || json->at("kind") == "dog") << got.text;
  }
}

// One mask for each token at least. What a step did is published before a later step ends an
// answer.
TEST_F(EngineForm, CountsTheTimeOfMasks) {
  const auto n_masks = [](const MaskTimes& times) {
    return std::accumulate(times.counts.begin(), times.counts.end(), uint64_t{0});
  };
  const std::vector<Token> prompt = tokenize(*model_, "A").value();
  answer({.prompt = prompt, .params = {.max_tokens = 2}});
  answer({.prompt = prompt, .params = {.max_tokens = 2}});
  const MaskTimes before = engine_->mask_times();
  const Answer got = answer(request(kPerson, "A person as JSON: ", 1.0, 3));
  answer({.prompt = prompt, .params = {.max_tokens = 2}});
  const MaskTimes after = engine_->mask_times();
  EXPECT_GE(n_masks(after), n_masks(before) + got.ids.size());
  EXPECT_GT(after.seconds, before.seconds);
  answer({.prompt = prompt, .params = {.max_tokens = 2}});
  EXPECT_EQ(n_masks(engine_->mask_times()), n_masks(after));  // none without a form
}

// Any token can be the end of reasoning; the answer's text has all of it.
TEST_F(EngineForm, TheFormBeginsAfterReasoning) {
  const std::vector<Token> end = tokenize(*model_, "@").value();
  for (const int64_t budget : {0, 5, 40}) {
    Request asked = request(kPerson, "A person as JSON: ", 1.0, 3);
    asked.reasoning = ReasoningRegion{.end = end, .is_open = true, .max_tokens = budget};
    const Answer got = answer(std::move(asked));
    ASSERT_EQ(got.finish, FinishReason::stop) << got.text;
    const size_t at = got.text.find('@');
    ASSERT_NE(at, std::string::npos) << got.text;
    if (budget == 0) {
      EXPECT_EQ(at, 0U) << got.text;
    }
    EXPECT_TRUE(parse_json(got.text.substr(at + 1), "answer")) << got.text;
  }
  Request wrong = request(kPerson, "A person as JSON: ", 0, 1);
  wrong.reasoning = ReasoningRegion{};
  EXPECT_EQ(engine_->submit(wrong).error().code(), Code::invalid);
  wrong.reasoning = ReasoningRegion{.end = {Token{1} << 30}};
  EXPECT_EQ(engine_->submit(wrong).error().code(), Code::invalid);
}

// Wherever an answer is cut off, few bytes complete it; what the model wrote stays as it is.
TEST_F(EngineForm, WhatIsCutOffIsCompletedOnRequest) {
  int n_completed = 0;
  for (int64_t max_tokens = 1; max_tokens < 40; ++max_tokens) {
    Request asked = request(kPerson, "A person as JSON: ", 1.5, 7);
    asked.params.max_tokens = max_tokens;
    const Answer cut = answer(asked);
    EXPECT_EQ(cut.n_repair_bytes, 0);
    asked.params.repair = true;
    const Answer got = answer(std::move(asked));
    EXPECT_EQ(got.finish, cut.finish);
    EXPECT_EQ(got.ids, cut.ids);
    const auto json = parse_json(got.text, "answer");
    ASSERT_TRUE(json) << got.text;
    EXPECT_EQ(json->size(), 3U) << got.text;
    EXPECT_TRUE(got.n_repair_bytes == 0 || cut.finish == FinishReason::length);
    ASSERT_GE(got.n_repair_bytes, 0) << got.text;
    const size_t n_own = got.text.size() - static_cast<size_t>(got.n_repair_bytes);
    EXPECT_EQ(got.text.substr(0, n_own), cut.text.substr(0, n_own));
    n_completed += got.n_repair_bytes > 0;
  }
  EXPECT_GT(n_completed, 10);
}

// A character that is cut in the middle is written whole, and stop strings end nothing there.
TEST_F(EngineForm, WhatCompletesAnAnswer) {
  Request asked = request({.text = R"({"const": "caf\u00e9 {end}"})"}, "A text as JSON: ", 0, 1);
  asked.params.repair = true;
  asked.params.stop = {"end}"};
  int n_whole = 0;
  for (int64_t max_tokens = 1; max_tokens < 12; ++max_tokens) {
    asked.params.max_tokens = max_tokens;
    const Answer got = answer(asked);
    if (got.finish != FinishReason::length) continue;
    EXPECT_EQ(got.text, "\"caf\u00e9 {end}\"");
    n_whole += got.n_repair_bytes > 0;
  }
  EXPECT_GT(n_whole, 1);
}

TEST_F(EngineForm, WhatCannotBeCompletedSaysSo) {
  Request asked = request({.text = R"({"type": "string", "minLength": 100000})"}, "A text: ", 0, 1);
  asked.params.repair = true;
  asked.params.max_tokens = 5;
  EXPECT_EQ(answer(asked).n_repair_bytes, -1);
  asked.form = nullptr;
  EXPECT_EQ(engine_->submit(asked).error().code(), Code::invalid);
  Request thinks = request(kPerson, "A person as JSON: ", 1.0, 3);
  thinks.params.repair = true;
  thinks.params.max_tokens = 4;
  thinks.reasoning =
      ReasoningRegion{.end = tokenize(*model_, "@").value(), .is_open = true, .max_tokens = 40};
  EXPECT_EQ(answer(std::move(thinks)).n_repair_bytes, -1);
}

// Names that a schema demands are drafted; the answers are those without drafts.
TEST_F(EngineForm, WhatAFormLeavesNoChoiceInIsDrafted) {
  const AnswerForm form = {
      .text = R"({"type": "object", "properties": {"a_long_name_of_a_member": {"type": "boolean"},
        "yet_another_name": {"const": "a value that is known before"}},
        "required": ["a_long_name_of_a_member", "yet_another_name"],
        "additionalProperties": false})"};
  int64_t n_accepted = 0, n_drafted = 0;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    Request with = request(form, fmt::format("Text {} as JSON: ", seed), 1.2, seed);
    Request without = with;
    without.params.speculative = false;
    const Answer drafted = answer(std::move(with));
    EXPECT_EQ(drafted.text, answer(std::move(without)).text);
    n_accepted += drafted.timings.n_accepted_tokens;
    n_drafted += drafted.timings.n_drafted_tokens;
  }
  RecordProperty("drafted", static_cast<int>(n_drafted));
  RecordProperty("accepted", static_cast<int>(n_accepted));
  EXPECT_GT(n_accepted, 0);
}

TEST_F(EngineForm, BatchAndDraftsChangeNothing) {
  std::vector<Answer> alone;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Request asked = request(kPerson, "A cat as JSON: ", 0.9, seed);
    asked.params.speculative = false;
    alone.push_back(answer(std::move(asked)));
  }
  std::vector<Stream> together;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    together.push_back(engine_->stream(request(kPerson, "A cat as JSON: ", 0.9, seed)).value());
  }
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(together[i].collect().value().text, alone[i].text);
  }
}

TEST_F(EngineForm, APatternHoldsTheWholeAnswer) {
  const AnswerForm form = {.kind = AnswerForm::Kind::regex, .text = "(yes|no), [a-z]{3,5}\\."};
  const Answer got = answer(request(form, "Is it so? ", 1.0, 3));
  EXPECT_EQ(got.finish, FinishReason::stop);
  EXPECT_TRUE(got.text.starts_with("yes, ") || got.text.starts_with("no, ")) << got.text;
  EXPECT_TRUE(got.text.ends_with(".")) << got.text;
}

TEST_F(EngineForm, LimitsOfTokensHoldBesideTheForm) {
  const AnswerForm letters = {.kind = AnswerForm::Kind::regex, .text = "[a-z ]{1,200}"};
  Request asked = request(letters, "Once upon a time", 1.0, 3);
  asked.params.min_tokens = 12;
  EXPECT_GE(answer(std::move(asked)).timings.n_generated_tokens, 12);
  // The form ends the answer before that, or leaves nothing that is allowed.
  const AnswerForm short_one = {.kind = AnswerForm::Kind::regex, .text = "(yes|no)"};
  asked = request(short_one, "Is it so? ", 0, 3);
  asked.params.min_tokens = 12;
  const auto too_short = engine_->stream(std::move(asked)).value().collect();
  ASSERT_FALSE(too_short.has_value());
  EXPECT_EQ(too_short.error().code(), Code::invalid);
  asked = request(short_one, "Is it so? ", 0, 3);
  asked.params.allowed_token_ids = tokenize(*model_, "maybe").value();
  const auto none = engine_->stream(std::move(asked)).value().collect();
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message().find("allowed_token_ids"), std::string::npos);
}

TEST_F(EngineForm, AnAnswerThatIsCutOffSaysSo) {
  Request asked = request(kPerson, "A person as JSON: ", 0, 1);
  asked.params.max_tokens = 4;
  const Answer got = answer(std::move(asked));
  EXPECT_EQ(got.finish, FinishReason::length);
  EXPECT_EQ(got.timings.n_generated_tokens, 4);
}

TEST_F(EngineForm, AHealedPromptGoesBeforeTheForm) {
  const AnswerForm form = {.kind = AnswerForm::Kind::regex, .text = "e (cat|dog)"};
  Request asked = request(form, "Once upon a tim", 0, 1);
  asked.params.token_healing = true;
  const Answer got = answer(std::move(asked));
  EXPECT_EQ(got.finish, FinishReason::stop);
  EXPECT_TRUE(got.text == "e cat" || got.text == "e dog") << got.text;
}

// So that requests with ever new forms take no more memory.
TEST_F(EngineForm, KeepsTheFormsThatWereReadLately) {
  const auto load = [](int i) {
    return engine_->load_form({.text = fmt::format(R"({{"const": {}}})", i)}).value();
  };
  const std::weak_ptr<const LoadedForm> first = load(0);
  EXPECT_EQ(load(0), first.lock());
  for (int i = 1; i <= 64; ++i) load(i);
  EXPECT_TRUE(first.expired());
}

TEST_F(EngineForm, WhatCannotBeHeldIsRefusedByName) {
  const auto refused = [](const AnswerForm& form) {
    const auto made = engine_->load_form(form);
    return made ? std::string() : made.error().message();
  };
  EXPECT_NE(refused({.text = R"({"pattern": "(a)\\1"})"}).find("#/pattern"), std::string::npos);
  EXPECT_NE(refused({.text = R"({"$ref": "http://x/y"})"}).find("http://x/y"), std::string::npos);
  EXPECT_NE(
      refused({.text = R"({"type": "integer", "minimum": 3, "maximum": 2})"}).find("no value"),
      std::string::npos);
  EXPECT_NE(refused({.text = R"({"format": "colour"})", .strict = true}).find("#/format"),
            std::string::npos);
  EXPECT_NE(refused({.text = "{"}).find("schema"), std::string::npos);
  const auto noted = engine_->load_form({.text = R"({"format": "colour"})"});
  ASSERT_TRUE(noted);
  ASSERT_EQ(form_notes(**noted).size(), 1U);
  EXPECT_EQ(form_notes(**noted)[0].pointer, "#/format");
}

}  // namespace
}  // namespace ruv
