// Conversations as JSON: what is read, what is refused and how, and that the writer's text is read
// back as the same messages.
#include "chat/read_conversation.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ruv {
namespace {

FieldError refusal(const char* messages) {
  const Json json = {{"messages", parse_json(messages, "test").value()}};
  const auto conversation = read_conversation(json);
  return conversation ? FieldError{} : conversation.error();
}

TEST(ReadConversation, NamesWhatItRefuses) {
  using Kind = FieldError::Kind;
  const FieldError image = refusal(
      R"([{"role":"user","content":"x"},
          {"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}])");
  EXPECT_EQ(image.kind, Kind::unsupported);
  EXPECT_EQ(image.field, "messages[1].content[0].type");
  EXPECT_EQ(image.message,
            "'messages[1].content[0].type' is 'image_url'; only 'text' is supported");
  EXPECT_EQ(refusal(R"({"role":"user"})").kind, Kind::wrong_type);
  EXPECT_EQ(refusal(R"([])").field, "messages");
  EXPECT_EQ(refusal(R"(["x"])").message, "'messages[0]' must be an object, not a string");
  EXPECT_EQ(refusal(R"([{"content":"x"}])").message, "'messages[0].role' is required");
  EXPECT_EQ(refusal(R"([{"role":1,"content":"x"}])").field, "messages[0].role");
  EXPECT_EQ(refusal(R"([{"role":"user","content":5}])").field, "messages[0].content");
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"text":"x"}]}])").kind, Kind::missing);
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text"}]}])").field,
            "messages[0].content[0].text");
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text","text":"x","a":1}]}])").kind,
            Kind::unknown);
}

TEST(ReadConversation, KeepsMediaUntilItIsChecked) {
  const Json list =
      parse_json(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}])",
                 "test")
          .value();
  const std::vector<Message> messages = read_messages(list).value();
  EXPECT_EQ(std::get<MediaContent>(messages[0].parts[0]).url, "u");
  EXPECT_EQ(check_conversation({messages}).error().kind, FieldError::Kind::unsupported);
  EXPECT_EQ(messages_json(messages), list);
}

TEST(ReadConversation, ADeveloperIsTheSystem) {
  EXPECT_EQ(
      parse_conversation(R"({"messages":[{"role":"developer","content":"x"}]})")->messages[0].role,
      "system");
}

TEST(ReadConversation, WhatIsWrittenIsReadBack) {
  for (const char* text : {
           R"([{"role":"user","content":"a"}])",
           R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])",
           R"([{"role":"assistant","content":"","tool_calls":[{"id":"1"}]}])",
           R"([{"role":"assistant","content":null,"name":"x"}])",
           R"([{"role":"tool"}])",
           R"([])",
       }) {
    const Json list = parse_json(text, "test").value();
    EXPECT_EQ(messages_json(read_messages(list).value()).dump(), text);
  }
}

TEST(ReadConversation, EndsOfPrompts) {
  const auto end_of = [](const std::string& members) {
    return parse_conversation(R"({"messages":[{"role":"assistant","content":"x"}])" + members + "}")
        .value()
        .end;
  };
  EXPECT_EQ(end_of(""), PromptEnd::answer);
  EXPECT_EQ(end_of(R"(,"add_generation_prompt":false)"), PromptEnd::closed);
  EXPECT_EQ(end_of(R"(,"continue_final_message":true)"), PromptEnd::open_message);
  EXPECT_FALSE(parse_conversation(
      R"({"messages":[{"role":"user","content":"x"}],"continue_final_message":true})"));
  EXPECT_FALSE(parse_conversation(R"({"messages":[{"role":"assistant","content":"x"}],
      "continue_final_message":true,"add_generation_prompt":true})"));
}

}  // namespace
}  // namespace ruv
