// One or more answers in every dialect, whole, in all pairs of pieces and byte by byte; the work of
// long answers; what a call that is cut off or malformed becomes.
#include "chat/tools/tool_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/test_share.h"
#include "chat/tools/json_scan.h"

namespace ruv {
namespace {

const ToolDialect* dialect_named(std::string_view name) {
  for (const ToolDialect& dialect : tool_dialects()) {
    if (dialect.name == name) return &dialect;
  }
  return nullptr;
}

ReasoningMarks marks_ending(std::string_view end) {
  for (const ReasoningMarks& marks : reasoning_marks()) {
    if (mark_core(marks.end) == end) return marks;
  }
  ADD_FAILURE() << "no reasoning ends with " << end;
  return {};
}

Json golden_tools() {
  return parse_json(R"([
    {"type": "function", "function": {"name": "forecast", "parameters": {"properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "stop"}},
    {"name": "note", "parameters": {"properties": {"text": {"type": "string"},
      "big": {"type": "integer"}, "real": {"type": "number"}, "huge": {"type": "number"},
      "flag": {"type": "boolean"}, "list": {"type": "array"}}}}])",
                    "tools")
      .value();
}

struct RecordedAnswer {
  ToolDialect dialect;
  ToolParserOptions options;
  std::string output;
};

RecordedAnswer read_golden(const Json& test) {
  const ToolDialect* dialect = dialect_named(test.value("dialect", ""));
  EXPECT_NE(dialect, nullptr) << test;
  RecordedAnswer recorded{*dialect, {}, test.value("output", "")};
  recorded.dialect.gap = test.value("gap", "");
  const std::string tail = test.value("tail", "");
  const std::string think = test.value("think", tail.ends_with("<think>\n") ? "</think>" : "");
  if (!think.empty()) recorded.dialect.reasoning = marks_ending(think);
  recorded.options.tools = ToolSchemas(golden_tools());
  recorded.options.prompt_tail = tail;
  return recorded;
}

// "text" in a case is the exact text of the arguments.
Json as_golden(const ToolMessage& message, const std::vector<ToolWarning>& warnings,
               const Json& want) {
  Json calls = Json::array();
  for (const ToolCall& call : message.calls()) {
    Json json = {{"name", call.name}};
    const size_t i = calls.size();
    const bool exact = i < want["calls"].size() && want["calls"][i].contains("text");
    const auto arguments = parse_json(call.arguments, "arguments");
    if (exact) {
      json["text"] = call.arguments;
    } else {
      json["arguments"] = arguments ? *arguments : Json("not JSON: " + call.arguments);
    }
    if (!call.id.empty()) json["id"] = call.id;
    calls.push_back(json);
  }
  Json names = Json::array();
  for (const ToolWarning& warning : warnings) names.push_back(warning_name(warning.kind));
  return {{"content", message.content()},
          {"reasoning", message.reasoning()},
          {"calls", calls},
          {"warnings", names}};
}

Json wanted(const Json& test) {
  return {{"content", test["content"]},
          {"reasoning", test["reasoning"]},
          {"calls", test["calls"]},
          {"warnings", test["warnings"]}};
}

Json parsed_pieces(const RecordedAnswer& recorded, const Json& want, size_t first, size_t step) {
  ToolParser parser(recorded.dialect, recorded.options);
  std::vector<ToolDelta> deltas;
  const std::string_view text = recorded.output;
  parser.feed(text.substr(0, first), deltas);
  for (size_t at = first; at < text.size(); at += step) {
    parser.feed(text.substr(at, step), deltas);
  }
  parser.finish(deltas);
  ToolMessage message;
  for (const ToolDelta& delta : deltas) message.add(delta);
  return as_golden(message, parser.warnings(), want);
}

Json golden_cases() {
  const std::string path = RUV_SOURCE_DIR "/tests/cases/tools/dialects.json";
  return parse_json(read_text_file(path).value_or(""), path).value_or(Json::array());
}

TEST(ToolParser, EveryDialectHasCasesAndGivesThem) {
  std::set<std::string> seen;
  for (const Json& test : golden_cases()) {
    const RecordedAnswer recorded = read_golden(test);
    seen.insert(recorded.dialect.name);
    const Json want = wanted(test);
    const size_t n = recorded.output.size();
    EXPECT_EQ(parsed_pieces(recorded, want, n, 1), want) << test;
    EXPECT_EQ(parsed_pieces(recorded, want, 0, 1), want) << "by bytes: " << test;
    for (size_t cut = 1; cut < n; ++cut) {
      ASSERT_EQ(parsed_pieces(recorded, want, cut, n), want) << "cut at " << cut << ": " << test;
    }
  }
  for (const ToolDialect& dialect : tool_dialects()) {
    EXPECT_TRUE(seen.contains(dialect.name)) << dialect.name << " has no case";
  }
}

// Every beginning of an answer: nothing is lost, and what was given stays.
TEST(ToolParser, BeginningsLoseNothing) {
  for (const Json& test : golden_cases()) {
    const RecordedAnswer recorded = read_golden(test);
    for (size_t n = 0; n <= recorded.output.size(); ++n) {
      ToolParser parser(recorded.dialect, recorded.options);
      std::vector<ToolDelta> deltas;
      parser.feed(std::string_view(recorded.output).substr(0, n), deltas);
      const std::vector<ToolDelta> before = deltas;
      parser.finish(deltas);
      ToolMessage message;
      for (const ToolDelta& delta : deltas) message.add(delta);
      for (const ToolCall& call : message.calls()) {
        EXPECT_TRUE(is_json_object(call.arguments)) << test << " at " << n;
      }
    }
  }
}

TEST(ToolParser, StopsAfterTheCallsThatAreWanted) {
  ToolParserOptions options;
  options.max_calls = 1;
  ToolParser parser(*dialect_named("hermes_json"), options);
  std::vector<ToolDelta> deltas;
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n";
  parser.feed(call + call, deltas);
  EXPECT_TRUE(parser.done());
  parser.finish(deltas);
  ToolMessage message;
  for (const ToolDelta& delta : deltas) message.add(delta);
  EXPECT_EQ(message.calls().size(), 1U);
  EXPECT_EQ(message.content(), "");
}

TEST(ToolParser, LooksForNoCallsWhenToldSo) {
  ToolParserOptions options;
  options.calls = false;
  const std::string text = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(parse_output(*dialect_named("hermes_json"), options, text).content(), text);
}

// What a piece of text waits for is a mark; text that cannot become one is given at once.
TEST(ToolParser, HoldsBackNoMoreThanAMark) {
  ToolParser parser(*dialect_named("hermes_json"), {});
  const std::string text = "An answer with a < b and <tool and more <tool_cal text.";
  std::vector<ToolDelta> deltas;
  size_t n_given = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    deltas.clear();
    parser.feed(text.substr(i, 1), deltas);
    for (const ToolDelta& delta : deltas) n_given += delta.text.size();
    EXPECT_LE(i + 1 - n_given, std::string("<tool_cal").size()) << "at " << i;
  }
}

// Work is counted in bytes, so the test says the same on every machine.
uint64_t work_for(const ToolDialect& dialect, const std::string& text, size_t piece) {
  ToolParserOptions options;
  options.tools = ToolSchemas(golden_tools());
  ToolParser parser(dialect, options);
  std::vector<ToolDelta> deltas;
  for (size_t at = 0; at < text.size(); at += piece) {
    deltas.clear();
    parser.feed(std::string_view(text).substr(at, piece), deltas);
  }
  parser.finish(deltas);
  return parser.work();
}

std::string repeated(std::string_view unit, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += unit;
  return text;
}

// 100,000 tokens of four bytes, beside a tenth of them.
TEST(ToolParser, WorkIsLinearInTheLength) {
  constexpr size_t kToken = 4;
  constexpr size_t kTokens = 100'000 / kTestShare;
  uint64_t most = 0;
  // Beginnings of marks, line breaks, long values, and calls that fail late.
  for (const std::string_view unit :
       {"word ", "<", "<tool_call>", "<tool_call>{\"name\": \"f\", ", "\n \n", "</think>",
        "<|channel|>x<|message|>", "[TOOL_CALLS]f[ARGS]{",
        "<tool_call>\n<function=note>\n<parameter=text>\n</parameter>\n", "]<]"}) {
    for (const ToolDialect& row : tool_dialects()) {
      ToolDialect dialect = row;
      dialect.reasoning = marks_ending("</think>");
      const size_t n = kTokens * kToken / unit.size();
      const uint64_t once = work_for(dialect, repeated(unit, n / 10), kToken);
      const uint64_t often = work_for(dialect, repeated(unit, n), kToken);
      // Headers have a length limit, so what follows one costs less.
      EXPECT_LE(often, once * 10 + once / 2 + 100'000) << dialect.name << ": " << unit;
      most = std::max(most, often / kTokens);
    }
  }
  EXPECT_LE(most, 400U);
  RecordProperty("most_bytes_compared_per_token", static_cast<int>(most));
}

TEST(ToolParser, WorkOfALongArgumentIsLinear) {
  for (const char* name : {"hermes_json", "tagged_parameters", "pythonic_list", "harmony"}) {
    const ToolDialect& dialect = *dialect_named(name);
    const std::string begin =
        name == std::string("hermes_json")
            ? "<tool_call>{\"name\":\"note\",\"arguments\":{\"text\":\""
        : name == std::string("tagged_parameters") ? "<tool_call><function=note><parameter=text>"
        : name == std::string("pythonic_list")
            ? "[note(text='"
            : "<|channel|>commentary to=functions.note<|message|>{\"text\":\"";
    const uint64_t once = work_for(dialect, begin + repeated("abc </", 10'000), 6);
    const uint64_t often = work_for(dialect, begin + repeated("abc </", 100'000), 6);
    EXPECT_LE(often, once * 10 + once / 2) << name;
  }
}

}  // namespace
}  // namespace ruv
