// What a template is given of a conversation.
#include "chat/template_context.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "chat/rendered_chat.h"

namespace ruv {
namespace {

// A template of which nothing is known but that it takes texts.
TemplateCapabilities plain() {
  TemplateCapabilities can;
  can.content_text = can.arguments_object = true;
  return can;
}

Json context_of(const char* json, const TemplateCapabilities& can = plain()) {
  return template_context(parse_conversation(json).value(), can);
}

const char* kTwoParts = R"({"messages": [{"role": "user", "content":
    [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]}]})";

TEST(TemplateContext, SeveralTextsAreAListWhereTheTemplateShowsLists) {
  EXPECT_EQ(context_of(kTwoParts)["messages"][0]["content"], "a b");
  TemplateCapabilities can = plain();
  can.list_roles = {"assistant"};
  EXPECT_EQ(context_of(kTwoParts, can)["messages"][0]["content"], "a b");
  can.list_roles = {"assistant", "user"};
  EXPECT_EQ(context_of(kTwoParts, can)["messages"][0]["content"].dump(),
            R"([{"type":"text","text":"a "},{"type":"text","text":"b"}])");
}

TEST(TemplateContext, OneTextIsATextHoweverItWasSent) {
  TemplateCapabilities can = plain();
  can.list_roles = {"user"};
  for (const char* json :
       {R"({"messages": [{"role": "user", "content": "a"}]})",
        R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]})"}) {
    EXPECT_EQ(context_of(json, can)["messages"][0]["content"], "a") << json;
  }
}

TEST(TemplateContext, HasNoToolsAsNull) {
  EXPECT_TRUE(context_of(kTwoParts)["tools"].is_null());
  EXPECT_EQ(context_of(kTwoParts)["add_generation_prompt"], true);
}

// Templates ask whether it is defined.
TEST(TemplateContext, AMessageWithoutContentStaysSo) {
  const Json context = context_of(R"({"messages": [{"role":"assistant","tool_calls":[]},
                                                   {"role":"assistant","content":null}]})");
  EXPECT_FALSE(context["messages"][0].contains("content"));
  EXPECT_TRUE(context["messages"][1].contains("content"));
  EXPECT_TRUE(context["messages"][1]["content"].is_null());
}

TEST(TemplateContext, TakesToolsAndVariables) {
  const Json context = context_of(
      R"({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}],
          "add_generation_prompt": false,
          "chat_template_kwargs": {"enable_thinking": false, "messages": "no"}})");
  EXPECT_EQ(context["tools"].dump(), R"([{"type":"function"}])");
  EXPECT_EQ(context["enable_thinking"], false);
  EXPECT_EQ(context["add_generation_prompt"], false);
  EXPECT_TRUE(context["messages"].is_array());
  EXPECT_TRUE(
      context_of(R"({"messages": [{"role": "user", "content": "x"}], "tools": []})")["tools"]
          .is_null());
}

const char* kToolCall =
    R"({"messages": [{"role":"assistant","content":"","tool_calls":[{"type":"function","function":
        {"name":"f","arguments":"{\"b\": 1, \"a\": \"é\"}"}}]}]})";

TEST(TemplateContext, ArgumentsBecomeObjects) {
  const Json context = context_of(kToolCall);
  const Json& arguments = context["messages"][0]["tool_calls"][0]["function"]["arguments"];
  EXPECT_EQ(arguments.dump(), R"({"b":1,"a":"é"})");
}

std::string fitted(const char* source, const std::string& messages) {
  const auto conversation =
      parse_conversation(R"({"add_generation_prompt": false, "messages": )" + messages + "}");
  const auto chat = render_conversation(**ChatTemplate::parse(source), {}, *conversation);
  return chat ? joined(chat->parts) : chat.error().message();
}

TEST(TemplateContext, GivesTheFormThatTheTemplateReads) {
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

TEST(TemplateContext, GivesTextArgumentsToTemplatesThatWantThem) {
  const auto rendered = [&](const char* source) {
    const auto chat =
        render_conversation(**ChatTemplate::parse(source), {}, *parse_conversation(kToolCall));
    return chat ? joined(chat->parts) : chat.error().message();
  };
  EXPECT_EQ(rendered("{{ messages[0].tool_calls[0].function.arguments | tojson }}"),
            R"({"b": 1, "a": "é"})");
  EXPECT_EQ(rendered("{{ '>' + messages[0].tool_calls[0].function.arguments }}"),
            R"(>{"b":1,"a":"é"})");
  EXPECT_NE(rendered("{{ raise_exception('no') }}").find("no"), std::string::npos);
}

}  // namespace
}  // namespace ruv
