// Outputs that are damaged at random, in every dialect. Nothing fails and nothing is lost: a word
// put anywhere into an output is in the message, or a warning says that words were left out; what
// begins as a call and is none is content with a warning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "chat/tools/json_scan.h"
#include "chat/tools/tool_parser.h"
#include "chat/tools/write_calls.h"

namespace ruv::mutated_output_test {
namespace {

constexpr std::string_view kWord = "zq7w";

Json damaged_tools() {
  return parse_json(R"([
    {"name": "forecast", "parameters": {"properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"},
       "place": {"type": "object", "properties": {"lat": {"type": "number"}}}}}},
    {"name": "stop"}])",
                    "tools")
      .value();
}

// Texts with calls, and the recorded answers of the dialect.
std::vector<std::string> seeds_of(const ToolDialect& dialect, const Json& recorded) {
  std::vector<std::string> made;
  const std::vector<ToolCall> calls = {
      {"forecast", "callid001",
       R"({"city": "Oslo \"x\"\n{", "days": 3, "tags": [1, "a"], "place": {"lat": 1.5}})"},
      {"stop", "callid002", "{}"}};
  for (size_t n = 1; n <= (dialect.parallel ? 2 : 1); ++n) {
    const std::vector<ToolCall> some(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(n));
    const std::string written = write_calls(dialect, some).value_or("");
    made.push_back(written);
    made.push_back("Let me see.\n" + written + "\nDone.");
    made.push_back("<think>\nhm\n</think>\n\n" + written);
  }
  for (const Json& one : recorded) {
    if (one.value("dialect", "") == dialect.name) made.push_back(one.value("output", ""));
  }
  return made;
}

class Damage {
 public:
  Damage(const std::vector<std::string>& marks, uint64_t seed) : marks_(marks), rng_(seed) {}

  std::string of(std::string text) {
    for (uint64_t n = rng_.below(4); n > 0; --n) once(text);
    return text;
  }
  // Where the word goes.
  size_t place_in(const std::string& text) { return rng_.below(text.size() + 1); }
  Rng& rng() { return rng_; }

 private:
  void once(std::string& text) {
    const size_t at = rng_.below(text.size() + 1);
    const size_t n = std::min<size_t>(rng_.below(12), text.size() - at);
    switch (rng_.below(5)) {
      case 0:
        text.erase(at, n);
        break;
      case 1:
        text.insert(at, text.substr(at, n));
        break;
      case 2:
        text.insert(at, marks_[rng_.below(marks_.size())]);
        break;
      case 3:
        text.resize(at);
        break;
      default:
        text.insert(at, 1, "{}[]()<>\"'\\,:=\n \x80|a0"[rng_.below(20)]);
    }
  }

  const std::vector<std::string>& marks_;
  Rng rng_;
};

// Everything that a message says.
std::string all_text(const ToolMessage& message) {
  std::string text = message.reasoning() + "\n" + message.content();
  for (const ToolCall& call : message.calls()) {
    text += "\n" + call.name + "\n" + call.id + "\n" + call.arguments;
  }
  return text;
}

// Whether words may be missing: in members of a call's object and in headers, which a warning says,
// and in the name of a server, which calls do not have.
bool leaves_out(const ToolDialect& dialect, const std::vector<ToolWarning>& warnings) {
  const bool skips = std::ranges::any_of(
      dialect.call, [](const CallPart& part) { return part.kind == CallPartKind::skipped; });
  return skips || std::ranges::any_of(warnings, [](const ToolWarning& warning) {
           return warning.kind == ToolWarning::Kind::unknown_header ||
                  warning.kind == ToolWarning::Kind::unknown_member;
         });
}

TEST(MutatedOutput, LosesNothing) {
  const std::string path = RUV_SOURCE_DIR "/tests/cases/tools/dialects.json";
  const Json recorded = parse_json(read_text_file(path).value_or(""), path).value_or(Json());
  const auto dialects = tool_dialects();
  const size_t n_each = 100'000 / dialects.size() + 1;
  std::map<std::string, int> n_lost;
  std::map<std::string, std::string> lost;
  size_t n_runs = 0;
  size_t n_left_out = 0;
  for (const ToolDialect& row : dialects) {
    ToolDialect dialect = row;
    dialect.reasoning = reasoning_marks()[9];
    const std::vector<std::string> marks = dialect_marks(dialect);
    const std::vector<std::string> seeds = seeds_of(dialect, recorded);
    Damage damage(marks, 17 + n_runs);
    ToolParserOptions options;
    options.tools = ToolSchemas(damaged_tools());
    for (size_t i = 0; i < n_each; ++i, ++n_runs) {
      std::string text = damage.of(seeds[i % seeds.size()]);
      const size_t at = damage.place_in(text);
      text.insert(at, kWord);
      ToolParser parser(dialect, options);
      std::vector<ToolDelta> deltas;
      parser.feed(text, deltas);
      parser.finish(deltas);
      ToolMessage message;
      size_t n_broken = 0;
      for (const ToolDelta& delta : deltas) {
        message.add(delta);
        n_broken += delta.kind == ToolDelta::Kind::call_broken;
      }
      ASSERT_LE(n_broken, parser.warnings().size()) << dialect.name << "\n" << text;
      for (const ToolCall& call : message.calls()) {
        ASSERT_TRUE(is_json_object(call.arguments)) << dialect.name << "\n" << text;
      }
      if (all_text(message).find(kWord) == std::string::npos) {
        ++n_left_out;
        if (leaves_out(dialect, parser.warnings())) continue;
        ++n_lost[dialect.name];
        lost[dialect.name] += text + "\n--\n";
      }
    }
  }
  for (const auto& [name, n] : n_lost) {
    ADD_FAILURE() << name << " lost " << n << "\n" << lost[name].substr(0, 800);
  }
  RecordProperty("outputs", static_cast<int>(n_runs));
  RecordProperty("left_out_with_a_warning", static_cast<int>(n_left_out));
  EXPECT_GE(n_runs, 100'000U);
  EXPECT_LE(n_left_out, n_runs / 50);
}

}  // namespace
}  // namespace ruv::mutated_output_test
