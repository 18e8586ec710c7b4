// Calls beside expected ones, and questions with calls as files have them.
#include "eval/call_check.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "eval/call_task.h"
#include "eval/line_objects.h"

namespace ruv::call_check_test {
namespace {

constexpr const char* kFunctions = R"([
  {"name": "area", "parameters": {"type": "object", "required": ["base"], "properties": {
    "base": {"type": "integer"}, "height": {"type": "number"}, "unit": {"type": "string"},
    "round": {"type": "boolean"}, "names": {"type": "array"}, "place": {"type": "object"}}}},
  {"name": "stop", "parameters": {"type": "object", "properties": {}}}])";

bool is_right(const std::string& arguments, const std::string& right) {
  const Json expected = *parse_json(R"([{"area": )" + right + "}]", "e");
  const Json functions = *parse_json(kFunctions, "f");
  EXPECT_TRUE(check_expected_calls(expected, functions).ok());
  const ToolCall call{"area", "", arguments};
  return calls_are_expected(std::span(&call, 1), expected, functions);
}

TEST(CallCheck, ValuesAreAmongTheRightOnes) {
  EXPECT_TRUE(is_right(R"({"base": 10})", R"({"base": [9, 10]})"));
  EXPECT_FALSE(is_right(R"({"base": 11})", R"({"base": [9, 10]})"));
  EXPECT_TRUE(is_right(R"({"base": 1, "height": 5})", R"({"base": [1], "height": [5.0]})"));
  EXPECT_TRUE(is_right(R"({"base": 1, "unit": "Square-Units."})",
                       R"({"base": [1], "unit": ["square units"]})"));
  EXPECT_FALSE(is_right(R"({"base": 1, "unit": "feet"})", R"({"base": [1], "unit": ["", "m"]})"));
  EXPECT_TRUE(is_right(R"({"base": 1, "round": true})", R"({"base": [1], "round": [true]})"));
  EXPECT_FALSE(is_right("broken", R"({"base": [1]})"));
}

TEST(CallCheck, TypesAreThoseOfTheSchema) {
  EXPECT_FALSE(is_right(R"({"base": 10.0})", R"({"base": [10]})"));
  EXPECT_FALSE(is_right(R"({"base": "10"})", R"({"base": [10]})"));
  EXPECT_FALSE(is_right(R"({"base": 1, "round": 1})", R"({"base": [1], "round": [true]})"));
  EXPECT_TRUE(is_right(R"({"base": "width"})", R"({"base": ["width"]})"));  // a variable
}

TEST(CallCheck, WhatIsRequiredIsThereAndNothingElse) {
  EXPECT_FALSE(is_right("{}", R"({"base": [1, ""]})"));
  EXPECT_TRUE(is_right(R"({"base": 1})", R"({"base": [1], "unit": ["m", ""]})"));
  EXPECT_FALSE(is_right(R"({"base": 1})", R"({"base": [1], "unit": ["m"]})"));
  EXPECT_FALSE(is_right(R"({"base": 1, "unit": "m"})", R"({"base": [1]})"));
  EXPECT_FALSE(is_right(R"({"base": 1, "colour": 2})", R"({"base": [1], "colour": [2]})"));
}

TEST(CallCheck, ListsAndObjectsAreComparedByTheirParts) {
  EXPECT_TRUE(is_right(R"({"base": 1, "names": ["A b", 2]})",
                       R"({"base": [1], "names": [["c"], ["ab", 2.0]]})"));
  EXPECT_FALSE(
      is_right(R"({"base": 1, "names": ["b", "a"]})", R"({"base": [1], "names": [["a", "b"]]})"));
  const std::string right =
      R"({"base": [1], "place": [{"city": ["Rome", "Roma"], "zone": [1, ""]}]})";
  EXPECT_TRUE(is_right(R"({"base": 1, "place": {"city": "roma"}})", right));
  EXPECT_TRUE(is_right(R"({"base": 1, "place": {"city": "Rome", "zone": 1}})", right));
  EXPECT_FALSE(is_right(R"({"base": 1, "place": {"zone": 1}})", right));
  EXPECT_FALSE(is_right(R"({"base": 1, "place": {"city": "Rome", "x": 1}})", right));
  EXPECT_TRUE(is_right(R"({"base": 1, "names": [{"city": "Rome"}]})",
                       R"({"base": [1], "names": [[{"city": ["Rome"]}]]})"));
}

