// The built-in model with tools, as it was trained on them.
#include "engine/chat_asker.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ruv::chat_asker_test {
namespace {

constexpr int64_t kPageTokens = 16;

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "play_song",
         "description": "Play music by title and artist.", "parameters": {"type": "object",
         "properties": {"title": {"type": "string", "description": "Title of the song"}},
         "required": ["title"], "additionalProperties": false}}},
        {"type": "function", "function": {"name": "execute_tests",
         "description": "Run the test suite.", "parameters": {"type": "object",
         "properties": {"suite": {"type": "string"}, "verbose": {"type": "boolean"}},
         "required": ["suite"], "additionalProperties": false}}}])";

class ChatAsking : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value();
    engine_ = Engine::create(model_, {.n_threads = 2, .max_sequences = 1}).value();
  }
  static void TearDownTestSuite() {
    engine_.reset();
    model_.reset();
  }
  static Conversation conversation(std::string text) {
    Conversation asked;
    asked.messages.push_back(text_message("user", std::move(text)));
    asked.tools = TemplateValue::parse(kTools).value();
    return asked;
  }
  static ChatTerms greedy(bool must_call) {
    ChatTerms terms;
    terms.params.temperature = 0;
    terms.params.max_tokens = 200;
    terms.must_call = must_call;
    return terms;
  }

  static std::shared_ptr<const Model> model_;
  static std::unique_ptr<Engine> engine_;
};
std::shared_ptr<const Model> ChatAsking::model_;
std::unique_ptr<Engine> ChatAsking::engine_;

TEST_F(ChatAsking, CallsWhatTheConversationAsksFor) {
  ChatAsker asker(*engine_, model_);
  ASSERT_TRUE(asker.can_call().ok());
  const Conversation asked = conversation("Play the song Winter Road.");
  ASSERT_TRUE(asker.can_hold(asked.tools).ok());
  std::string content;
  const auto answer = asker.ask(asked, greedy(false), {.on_delta = [&](const ToolDelta& delta) {
                                  if (delta.kind == ToolDelta::Kind::content) content += delta.text;
                                }});
  ASSERT_TRUE(answer) << answer.error().message();
  ASSERT_EQ(answer->calls.size(), 1U);
  EXPECT_EQ(answer->calls[0].name, "play_song");
  EXPECT_EQ(answer->calls[0].arguments, R"({"title": "Winter Road"})");
  EXPECT_EQ(answer->calls[0].id, "call00000");
  EXPECT_EQ(content, answer->content);
  EXPECT_EQ(content, "");
}

// The next prompt is the last one, the call and its result: the keys and values of the first two
// are there, but for the page that was not full.
TEST_F(ChatAsking, ResultsKeepThePrefix) {
  ChatAsker asker(*engine_, model_);
  Conversation asked = conversation("Play the song Silver River.");
  const ChatAnswer first = asker.ask(asked, greedy(true)).value();
  ASSERT_EQ(first.calls.size(), 1U);
  asked.messages.push_back(answer_message(first));
  asked.messages.push_back(result_message(first.calls[0].id, first.calls[0].name,
                                          R"({"status": "queued", "seconds": 177})"));
  const ChatAnswer second = asker.ask(asked, greedy(false)).value();
  EXPECT_EQ(second.finish, FinishReason::stop);
  EXPECT_TRUE(second.calls.empty());
  EXPECT_NE(second.content, "");
  const int64_t n_known = first.timings.n_prompt_tokens + first.timings.n_generated_tokens;
  EXPECT_GE(second.timings.n_cached_tokens, (n_known - 1) / kPageTokens * kPageTokens);
  EXPECT_GT(second.timings.n_cached_tokens, first.timings.n_prompt_tokens);
}

TEST_F(ChatAsking, HeldCallsFollowTheirSchemas) {
  ChatAsker asker(*engine_, model_);
  int n_whole = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ChatTerms terms = greedy(true);
    terms.params.temperature = 1.5;
    terms.params.seed = seed;
    terms.params.max_tokens = 400;
    terms.names = {"execute_tests"};
    const ChatAnswer answer = asker.ask(conversation("Hello!"), terms).value();
    if (answer.finish == FinishReason::length) continue;  // cut off
    ++n_whole;
    ASSERT_FALSE(answer.calls.empty()) << answer.content;
    for (const ToolCall& call : answer.calls) {
      EXPECT_EQ(call.name, "execute_tests");
      const auto arguments = parse_json(call.arguments, "arguments");
      ASSERT_TRUE(arguments) << call.arguments;
      EXPECT_TRUE(arguments->at("suite").is_string());
    }
  }
  EXPECT_GE(n_whole, 4);
}

TEST_F(ChatAsking, MessagesNumberTheirCalls) {
  Conversation asked = conversation("Play the song Winter Road.");
  ChatAnswer answer;
  answer.content = "Let me see.";
  answer.reasoning = "Hm.";
  answer.calls = {{"play_song", "call00000", "{}"}, {"play_song", "call00001", "{}"}};
  asked.messages.push_back(answer_message(answer));
  asked.messages.push_back(
      result_message("call00000", "play_song", R"({"status": "queued", "seconds": 177})"));
  EXPECT_EQ(joined_text(asked.messages[1]), "Let me see.");
  EXPECT_EQ(asked.messages[1].members.json()->at("reasoning_content"), "Hm.");
  EXPECT_EQ(asked.messages[1].members.json()->at("tool_calls").size(), 2U);
  EXPECT_EQ(asked.messages[2].members.to_string(),
            R"({"tool_call_id":"call00000","name":"play_song"})");
  asked.messages.push_back(text_message("assistant", "Winter Road is queued."));
  asked.messages.push_back(text_message("user", "Play the song Wild Horses."));
  ChatAsker asker(*engine_, model_);
  const ChatAnswer next = asker.ask(asked, greedy(true)).value();
  ASSERT_FALSE(next.calls.empty());
  EXPECT_EQ(next.calls[0].id, "call00002");
}

TEST_F(ChatAsking, CancelledAnswersCallNothing) {
  ChatAsker asker(*engine_, model_);
  bool stop = false;
  const auto answer = asker.ask(
      conversation("Play the song Winter Road."), greedy(true),
      {.on_delta = [&](const ToolDelta&) { stop = true; }, .should_stop = [&] { return stop; }});
  ASSERT_TRUE(answer);
  // The engine may have been done already.
  EXPECT_TRUE(answer->finish != FinishReason::cancelled || answer->calls.empty());
  const auto at_once = asker.ask(conversation("Play the song Winter Road."), greedy(true),
                                 {.should_stop = [] { return true; }});
  ASSERT_TRUE(at_once);
  EXPECT_EQ(at_once->finish, FinishReason::cancelled);
  EXPECT_TRUE(at_once->calls.empty());
}

TEST_F(ChatAsking, RefusesByName) {
  ChatAsker asker(*engine_, model_);
  Conversation without = conversation("a");
  without.tools = {};
  EXPECT_EQ(asker.ask(without, greedy(true)).error().message(),
            "the answer must call a tool, and there is none");
  const auto tools = TemplateValue::parse(
      R"([{"type": "function", "function": {"name": "t", "parameters": {"type": "object",
          "properties": {"a": {"$ref": "https://example.org/other"}}}}}])");
  EXPECT_EQ(asker.can_hold(tools.value()).code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv::chat_asker_test
