#include "chat/tools/call_grammar.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ruv::call_grammar_test {
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

TEST(CallGrammar, HasTheToolsThatAreAskedFor) {
  const auto made = call_grammar(format_of("namespaced_tagged_parameters"), two_tools(),
                                 {.names = {"add"}, .required = true, .parallel = false});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->find("\"a\""), std::string::npos) << *made;
  EXPECT_NE(made->find("\"note\""), std::string::npos) << *made;
  EXPECT_EQ(made->find("\"stop\""), std::string::npos) << *made;
  EXPECT_EQ(made->find("call)*"), std::string::npos) << *made;  // one call only
}

// What the prompt has written already does not come again.
TEST(CallGrammar, ContinuesThePrompt) {
  const auto start_of = [](const AnswerFormat& format, const std::string& tail) {
    const auto made = call_grammar(format, two_tools(), {.required = true, .prompt_tail = tail});
    EXPECT_TRUE(made);
    return made ? made->substr(made->find("start:")) : "";
  };
  const AnswerFormat recipient = format_of("recipient_json");
  EXPECT_NE(start_of(recipient, "").find("section"), std::string::npos);
  EXPECT_NE(start_of(recipient, "<|assistant|>>>>").find("first0"), std::string::npos);
  AnswerFormat thinks = format_of("hermes_json");
  thinks.dialect.reasoning = {.begin = "<seed:think>", .end = "</seed:think>"};
  EXPECT_NE(start_of(thinks, "").find("<seed:think>"), std::string::npos);
  const std::string begun = start_of(thinks, "<seed:think>");
  EXPECT_EQ(begun.find("\"<seed:think>"), std::string::npos) << begun;
  EXPECT_EQ(begun.find(")?"), std::string::npos) << begun;  // the reasoning must end
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
}

// What cannot be said is refused with its place, never left out.
TEST(CallGrammar, WhatCannotBeHeldIsRefusedWithItsPlace) {
  const auto error_of = [](const char* dialect, const std::string& parameters) {
    const Json tools = *parse_json(
        R"([{"type": "function", "function": {"name": "f", "parameters": )" + parameters + "}}]",
        "tools");
    const auto made = call_grammar(format_of(dialect), tools, {});
    return made ? std::string() : made.error().message();
  };
  const auto of_member = [](const std::string& schema) {
    return R"({"type": "object", "properties": {"a": )" + schema + "}}";
  };
  const std::string spaces = of_member(R"({"type": "string", "pattern": "\\s"})");
  for (const char* dialect : {"namespaced_tagged_parameters", "nested_elements", "quoted_braces"}) {
    EXPECT_NE(error_of(dialect, spaces).find("#/properties/a"), std::string::npos) << dialect;
    EXPECT_EQ(error_of(dialect, of_member(R"({"type": "string", "pattern": "^x+$"})")), "");
    const std::string root = error_of(dialect, R"({"type": "object", "minProperties": 1})");
    EXPECT_NE(root.find("minProperties"), std::string::npos) << root;
    const std::string missing = error_of(dialect, R"({"type": "object", "required": ["b"]})");
    EXPECT_NE(missing.find("required"), std::string::npos) << missing;
  }
  // JSON holds everything, and so does Python, whose reader takes JSON.
  for (const char* dialect : {"hermes_json", "pythonic_list", "bracket_json"}) {
    EXPECT_EQ(error_of(dialect, spaces), "");
  }
  const std::string open = R"({"type": "object", "additionalProperties": {"type": "integer"}})";
  EXPECT_NE(error_of("quoted_braces", of_member(open)).find("any keys"), std::string::npos);
  EXPECT_EQ(error_of("namespaced_tagged_parameters", of_member(open)), "");
}

TEST(CallGrammar, SchemasMayContainThemselves) {
  const auto made = [](const char* dialect, const char* schema) {
    const Json tools =
        *parse_json(fmt::format(R"([{{"name": "f", "parameters": {}}}])", schema), "tools");
    return call_grammar(format_of(dialect), tools, {}).has_value();
  };
  for (const char* dialect :
       {"nested_elements", "quoted_braces", "pythonic_list", "tagged_parameters"}) {
    EXPECT_TRUE(made(dialect, R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}},
        "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}})"))
        << dialect;
  }
  EXPECT_FALSE(made("quoted_braces", R"({"properties": {"a": {"$ref": "#/properties/a"}}})"));
}

// Work and size are bounded for schemas that were made to be expensive.
TEST(CallGrammar, ExpensiveSchemasAreRefused) {
  const auto made = [](const char* dialect, const Json& parameters) {
    const Json tools = Json::array({Json{{"name", "f"}, {"parameters", parameters}}});
    return call_grammar(format_of(dialect), tools, {});
  };
  // Each definition is twice the next.
  Json doubling = {{"type", "object"}, {"properties", {{"a", {{"$ref", "#/$defs/0"}}}}}};
  Json definitions = Json::object();
  for (int i = 0; i < 40; ++i) {
    const Json next = {{"$ref", fmt::format("#/$defs/{}", i + 1)}};
    definitions[std::to_string(i)] = Json{{"anyOf", Json::array({next, next})}};
  }
  definitions["40"] = Json{{"type", "integer"}};
  doubling["$defs"] = definitions;
  for (const char* dialect : {"nested_elements", "quoted_braces"}) {
    const auto grammar = made(dialect, doubling);
    ASSERT_FALSE(grammar) << dialect;
    EXPECT_EQ(grammar.error().code(), Code::unsupported) << dialect;
  }
  // Many arguments, each of which needs the whole schema.
  Json wide = {{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 3'000; ++i) {
    wide["properties"][fmt::format("argument_{}", i)] =
        Json{{"type", "array"}, {"items", {{"$ref", "#/properties/argument_0"}}}};
  }
  const auto grammar = made("tagged_parameters", wide);
  ASSERT_FALSE(grammar);
  EXPECT_NE(grammar.error().message().find("references"), std::string::npos);
}

}  // namespace
}  // namespace ruv::call_grammar_test