TEST(CallCheck, SeveralCallsComeInAnyOrder) {
  const Json functions = *parse_json(kFunctions, "f");
  const Json expected =
      *parse_json(R"([{"area": {"base": [1]}}, {"stop": {}}, {"area": {"base": [2, 1]}}])", "e");
  std::vector<ToolCall> calls = {
      {"area", "", R"({"base": 1})"}, {"area", "", R"({"base": 2})"}, {"stop", "", "{}"}};
  EXPECT_TRUE(calls_are_expected(calls, expected, functions));
  calls[1].arguments = R"({"base": 3})";
  EXPECT_FALSE(calls_are_expected(calls, expected, functions));
  calls.pop_back();
  EXPECT_FALSE(calls_are_expected(calls, expected, functions));
  EXPECT_TRUE(calls_are_expected({}, Json::array(), functions));
}

// Drawn by tests/oracle/draw_call_cases.py, with the verdicts of bfcl_eval. Another file of such
// cases may be named.
TEST(CallCheck, VerdictsAreThoseOfTheLeaderboard) {
  const char* const named = std::getenv("RUV_CALL_CASES");
  const std::string path =
      named != nullptr ? named : RUV_SOURCE_DIR "/tests/cases/call_cases.jsonl";
  int64_t n = 0, n_right = 0;
  const Status read = each_line_object(*read_text_file(path), path, 0, [&](const Json& line) {
    std::vector<ToolCall> calls;
    for (const Json& call : line["calls"].elements()) {
      const auto [name, arguments] = *call.items().begin();
      calls.push_back({std::string(name), "", arguments.dump()});
    }
    EXPECT_TRUE(check_expected_calls(line["expected"], line["functions"]).ok());
    EXPECT_EQ(calls_are_expected(calls, line["expected"], line["functions"]),
              line["is_right"].get<bool>())
        << line.dump();
    n_right += line["is_right"].get<bool>() ? 1 : 0;
    ++n;
    return Status();
  });
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_GT(n_right, n / 4);
  EXPECT_GT(n - n_right, n / 4);
}

constexpr const char* kQuestion =
    R"({"id": "q", "question": [[{"role": "user", "content": "Go"}]], "function": [)"
    R"({"name": "a.b", "parameters": {"type": "dict", "properties": {"x": {"type": "tuple",)"
    R"( "items": {"type": "float"}}, "y": {"type": "any"}}, "required": ["x"]}}]})";

TEST(CallTask, TypesOfPythonBecomeThoseOfSchemas) {
  const EvalTask task = *read_call_questions(
      {kQuestion, "f"}, {R"({"id": "q", "ground_truth": [{"a.b": {"x": [[1.5]]}}]})", "g"}, 0);
  ASSERT_EQ(task.samples.size(), 1U);
  EXPECT_EQ(task.kind, SampleKind::calls);
  EXPECT_EQ(task.samples[0].functions.to_string(),
            R"([{"name":"a_b","parameters":{"type":"object","properties":{"x":{"type":"array",)"
            R"("items":{"type":"number"}},"y":{}},"required":["x"]}}])");
  EXPECT_EQ(task.samples[0].expected_calls.to_string(), R"([{"a_b":{"x":[[1.5]]}}])");
  EXPECT_EQ(task.samples[0].conversation.messages.size(), 1U);
  EXPECT_EQ(read_call_questions({kQuestion, "f"}, {}, 0)->samples[0].expected_calls.to_string(),
            "[]");
}

TEST(CallTask, FaultsAreNamedByFileAndLine) {
  const auto fault = [](std::string_view questions, std::string_view answers) {
    const auto read = read_call_questions({questions, "f"}, {answers, "g"}, 0);
    return read ? std::string() : std::string(read.error().message());
  };
  EXPECT_EQ(fault(kQuestion, "{\"id\": \"q\"}"), "g: line 1: \"ground_truth\" must be a list");
  EXPECT_EQ(fault(kQuestion, ""), "f: line 1: g has no answer to \"q\"");
  EXPECT_EQ(fault(kQuestion, R"({"id": "q", "ground_truth": [{"c": {}}]})"),
            "f: line 1: 'c' is expected and is not a function");
  EXPECT_EQ(fault(kQuestion, R"({"id": "q", "ground_truth": [{"a.b": {"x": 1}}]})"),
            "f: line 1: the argument 'x' has no list of right values");
  EXPECT_EQ(fault(R"({"id": "q", "question": [[], []], "function": [{"name": "a", "parameters":)"
                  R"({"type": "dict"}}]})",
                  ""),
            "f: line 1: \"question\" must be a list of one turn, which has messages");
  EXPECT_EQ(fault(R"({"id": "q", "function": [{"name": "a", "parameters": {"type": "Map"}}]})", ""),
            "f: line 1: a schema has the type 'Map'");
}

}  // namespace
}  // namespace ruv::call_check_test
