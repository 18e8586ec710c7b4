// Dialects are found from templates: small ones here, in the shapes of real ones.
#include "chat/tools/find_dialect.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/rendered_chat.h"
#include "chat/tools/answer_format.h"
#include "chat/tools/derive_dialect.h"
#include "chat/tools/tool_parser.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::shared_ptr<const ChatTemplate> template_of(const std::string& calls,
                                                const std::string& begin = "",
                                                const std::string& end = "") {
  const std::string source =
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
      "{% if m.tool_calls %}" +
      begin + "{% for c in m.tool_calls %}" + calls + "{% endfor %}" + end +
      "{% endif %}<|end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  return ChatTemplate::parse(source).value();
}

const std::string kObject =
    "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}";

TEST(FindDialect, KnowsADialectByWhatTheTemplateRenders) {
  const auto json = template_of("<tool_call>\n" + kObject + "\n</tool_call>\n");
  EXPECT_EQ(json->dialect().dialect.name, "hermes_json");
  EXPECT_EQ(json->dialect().source, DialectSource::rendered);
  EXPECT_TRUE(json->dialect().dialect.parallel);
  const auto tagged = template_of(
      "<tool_call>\n<function={{ c.function.name }}>\n"
      "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n"
      "{% endfor %}</function>\n</tool_call>");
  EXPECT_EQ(tagged->dialect().dialect.name, "tagged_parameters");
  const auto named =
      template_of("[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}");
  EXPECT_EQ(named->dialect().dialect.name, "bracket_json");
}

TEST(FindDialect, ReadsHintsOfATemplateThatShowsNoCalls) {
  const auto hinted = ChatTemplate::parse(
      "{% if tools %}Answer with <tool_call>{\"name\": …, \"arguments\": …}</tool_call>"
      "{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ((*hinted)->dialect().dialect.name, "hermes_json");
  EXPECT_EQ((*hinted)->dialect().source, DialectSource::hinted);
  const auto none = ChatTemplate::parse("{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ((*none)->dialect().source, DialectSource::none);
}

// Formats that no row of the table has.
TEST(FindDialect, DerivesUnknownFormats) {
  const std::string name = "{{ c.function.name }}";
  const std::string arguments = "{{ c.function.arguments | tojson }}";
  const std::pair<std::shared_ptr<const ChatTemplate>, const char*> kTemplates[] = {
      {template_of("{\"tool\": \"" + name + "\", \"input\": " + arguments +
                       "}{% if not loop.last %}, {% endif %}",
                   "@@calls[", "]@@"),
       "derived_object"},
      {template_of("@@call " + kObject + " @@done\n"), "derived_object"},
      {template_of("@@" + name + " with " + arguments + "@@\n"), "derived_named_json"},
      {template_of("<<call " + name +
                       ">>{% for k, v in c.function.arguments.items() %}"
                       "<<arg {{ k }}>>{{ v }}<</arg>>{% endfor %}<</call>>",
                   "<<calls>>", "<</calls>>"),
       "derived_tagged"},
  };
  for (const auto& [chat_template, wanted] : kTemplates) {
    const FoundDialect& found = chat_template->dialect();
    EXPECT_EQ(found.source, DialectSource::derived) << wanted;
    EXPECT_EQ(found.dialect.name, wanted);
    EXPECT_TRUE(found.dialect.parallel);
  }
}

TEST(FindDialect, DerivesNothingWithoutAMark) {
  const std::vector<ToolCall> calls = {{"f", "", R"({"a": "x", "b": 7})"},
                                       {"g", "", R"({"a": "y"})"}};
  EXPECT_FALSE(derive_dialect(R"(f {"a": "x", "b": 7} g {"a": "y"})", "", calls));
  EXPECT_FALSE(derive_dialect("nothing of the kind", "", calls));
  EXPECT_FALSE(derive_dialect("", "", {}));
}

// A template that trims texts writes its own line break; one that does not must get the text
// without.
TEST(FindDialect, FindsTheSpaceBeforeTheFirstCall) {
  const std::string calls = "{{ '\\n<tool_call>\\n' }}" + kObject + "\n</tool_call>";
  EXPECT_EQ(template_of(calls)->dialect().dialect.gap, "\n");
  const auto trimming = ChatTemplate::parse(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% for c in m.tool_calls or [] "
      "%}" +
      calls + "{% endfor %}{% endfor %}");
  EXPECT_EQ((*trimming)->dialect().dialect.gap, "");
}

// Ids of other lengths are an error of the template.
TEST(FindDialect, KnowsTemplatesThatWantShortIds) {
  const std::string call =
      "[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}";
  EXPECT_FALSE(template_of(call)->dialect().dialect.has_ids);
  const std::string check =
      "{% if c.id | length != 9 %}{{ raise_exception('short ids') }}{% endif %}";
  const auto wants = template_of(check + call);
  EXPECT_EQ(wants->dialect().dialect.name, "bracket_json");
  EXPECT_TRUE(wants->dialect().dialect.has_ids);
}

TEST(FindDialect, FindsTheMarksOfReasoning) {
  const auto thinks = ChatTemplate::parse(
      "{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}<think>\n");
  EXPECT_EQ((*thinks)->dialect().dialect.reasoning.end, "\n</think>\n\n");
  EXPECT_EQ((*thinks)->dialect().source, DialectSource::none);
}

TEST(PromptTail, IsWhatTheTemplateWroteLast) {
  const std::vector<RenderedPart> asks = {
      {"<|user|>"}, {"<think>", true}, {"<|end|><|assistant|>"}};
  EXPECT_EQ(prompt_tail(asks), "<|end|><|assistant|>");
  const std::vector<RenderedPart> continues = {
      {"<|user|>"}, {"x", true}, {"<|assistant|>"}, {"Hello", true}};
  EXPECT_EQ(prompt_tail(continues), "<|assistant|>");
  EXPECT_EQ(prompt_tail({}), "");
}

TEST(AnswerFormat, ShowsTheControlTokensOfItsMarks) {
  // bos is 256; of the two control tokens that follow, one is in a mark.
  TokenizerSpec spec = byte_test_spec({});
  const auto first = static_cast<Token>(spec.tokens.size());
  add_test_added(spec, {.text = "<tool_call>", .special = true});
  add_test_added(spec, {.text = "<|end|>", .special = true});
  const auto tokenizer = test_tokenizer(std::move(spec));
  const auto chat_template = template_of("<tool_call>\n" + kObject + "\n</tool_call>");
  const AnswerFormat format = answer_format(*chat_template, tokenizer.get());
  EXPECT_TRUE(format.has_calls);
  EXPECT_EQ(format.shown, std::vector<Token>{first});
  Detokenizer shown(*tokenizer);
  shown.show(format.shown);
  EXPECT_EQ(shown.push(first) + shown.push('x') + shown.push(first + 1), "<tool_call>x");
}

}  // namespace
}  // namespace ruv
