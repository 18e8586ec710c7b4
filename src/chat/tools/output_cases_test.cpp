// Outputs of real models with what they say, per chat template: the dialect is found from the
// template, and the answer parsed by it, whole and in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/test_share.h"
#include "chat/chat_template.h"
#include "chat/rendered_chat.h"
#include "chat/tools/tool_parser.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

fs::path output_data() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return given ? fs::path(given) : fs::path(RUV_SOURCE_DIR) / "../shared/data";
}

// A case of the file of expectations: its number, its template, and "passes" or "wrong: " with why
// the case expects what is not right.
struct Expectation {
  std::string template_name;
  std::string verdict;
};

std::vector<Expectation> expectations() {
  std::vector<Expectation> made;
  std::istringstream lines(
      read_text_file(RUV_SOURCE_DIR "/tests/cases/tools/output_cases.txt").value_or(""));
  for (std::string number, name, verdict; std::getline(lines, number, '\t');) {
    std::getline(lines, name, '\t');
    std::getline(lines, verdict);
    EXPECT_EQ(number, std::to_string(made.size()));
    made.push_back({name, verdict});
  }
  return made;
}

struct ParseCase {
  ToolDialect dialect;
  ToolParserOptions options;
  std::string text;
  // Text that was there before the answer.
  std::string content_before;
  std::string reasoning_before;
};

std::shared_ptr<const ChatTemplate> template_named(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const ChatTemplate>> kept;
  auto& found = kept[name];
  if (found != nullptr) return found;
  // The two texts are identical.
  const std::string file = name == "meta-llama-Llama-3.3-70B-Instruct.jinja"
                               ? "meta-llama-Llama-3.1-8B-Instruct.jinja"
                               : name;
  const auto source = read_text_file((output_data() / "templates/jinja" / file).string());
  EXPECT_TRUE(source.has_value()) << file;
  auto parsed = ChatTemplate::parse(source.value_or(""));
  EXPECT_TRUE(parsed.has_value()) << file;
  return found = parsed.value_or(nullptr);
}

// A tool of some cases is a list of name, description and schema.
Json tools_of(const Json& test) {
  Json tools = test.value("tools", Json::array());
  for (Json& tool : tools) {
    if (!tool.is_array()) continue;
    const Json schema = parse_json(tool[2].text(), "schema").value_or(Json());
    tool =
        Json{{"type", "function"},
             {"function", {{"name", tool[0]}, {"description", tool[1]}, {"parameters", schema}}}};
  }
  return tools;
}

Json conversation_of(const Json& test, const Json& tools) {
  const Json user = {{"role", "user"}, {"content", "Hey there!"}};
  const Json thinks = test.value("enable_thinking", Json(true));
  Json object = {{"messages", test.value("messages", Json::array({user}))},
                 {"chat_template_kwargs", {{"enable_thinking", thinks}}}};
  if (!tools.empty()) object["tools"] = tools;
  return object;
}

std::string tail_of(const ChatTemplate& chat_template, const Json& object) {
  const auto conversation = parse_conversation(object.dump());
  EXPECT_TRUE(conversation.has_value());
  const auto chat = render_conversation(chat_template, {}, *conversation);
  // Some templates refuse this conversation, or want variables of their own.
  return chat ? prompt_tail(chat->parts) : "";
}

ParseCase read_case(const Json& test) {
  const auto chat_template = template_named(test.value("template", ""));
  ParseCase out;
  out.dialect = chat_template->dialect().dialect;
  out.text = test.value("output", "");
  const Json tools = tools_of(test);
  const std::string format = test.value("reasoning_format", "COMMON_REASONING_FORMAT_NONE");
  out.options.tools = ToolSchemas(tools);
  out.options.reasoning_apart = format != "COMMON_REASONING_FORMAT_NONE";
  Json object = conversation_of(test, tools);
  const std::string continues = test.value("continue_final_message", "");
  if (continues.empty()) {
    out.options.prompt_tail = tail_of(*chat_template, object);
    return out;
  }
  // The expected message holds what the answer continues.
  out.options.continues_text = true;
  const Json& last = object["messages"].back();
  if (continues == "COMMON_CHAT_CONTINUATION_CONTENT") {
    out.content_before = last.value("content", "");
    const bool thinks = test.contains("expect_reasoning");
    out.reasoning_before = thinks ? last.value("reasoning_content", "") : std::string();
    object["continue_final_message"] = true;
    out.options.prompt_tail = tail_of(*chat_template, object);
  } else {
    out.reasoning_before = last.value("reasoning_content", "");
    out.options.prompt_tail = out.dialect.shape == ToolDialect::Shape::channels
                                  ? "<|start|>assistant<|channel|>analysis<|message|>"
                                  : out.dialect.reasoning.begin;
  }
  return out;
}

Json calls_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls) {
    auto arguments = parse_json(call.arguments, "arguments");
    list.push_back({{"name", call.name},
                    {"arguments", arguments ? *arguments : Json("not JSON: " + call.arguments)},
                    {"id", call.id}});
  }
  return list;
}

Json message_json(const ParseCase& test, const ToolMessage& message) {
  return {{"reasoning", test.reasoning_before + message.reasoning()},
          {"content", test.content_before + message.content()},
          {"calls", calls_json(message.calls())}};
}

Json expected_json(const Json& test) {
  const Json whole = test.value("expect", Json::object());
  Json calls = whole.value("tool_calls", Json::array());
  if (test.contains("expect_tool_calls")) calls = test["expect_tool_calls"];
  for (Json& call : calls) {
    call["arguments"] = parse_json(call["arguments"].text(), "expected").value_or(Json());
  }
  return {{"reasoning", test.value("expect_reasoning", whole.value("reasoning_content", ""))},
          {"content", test.value("expect_content", whole.value("content", ""))},
          {"calls", calls}};
}

