// Response templates in the shapes of those that models have, and what must be refused of others.
#include "chat/tools/response_template.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/tools/response_pattern.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"

namespace ruv {
namespace {

// A template that shows no calls.
const std::string kPlainTemplate =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

Json with_calls(const std::string& calls) {
  Json spec = {{"version", 1},
               {"defaults", {{"role", "assistant"}}},
               {"start_anchor", "<|assistant|>"},
               {"fields", {{"content", {{"close", "<|end|>"}}}}}};
  spec["fields"]["tool_calls"] = parse_json(calls, "calls").value();
  return spec;
}

std::string error_of(const Json& spec) {
  const auto read = read_response_template(spec.dump());
  return read ? "" : read.error().message();
}

// The calls that the declared dialect reads, as one text.
std::string read_calls(const std::string& calls, std::string_view answer) {
  auto declared = read_response_template(with_calls(calls).dump());
  if (!declared) return declared.error().message();
  const auto chat = ChatTemplate::parse(kPlainTemplate, *declared).value();
  const FoundDialect& found = chat->dialect();
  if (found.source != DialectSource::declared) return "not declared";
  ToolParser parser(found.dialect, {});
  std::vector<ToolDelta> deltas;
  parser.feed(answer, deltas);
  parser.finish(deltas);
  ToolMessage message;
  for (const ToolDelta& delta : deltas) message.add(delta);
  std::string text = message.content();
  for (const ToolCall& call : message.calls()) text += "|" + call.name + call.arguments + call.id;
  return text;
}

TEST(ResponseTemplate, ObjectsBetweenMarks) {
  EXPECT_EQ(read_calls(R"J({"open_pattern": "\\s*<call>", "close": "</call>", "repeats": true,
                "content": "json", "transform": {"type": "function", "function": "{content}"}})J",
                       "Now:\n<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call>\n"
                       "<call>{\"name\": \"g\", \"arguments\": {}}</call>"),
            "Now:|f{\"a\": 1}|g{}");
  EXPECT_EQ(read_calls(R"J({"open_pattern": "\\n\\s*<call>", "close": "</call>",
                "content": "json", "transform": {"function": "{content}"}})J",
                       "Now\n<call>{\"name\": \"f\", \"arguments\": {}}</call>"),
            "Now|f{}");
  EXPECT_EQ(read_calls(R"J({"open": ["<<"], "close": ">>", "content": "json", "transform":
                {"id": "{content.nr}", "function": {"name": "{content.tool}",
                                                    "arguments": "{content.input}"}}})J",
                       R"(<<{"tool": "f", "input": {"a": 1}, "nr": "x7"}>>)"),
            "|f{\"a\": 1}x7");
}

TEST(ResponseTemplate, ListsOfCalls) {
  EXPECT_EQ(read_calls(
                R"J({"open": "<calls>", "close": "</calls>", "content": "json",
                "transform_each": true, "transform": {"type": "function",
                "function": {"name": "{tool}", "arguments": "{input}"}}})J",
                R"(<calls>[{"tool": "f", "input": {"a": 1}}, {"tool": "g", "input": {}}]</calls>)"),
            "|f{\"a\": 1}|g{}");
}

TEST(ResponseTemplate, NamesInMarks) {
  const char* const kNamed = R"J({"open_pattern": "<call:(?P<name>\\w+) nr=(?P<nr>\\d+)>",
      "close_pattern": "\\s*</call>", "repeats": true, "content": "json", "transform":
      {"id": "{nr}", "function": {"name": "{name}", "arguments": "{content}"}}})J";
  EXPECT_EQ(read_calls(kNamed, "<call:f nr=12>{\"a\": 1}\n</call>"), "|f{\"a\": 1}12");
}

TEST(ResponseTemplate, ArgumentsBetweenTags) {
  const char* const kTagged = R"J({"open_pattern": "\\s*<run>\\s*<fn=(?P<name>[^>\\n]+)>",
      "close_pattern": "</fn>\\s*</run>", "repeats": true, "content": "xml-inline",
      "content_args": {"tag_pattern": "<arg=(?P<key>[^>\\n]+)>\\s*(?P<value>.*?)\\s*</arg>"},
      "transform": {"function": {"name": "{name}", "arguments": "{content}"}}})J";
  EXPECT_EQ(read_calls(kTagged,
                       "<run>\n<fn=f>\n<arg=a>\nx y\n</arg>\n<arg=b>\n7\n</arg>\n</fn>\n"
                       "</run>"),
            R"(|f{"a":"x y","b":7})");
}

