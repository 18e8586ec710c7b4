// The parser against what templates write: calls that went into a template come back from its text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "chat/chat_template.h"
#include "chat/rendered_chat.h"
#include "chat/tools/tool_parser.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return given ? fs::path(given) : fs::path(RUV_SOURCE_DIR) / "../shared/data";
}

Json round_tools() {
  return parse_json(R"([
    {"type": "function", "function": {"name": "get_weather", "description": "tells the weather",
      "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "where"},
        "days": {"type": "integer", "description": "how many"},
        "share": {"type": "number", "description": "a number"},
        "metric": {"type": "boolean", "description": "yes or no"},
        "nothing": {"type": "null", "description": "null"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "words"},
        "place": {"type": "object", "properties": {"lat": {"type": "number"},
                  "names": {"type": "array", "items": {"type": "string"}}}, "description": "where"}},
        "required": ["city"]}}},
    {"type": "function", "function": {"name": "send", "description": "sends a text",
      "parameters": {"type": "object", "properties": {
        "text": {"type": "string", "description": "the text"}}, "required": ["text"]}}}])",
                    "tools")
      .value();
}

std::vector<ToolCall> round_calls(size_t n) {
  std::vector<ToolCall> calls = {
      {"get_weather", "callid001",
       R"({"city": "Zürich, 東京 🙂", "days": 123456789012345678901234567890, "share": -1.5,)"
       R"( "metric": true, "tags": ["a b", "é"],)"
       R"( "place": {"lat": 47.25, "names": ["x", "y z"]}})"},
      {"send", "callid002", R"({"text": "line one\n  line two \"quoted\" back\\slash <b>&amp;"})"}};
  calls.resize(n);
  return calls;
}

// Some templates sort the keys.
Json sorted_keys(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(sorted_keys(item));
    return list;
  }
  if (!value.is_object()) return value;
  std::map<std::string, Json> members;
  for (const auto& [key, member] : value.items()) members[std::string(key)] = sorted_keys(member);
  Json object = Json::object();
  for (const auto& [key, member] : members) object[key] = member;
  return object;
}

bool same_call(const ToolCall& a, const ToolCall& b) {
  const auto left = parse_json(a.arguments, "arguments");
  const auto right = parse_json(b.arguments, "arguments");
  return a.name == b.name && left && right && sorted_keys(*left) == sorted_keys(*right);
}

bool same_call_list(const std::vector<ToolCall>& a, const std::vector<ToolCall>& b) {
  return std::ranges::equal(a, b, same_call);
}