Json all_cases() {
  const fs::path path =
      output_data() / "function_calling/model_output_parsing/llamacpp_chat_parse_cases.json";
  if (!fs::exists(path)) return {};
  return parse_json(read_text_file(path.string()).value_or(""), path.string()).value_or(Json());
}

TEST(OutputCases, EveryCaseIsTheExpectedMessage) {
  const Json cases = all_cases();
  if (cases.is_null()) GTEST_SKIP() << "model_output_parsing cases are absent";
  const std::vector<Expectation> expected = expectations();
  ASSERT_EQ(expected.size(), cases.size());
  int n_equal = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const ParseCase test = read_case(cases[i]);
    EXPECT_EQ(expected[i].template_name + ".jinja", cases[i].value("template", ""));
    const Json got = message_json(test, parse_output(test.dialect, test.options, test.text));
    const Json want = expected_json(cases[i]);
    n_equal += got == want;
    if (expected[i].verdict == "passes") {
      EXPECT_EQ(got, want) << "case " << i << " " << cases[i].value("template", "") << " by "
                           << test.dialect.name;
    } else {
      EXPECT_TRUE(expected[i].verdict.starts_with("wrong: ")) << expected[i].verdict;
      EXPECT_NE(got, want) << "case " << i << " is as expected after all";
    }
  }
  RecordProperty("cases", static_cast<int>(cases.size()));
  RecordProperty("as_expected", n_equal);
}

// Deltas of one kind that follow each other are one, however many there were.
std::vector<ToolDelta> merged(const std::vector<ToolDelta>& deltas) {
  std::vector<ToolDelta> out;
  for (const ToolDelta& delta : deltas) {
    const bool text =
        delta.kind <= ToolDelta::Kind::content || delta.kind == ToolDelta::Kind::arguments;
    if (text && !out.empty() && out.back().kind == delta.kind && out.back().call == delta.call) {
      out.back().text += delta.text;
    } else {
      out.push_back(delta);
    }
  }
  return out;
}

struct Parsed {
  std::vector<ToolDelta> deltas;
  std::vector<ToolWarning> warnings;
  friend bool operator==(const Parsed&, const Parsed&) = default;
};

// Cut before each of `cuts`, which rise.
Parsed parsed_in_pieces(const ParseCase& test, const std::vector<size_t>& cuts) {
  ToolParser parser(test.dialect, test.options);
  std::vector<ToolDelta> deltas;
  size_t at = 0;
  for (const size_t cut : cuts) {
    parser.feed(std::string_view(test.text).substr(at, cut - at), deltas);
    at = cut;
  }
  parser.feed(std::string_view(test.text).substr(at), deltas);
  parser.finish(deltas);
  return {merged(deltas), parser.warnings()};
}

TEST(OutputCases, PiecesGiveTheSameDeltas) {
  const Json cases = all_cases();
  if (cases.is_null()) GTEST_SKIP() << "model_output_parsing cases are absent";
  Rng rng(7);
  for (int i = 0; i < static_cast<int>(cases.size()); ++i) {
    const ParseCase test = read_case(cases[i]);
    const Parsed whole = parsed_in_pieces(test, {});
    for (size_t cut = 0; cut <= test.text.size(); cut += kTestShare) {
      ASSERT_EQ(parsed_in_pieces(test, {cut}), whole) << "case " << i << " cut at " << cut;
    }
    for (int k = 0; k < 1000 / int{kTestShare}; ++k) {
      std::vector<size_t> cuts;
      const size_t most = 2 + rng.below(40);
      for (size_t at = rng.below(most); at < test.text.size(); at += 1 + rng.below(most)) {
        cuts.push_back(at);
      }
      ASSERT_EQ(parsed_in_pieces(test, cuts), whole) << "case " << i << " grouping " << k;
    }
  }
}

// The answers in renderings of conversations, each up to the next message of someone else.
TEST(OutputCases, AnswersInHarmonyRenderings) {
  const fs::path folder = output_data() / "function_calling/harmony";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const std::string path = RUV_SOURCE_DIR "/tests/cases/tools/harmony.json";
  const Json tests = parse_json(read_text_file(path).value_or(""), path).value_or(Json::array());
  ASSERT_GE(tests.size(), 3U);
  const auto channels = std::ranges::find(tool_dialects(), "harmony", &ToolDialect::name);
  for (const Json& expected : tests) {
    const std::string whole =
        read_text_file((folder / expected.value("file", "")).string()).value_or("");
    const std::string begin = "<|start|>assistant";
    size_t at = whole.find(begin);
    at = whole.starts_with("<|channel|>") ? 0 : at + begin.size();
    size_t end = whole.find("<|start|>", at);
    while (end != whole.npos && whole.compare(end, begin.size(), begin) == 0) {
      end = whole.find("<|start|>", end + begin.size());
    }
    const ParseCase test = {*channels, {}, whole.substr(at, end - at), {}, {}};
    std::vector<ToolWarning> warnings;
    Json got = message_json(test, parse_output(test.dialect, test.options, test.text, &warnings));
    got["warnings"] = Json::array();
    for (const ToolWarning& each : warnings) got["warnings"].push_back(warning_name(each.kind));
    EXPECT_EQ(got, expected.at("expect")) << expected.value("file", "");
    for (size_t cut = 0; cut <= test.text.size(); ++cut) {
      ASSERT_EQ(parsed_in_pieces(test, {cut}), parsed_in_pieces(test, {})) << cut;
    }
  }
}

}  // namespace
}  // namespace ruv