TEST(ResponseTemplate, LiteralsWithQuotesOfTheirOwn) {
  EXPECT_EQ(read_calls(R"J({"open_pattern": "<\\|call>run:(?P<name>\\w+)", "close": "<call|>",
                "repeats": true, "content": "json", "content_args": {"unquoted_keys": true,
                "string_delims": [["<|'|>", "<|'|>"]]},
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}}})J",
                       "<|call>run:f{a:<|'|>it's \"so\"<|'|>,n:[1,true]}<call|>"),
            R"(|f{"a":"it's \"so\"","n":[1,true]})");
}

TEST(ResponseTemplate, Reasoning) {
  const auto marks_of = [](const Json& field, const char* name = "reasoning_content") {
    const Json spec = {{"start_anchor", "a"}, {"fields", {{name, field}}}};
    const auto declared = read_response_template(spec.dump());
    EXPECT_TRUE(declared) << (declared ? "" : declared.error().message());
    return declared ? declared->reasoning : ReasoningMarks();
  };
  EXPECT_EQ(marks_of({{"open", "<muse>"}, {"close", "</muse>"}}).begin, "<muse>");
  EXPECT_EQ(marks_of({{"open", "<muse>"}, {"close", "</muse>"}}, "thinking").end, "</muse>");
  EXPECT_EQ(marks_of({{"close_pattern", R"(\s*</muse>)"}}).end, "\n</muse>");
  // Known marks keep what the table knows besides.
  EXPECT_TRUE(marks_of({{"open", "<think>"}, {"close", "</think>"}}).ended_by_call);
  // The model's own template writes no marks.
  const Json spec = {{"fields", {{"thinking", {{"open", "<muse>"}, {"close", "</muse>"}}}}}};
  const auto chat =
      ChatTemplate::parse(kPlainTemplate, *read_response_template(spec.dump())).value();
  EXPECT_EQ(chat->dialect().dialect.reasoning.end, "</muse>");
  EXPECT_EQ(chat->dialect().source, DialectSource::none);
}

// What the chat template writes is what the model was trained on.
TEST(ResponseTemplate, TheChatTemplateComesFirst) {
  const std::string shows =
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
      "{% for c in m.tool_calls or [] %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", "
      "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>\n{% endfor %}{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  const std::string other = R"J({"open": "<other>", "close": "</other>", "content": "json",
      "transform": {"function": "{content}"}})J";
  auto declared = read_response_template(with_calls(other).dump());
  ASSERT_TRUE(declared);
  const auto chat = ChatTemplate::parse(shows, *declared).value();
  EXPECT_EQ(chat->dialect().source, DialectSource::rendered);
  EXPECT_EQ(chat->dialect().dialect.name, "hermes_json");
  // Before what is derived, where it reads what the template writes.
  const std::string unknown =
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
      "{% for c in m.tool_calls or [] %}<other>{\"tool\": \"{{ c.function.name }}\", "
      "\"input\": {{ c.function.arguments | tojson }}}</other>{% endfor %}{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  const std::string keys = R"J({"open": "<other>", "close": "</other>", "content": "json",
      "repeats": true, "transform":
      {"function": {"name": "{content.tool}", "arguments": "{content.input}"}}})J";
  declared = read_response_template(with_calls(keys).dump());
  ASSERT_TRUE(declared);
  const auto same = ChatTemplate::parse(unknown, *declared).value();
  EXPECT_EQ(same->dialect().source, DialectSource::declared);
  EXPECT_EQ(same->dialect().dialect.name, "response_template");
}

TEST(ResponseTemplate, RefusesByName) {
  const auto spec_with = [](const char* name, Json value) {
    Json spec = with_calls(R"({"open": "<", "content": "json", "transform":
                               {"function": "{content}"}})");
    spec[name] = std::move(value);
    return error_of(spec);
  };
  EXPECT_EQ(spec_with("version", 1), "");
  EXPECT_NE(spec_with("version", 2).find("version: is 2"), std::string::npos);
  EXPECT_NE(spec_with("extra", 1).find("unknown member 'extra'"), std::string::npos);
  EXPECT_NE(spec_with("fields", Json::object()).find("fields: must be"), std::string::npos);
  EXPECT_NE(spec_with("fields", {{"images", Json::object()}}).find("fields.images"),
            std::string::npos);
  for (const char* name : {"content", "thinking"}) {
    Json field = {{"open", "<"}, {"close", ">"}};
    EXPECT_EQ(error_of({{"fields", {{name, field}}}}), "");
    field["transform"] = "{content}";
    EXPECT_NE(error_of({{"fields", {{name, field}}}}).find("'transform' of a text"),
              std::string::npos);
  }
  EXPECT_EQ(read_response_template("{").error().code(), Code::corrupt);
  EXPECT_EQ(read_response_template("[]").error().code(), Code::unsupported);
  EXPECT_TRUE(read_response_template(""));
}

