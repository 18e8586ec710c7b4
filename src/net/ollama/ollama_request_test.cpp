#include <gtest/gtest.h>

#include "base/json.h"
#include "net/ollama/ollama.h"

namespace ruv {
namespace {

Json messages_of(const char* text) {
  const Json body = {{"messages", *parse_json(text, "messages")}};
  const auto chat = chat_of_ollama(body, 100);
  return chat ? chat->at("messages") : Json(chat.error().message);
}

// The ids of calls, and which of them results answer.
TEST(OllamaCalls, AreAnsweredByNameOrInOrder) {
  constexpr const char* kCalls =
      R"({"role": "assistant", "content": "", "tool_calls": [
          {"function": {"name": "a", "arguments": {"x": 1}, "index": 0}},
          {"function": {"name": "b", "arguments": {}}}, {"function": {"name": "a"}}]})";
  const auto ids = [&](const char* results) {
    const Json messages = messages_of(fmt::format("[{}, {}]", kCalls, results).c_str());
    std::string found;
    for (const Json& message : messages) {
      if (message.contains("tool_call_id")) found += message.at("tool_call_id").text();
      found += ' ';
    }
    return found;
  };
  EXPECT_EQ(ids(R"({"role": "tool", "content": "1", "tool_name": "b"},
                   {"role": "tool", "content": "2", "tool_name": "a"},
                   {"role": "tool", "content": "3", "tool_name": "a"})"),
            " call_1 call_0 call_2 ");
  EXPECT_EQ(ids(R"({"role": "tool", "content": "1"}, {"role": "tool", "content": "2"})"),
            " call_0 call_1 ");
  EXPECT_EQ(ids(R"({"role": "tool", "content": "1", "tool_name": "c"})"), " call_3 ");
  const Json call = messages_of(fmt::format("[{}]", kCalls).c_str())[0].at("tool_calls")[0];
  EXPECT_EQ(call.dump(), R"({"function":{"name":"a","arguments":{"x":1}},"id":"call_0",)"
                         R"("type":"function"})");
}

TEST(OllamaMessages, ThatAreWrongAreNamed) {
  EXPECT_EQ(messages_of("[1]"), "'messages[0]' must be an object, not an integer");
  EXPECT_EQ(messages_of(R"([{"role": "user", "tool_calls": 1}])"),
            "'messages[0].tool_calls' must be an array, not an integer");
  EXPECT_EQ(messages_of(R"([{"role": "user", "tool_calls": [1]}])"),
            "'messages[0].tool_calls[0]' must be an object, not an integer");
  EXPECT_EQ(messages_of(R"([{"role": "tool", "tool_name": 1}])"),
            "'messages[0].tool_name' must be a string, not an integer");
}

}  // namespace
}  // namespace ruv