Json call_object(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

std::optional<std::string> rendered_text(const ChatTemplate& chat_template, const Json& messages,
                                         bool opens, std::string& tail) {
  const Json object = {
      {"messages", messages}, {"tools", round_tools()}, {"add_generation_prompt", opens}};
  const auto conversation = parse_conversation(object.dump());
  if (!conversation) return std::nullopt;
  const auto chat = render_conversation(chat_template, {}, *conversation);
  if (!chat) return std::nullopt;
  tail = prompt_tail(chat->parts);
  return joined(chat->parts);
}

// What the template wrote for the message; empty: it cannot.
std::string answer_text(const ChatTemplate& chat_template, const std::vector<ToolCall>& calls,
                        const std::string& content, std::string& tail) {
  const Json user = {{"role", "user"}, {"content", "the question"}};
  Json list = Json::array();
  for (const ToolCall& call : calls) list.push_back(call_object(call));
  const Json message = {{"role", "assistant"}, {"content", content}, {"tool_calls", list}};
  std::string unused;
  const auto whole = rendered_text(chat_template, Json::array({user, message}), false, unused);
  const auto prompt = rendered_text(chat_template, Json::array({user}), true, tail);
  if (!whole || !prompt) return "";
  if (whole->starts_with(*prompt)) return whole->substr(prompt->size());
  // The prompt opens reasoning that past answers do not have.
  tail.clear();
  const size_t question = whole->rfind("the question");
  const size_t plain_end = prompt->find("<think>", prompt->rfind("the question"));
  if (plain_end != std::string::npos && whole->starts_with(prompt->substr(0, plain_end))) {
    return whole->substr(plain_end);
  }
  return whole->substr(question);
}

// Templates that write a text beside calls where the dialect has none.
bool text_goes_elsewhere(const std::string& name) {
  // Before a bare list, inside the marks of a call, and into the reasoning.
  return name == "gguf-cogito-3b" || name == "gguf-llama4-latest" || name == "openai-gpt-oss-120b";
}

TEST(RoundTrip, CallsComeBackFromWhatTemplatesRender) {
  const fs::path data = shared_data() / "templates/jinja";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is absent";
  int n_show_calls = 0;
  int n_found = 0;
  int n_back = 0;
  int n_trips = 0;
  for (const auto& file : fs::directory_iterator(data)) {
    const std::string name = file.path().stem().string();
    const auto parsed = ChatTemplate::parse(read_text_file(file.path().string()).value_or(""));
    ASSERT_TRUE(parsed.has_value()) << name;
    const ChatTemplate& chat_template = **parsed;
    const FoundDialect& found = chat_template.dialect();
    const bool shows = chat_template.capabilities().tool_calls;
    if (!shows) continue;
    ++n_show_calls;
    n_found += found.source == DialectSource::rendered;
    for (const size_t n : {size_t{1}, size_t{2}}) {
      if (n == 2 && !found.dialect.parallel) continue;
      for (const char* content : {"", "Let me see."}) {
        ToolParserOptions options{.tools = ToolSchemas(round_tools())};
        const std::string text =
            answer_text(chat_template, round_calls(n), content, options.prompt_tail);
        // Some templates show a text or calls, not both.
        if (text.find("get_weather") == std::string::npos) continue;
        if (content[0] != '\0' && text_goes_elsewhere(name)) continue;
        ++n_trips;
        const ToolMessage message = parse_output(found.dialect, options, text);
        const bool content_back = message.content().find(content) != std::string::npos ||
                                  text.find(content) == std::string::npos;
        const bool back = same_call_list(message.calls(), round_calls(n)) && content_back;
        n_back += back;
        EXPECT_TRUE(back) << name << " by " << found.dialect.name << ", " << n << " calls\n"
                          << text << "\ncontent: " << message.content();
      }
    }
  }
  EXPECT_EQ(n_back, n_trips);
  EXPECT_GE(n_trips, 170);
  // The other two write calls that have been answered only.
  EXPECT_EQ(n_found + 2, n_show_calls);
  RecordProperty("templates", n_show_calls);
}

// As above by dialects that are made from what a template renders, without the table.
TEST(RoundTrip, CallsComeBackByDerivedDialects) {
  const fs::path data = shared_data() / "templates/jinja";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is absent";
  int n_show_calls = 0;
  int n_derived = 0;
  std::string others;
  for (const auto& file : fs::directory_iterator(data)) {
    const std::string name = file.path().stem().string();
    const auto parsed = ChatTemplate::parse(read_text_file(file.path().string()).value_or(""));
    ASSERT_TRUE(parsed.has_value()) << name;
    if (!(*parsed)->capabilities().tool_calls) continue;
    ++n_show_calls;
    const FoundDialect found = find_dialect(**parsed, {});
    if (found.source != DialectSource::derived) {
      others += name + " (" + (*parsed)->dialect().dialect.name + "), ";
      continue;
    }
    ++n_derived;
    // A text with line breaks has marks of its own there, which no short text shows.
    if (name == "openbmb-MiniCPM5-1B") continue;
    for (const size_t n : {size_t{1}, size_t{2}}) {
      if (n == 2 && !found.dialect.parallel) continue;
      ToolParserOptions options{.tools = ToolSchemas(round_tools())};
      const std::string text = answer_text(**parsed, round_calls(n), "", options.prompt_tail);
      if (text.find("get_weather") == std::string::npos) continue;
      const ToolMessage message = parse_output(found.dialect, options, text);
      EXPECT_TRUE(same_call_list(message.calls(), round_calls(n)))
          << name << " by " << found.dialect.name << ", " << n << " calls\n"
          << text << "\ncontent: " << message.content();
    }
  }
  EXPECT_GE(n_derived, 42) << others;
  RecordProperty("templates", n_show_calls);
  RecordProperty("derived", n_derived);
}

}  // namespace
}  // namespace ruv