TEST(ResponseTemplate, RefusesCallsThatNoDialectHolds) {
  const std::string function = R"("transform": {"function": "{content}"})";
  const std::pair<std::string, const char*> kWrong[] = {
      {R"({"content": "json", )" + function + "}", "opening mark"},
      {R"({"open": "<", "close": "", "content": "json", )" + function + "}", "'close' must be"},
      {R"({"open": "<", "open_pattern": "<", "content": "json", )" + function + "}", "both"},
      {R"({"open": ["<", "["], "content": "json", )" + function + "}", "several texts"},
      {R"({"open_pattern": "<|>", "content": "json", )" + function + "}", "byte 1"},
      {R"({"open": "<", "content": "kv-lines", )" + function + "}", "'kv-lines'"},
      {R"({"open": "<", "content": 7, )" + function + "}", "'content'"},
      {R"({"open": "<", "shut": ">", "content": "json", )" + function + "}", "'shut'"},
      {R"({"open": "<", "repeats": 1, "content": "json", )" + function + "}", "'repeats'"},
      {R"({"open": "<", "content": "json"})", "transform"},
      {R"({"open": "<", "content": "json", "transform": {"function": "{name}"}})", "function"},
      {R"({"open": "<", "content": "json", "transform": {"function": {"name": "f"}}})", "neither"},
      {R"({"open": "<", "content": "json", "content_args": {"lax": 1}, )" + function + "}",
       "'lax'"},
      {R"({"open": "<", "content": "json", "content_args": {"unquoted_keys": true}, )" + function +
           "}",
       "quotes"},
      {R"({"open": "<", "join": " ", "repeats": true, "content": "json", )" + function + "}",
       "'join'"},
      {R"({"open": "<", "content": "json", "transform": {"type": "x", "function": "{content}"}})",
       "transform.type"},
      {R"({"open_pattern": "<(?P<n>\\w+)>", "content": "xml-inline", "content_args": {"tag_pattern":
           "<(?P<key>\\w+)>(?P<value>.*?)<.>", "merge_duplicates": true}, "transform":
           {"function": {"name": "{n}", "arguments": "{content}"}}})",
       "'merge_duplicates'"},
      {R"({"open": "<", "content": "xml-inline", "content_args": {}, )" + function + "}",
       "'xml-inline'"},
  };
  for (const auto& [calls, wanted] : kWrong) {
    const std::string error = error_of(with_calls(calls));
    EXPECT_NE(error.find(wanted), std::string::npos) << calls << ": " << error;
    EXPECT_EQ(error.find("response_template: fields.tool_calls"), 0U) << error;
  }
}

TEST(ResponsePattern, MarksAndGroups) {
  using Kind = PatternPiece::Kind;
  const auto pieces = read_response_pattern(R"(\s*<\|a\|>\n(?P<k>[^\]>]+?){x}(?<v>.*?)\s+z)");
  ASSERT_TRUE(pieces) << pieces.error().message();
  EXPECT_EQ(*pieces, (std::vector<PatternPiece>{{Kind::space},
                                                {Kind::text, "<|a|>\n"},
                                                {Kind::capture, "k"},
                                                {Kind::text, "{x}"},
                                                {Kind::capture, "v"},
                                                {Kind::space},
                                                {Kind::text, "z"}}));
  for (const char* wrong :
       {"a|b",       "a*",         "a{2}",      "(?:a)",       "(a)",   "[ab]",
        "^a",        "a$",         ".",         "\\d",         "\\s",   "\\",
        "(?P<k>.*)", "(?P<k>ab)",  "(?P<k>[a)", "(?P<k>(a)+)", "(?P<k", "(?P<k>",
        "(?P<k>\\",  "(?P<k>\\w+", "(?P<>a+)",  "b?"}) {
    EXPECT_FALSE(read_response_pattern(wrong)) << wrong;
  }
  EXPECT_FALSE(read_response_pattern(std::string(5000, 'a')));
}

}  // namespace
}  // namespace ruv
