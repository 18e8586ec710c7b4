#include "chat/tools/call_grammar.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ruv {
namespace {

AnswerFormat format_of(std::string_view dialect) {
  AnswerFormat format;
  for (const ToolDialect& row : tool_dialects()) {
    if (row.name == dialect) format.dialect = row;
  }
  format.has_calls = true;
  return format;
}

Json two_tools() {
  return *parse_json(R"([
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object",
      "properties": {"a": {"type": "integer"}, "note": {"type": "string"}}, "required": ["a"]}}},
    {"type": "function", "function": {"name": "stop"}}])",
                     "tools");
}

TEST(CallGrammar, TagsComeInTheOrderOfTheSchema) {
  const auto made = call_grammar(format_of("namespaced_tagged_parameters"), two_tools(),
                                 {.names = {"add"}, .required = true, .parallel = false});
  ASSERT_TRUE(made) << made.error().message();
  const size_t a = made->find("\"a\"");
  const size_t note = made->find("\"note\"");
  ASSERT_NE(a, std::string::npos) << *made;
  ASSERT_NE(note, std::string::npos) << *made;
  EXPECT_LT(a, note);
  EXPECT_EQ(made->find("\"stop\""), std::string::npos) << *made;
  EXPECT_EQ(made->find("call)*"), std::string::npos) << *made;  // one call only
}

TEST(CallGrammar, ControlTokensAreTokens) {
  AnswerFormat format = format_of("bracket_token_list");
  format.control = {{"[TOOL_CALLS]", 7}};
  const auto made = call_grammar(format, two_tools(), {.required = true});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->find("<[7]>"), std::string::npos) << *made;
  EXPECT_EQ(made->find("[TOOL_CALLS]"), std::string::npos) << *made;
  EXPECT_NE(made->find("\"const\":\"stop\""), std::string::npos) << *made;
  EXPECT_NE(made->find("^[a-zA-Z0-9]{9}$"), std::string::npos) << *made;
}

// How often the grammar forbids other members in the arguments of a tool with this schema.
size_t closed_objects(std::string_view parameters) {
  Json tool = *parse_json(R"([{"function": {"name": "f"}}])", "tools");
  if (!parameters.empty()) tool[0]["function"]["parameters"] = *parse_json(parameters, "schema");
  AnswerFormat format = format_of("hermes_json");
  const auto made = call_grammar(format, tool, {.required = true});
  if (!made) return SIZE_MAX;
  constexpr std::string_view kClosed = R"("additionalProperties":false)";
  size_t n = 0;
  for (size_t at = made->find(kClosed); at != std::string::npos; at = made->find(kClosed, at + 1)) {
    ++n;
  }
  return n - 1;  // the call itself is such an object
}

TEST(CallGrammar, OnlyListedParametersUnlessTheSchemaSaysMore) {
  EXPECT_EQ(closed_objects(""), 1u);
  EXPECT_EQ(closed_objects(R"({"type": "object", "properties": {"a": {}}})"), 1u);
  EXPECT_EQ(closed_objects(R"({"properties": {"a": {"properties": {"b": {}}}}})"), 1u);
  for (const char* open :
       {R"({"type": "object"})", R"({"properties": {}, "additionalProperties": true})",
        R"({"properties": {}, "patternProperties": {"^x": {}}})",
        R"({"properties": {}, "allOf": [{"properties": {"b": {}}}]})",
        R"({"properties": {"a": {}}, "required": ["b"]})"}) {
    EXPECT_EQ(closed_objects(open), 0u) << open;
  }
}

TEST(CallGrammar, CallsOrAValueOfASchema) {
  const std::string schema = R"({"type":"boolean"})";
  const AnswerFormat format = format_of("bracket_token_list");
  const auto made = call_grammar(format, two_tools(), {.content_schema = schema});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->find("(section | %json " + schema + ")"), std::string::npos) << *made;
  EXPECT_EQ(made->find("TEXT"), std::string::npos) << *made;
  const auto calls =
      call_grammar(format, two_tools(), {.required = true, .content_schema = schema});
  ASSERT_TRUE(calls) << calls.error().message();
  EXPECT_EQ(calls->find(schema), std::string::npos) << *calls;  // there is no content
}

TEST(CallGrammar, WhatIsNoGrammarIsRefusedByName) {
  const auto unknown = call_grammar(format_of("bracket_token_list"), two_tools(), {.names = {"x"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::invalid);
  AnswerFormat plain;
  EXPECT_EQ(call_grammar(plain, two_tools(), {}).error().code(), Code::unsupported);
  const Json limited = *parse_json(R"([{"type": "function", "function": {"name": "f", "parameters":
      {"properties": {"a": {"type": "string", "pattern": "x"}}}}}])",
                                   "tools");
  EXPECT_EQ(call_grammar(format_of("namespaced_tagged_parameters"), limited, {}).error().code(),
            Code::unsupported);
}

}  // namespace
}  // namespace ruv
