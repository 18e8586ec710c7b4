// What becomes of OpenAI's messages on their way to a template.
#include "chat/messages.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ruv {
namespace {

Json json_of(const char* text) { return parse_json(text, "test").value(); }

TEST(TemplateContext, JoinsTextParts) {
  const Json messages = json_of(
      R"([{"role":"user","content":[{"type":"text","text":"a "},{"type":"text","text":"b"}]},
          {"role":"assistant","content":null}])");
  const auto context = template_context(messages, nullptr, true, nullptr);
  ASSERT_TRUE(context.has_value()) << context.error().message();
  EXPECT_EQ((*context)["messages"][0]["content"], "a b");
  EXPECT_TRUE((*context)["messages"][1]["content"].is_null());
  EXPECT_TRUE((*context)["tools"].is_null());
  EXPECT_EQ((*context)["add_generation_prompt"], true);
}

// Templates ask whether it is defined.
TEST(TemplateContext, AMessageWithoutContentStaysSo) {
  const Json messages = json_of(R"([{"role":"assistant","tool_calls":[]}])");
  const auto context = template_context(messages, nullptr, true, nullptr);
  ASSERT_TRUE(context.has_value()) << context.error().message();
  EXPECT_FALSE((*context)["messages"][0].contains("content"));
}

TEST(TemplateContext, NamesWhatItRefuses) {
  const auto refusal = [](const char* messages) {
    const auto context = template_context(json_of(messages), nullptr, true, nullptr);
    return context ? Status() : context.error();
  };
  const Status image = refusal(
      R"([{"role":"user","content":"x"},
          {"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}])");
  EXPECT_EQ(image.code(), Code::unsupported);
  EXPECT_NE(image.message().find("messages[1]"), std::string::npos);
  EXPECT_NE(image.message().find("image_url"), std::string::npos);
  EXPECT_EQ(refusal(R"({"role":"user"})").code(), Code::invalid);
  EXPECT_EQ(refusal(R"(["x"])").code(), Code::invalid);
  EXPECT_EQ(refusal(R"([{"content":"x"}])").code(), Code::invalid);
  EXPECT_EQ(refusal(R"([{"role":1,"content":"x"}])").code(), Code::invalid);
  EXPECT_EQ(refusal(R"([{"role":"user","content":5}])").code(), Code::invalid);
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"text":"x"}]}])").code(), Code::invalid);
  EXPECT_EQ(refusal(R"([{"role":"user","content":[{"type":"text"}]}])").code(), Code::invalid);
}

TEST(TemplateContext, TakesToolsAndVariables) {
  const Json tools = json_of(R"([{"type":"function"}])");
  const Json variables = json_of(R"({"enable_thinking":false,"messages":"no"})");
  const auto context = template_context(Json::array(), &tools, false, &variables);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ((*context)["tools"], tools);
  EXPECT_EQ((*context)["enable_thinking"], false);
  EXPECT_TRUE((*context)["messages"].is_array());
  const Json none = Json::array();
  EXPECT_TRUE((*template_context(Json::array(), &none, false, nullptr))["tools"].is_null());
  EXPECT_FALSE(template_context(Json::array(), &variables, false, nullptr).has_value());
  EXPECT_FALSE(template_context(Json::array(), nullptr, false, &tools).has_value());
}

const char* kToolCall =
    R"([{"role":"assistant","content":"","tool_calls":[{"type":"function","function":
        {"name":"f","arguments":"{\"b\": 1, \"a\": \"é\"}"}}]}])";

TEST(TemplateContext, ArgumentsBecomeObjects) {
  const auto context = template_context(json_of(kToolCall), nullptr, false, nullptr);
  ASSERT_TRUE(context.has_value());
  const Json& arguments = (*context)["messages"][0]["tool_calls"][0]["function"]["arguments"];
  EXPECT_EQ(arguments.dump(), R"({"b":1,"a":"é"})");
}

std::string fitted(const char* source, const char* messages) {
  const auto context = template_context(json_of(messages), nullptr, false, nullptr);
  const auto parts = render_chat(**ChatTemplate::parse(source), *context, {});
  return parts ? joined(*parts) : parts.error().message();
}

TEST(RenderChat, GivesTheFormThatTheTemplateReads) {
  EXPECT_EQ(fitted("{% for m in messages %}{{ m.content[0].text }}{% endfor %}",
                   R"([{"role":"user","content":"a"}])"),
            "a");
  EXPECT_EQ(fitted("{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}"
                   "{{ c.function.name }}{{ c.function.arguments }}{% endfor %}{% else %}-"
                   "{{ m.content }}{% endif %}{% endfor %}",
                   R"([{"role":"user","content":"u"},{"role":"assistant","content":"","tool_calls":
                       [{"function":{"name":"f","arguments":{"a":1}}}]}])"),
            R"(-uf{"a":1})");
  EXPECT_EQ(fitted("{% for m in messages %}{{ m.content }}{{ m.thinking }}{% endfor %}",
                   R"([{"role":"assistant","content":"c","reasoning_content":"r"}])"),
            "cr");
  EXPECT_EQ(fitted("{% set s = messages[0] %}{% if s.role == 'system' %}{{ s.content[0].text }}:"
                   "{% endif %}{{ messages[-1].content }}",
                   R"([{"role":"system","content":"s"},{"role":"user","content":"u"}])"),
            "s:u");
}

TEST(RenderChat, GivesTextArgumentsToTemplatesThatWantThem) {
  const auto context = template_context(json_of(kToolCall), nullptr, false, nullptr);
  ASSERT_TRUE(context.has_value());
  const auto rendered = [&](const char* source) {
    const auto parts = render_chat(**ChatTemplate::parse(source), *context, {});
    return parts ? joined(*parts) : parts.error().message();
  };
  EXPECT_EQ(rendered("{{ messages[0].tool_calls[0].function.arguments | tojson }}"),
            R"({"b": 1, "a": "é"})");
  EXPECT_EQ(rendered("{{ '>' + messages[0].tool_calls[0].function.arguments }}"),
            R"(>{"b":1,"a":"é"})");
  EXPECT_NE(rendered("{{ raise_exception('no') }}").find("no"), std::string::npos);
}

}  // namespace
}  // namespace ruv
