// Any bytes as an answer in any dialect: parsing ends, and the pieces give what the whole gives.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "chat/tools/json_scan.h"
#include "chat/tools/tool_parser.h"

namespace {

ruv::ToolMessage sum_of(const std::vector<ruv::ToolDelta>& deltas) {
  ruv::ToolMessage message;
  for (const ruv::ToolDelta& delta : deltas) message.add(delta);
  return message;
}

}  // namespace

// The first byte chooses the dialect, the second the reasoning, the third the size of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 3) return 0;
  static const ruv::Json kTools = ruv::parse_json(R"([
    {"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "i": {"type": "integer"},
     "l": {"type": "array", "items": {"type": "number"}}, "o": {"type": "object"}}}}])",
                                                  "tools")
                                      .value();
  const auto dialects = ruv::tool_dialects();
  const auto marks = ruv::reasoning_marks();
  ruv::ToolDialect dialect = dialects[bytes[0] % dialects.size()];
  const size_t n_marks = bytes[1] % (marks.size() + 1);
  if (n_marks < marks.size()) dialect.reasoning = marks[n_marks];
  dialect.gap = (bytes[2] & 128) != 0 ? "\n" : "";
  ruv::ToolParserOptions options;
  options.tools = ruv::ToolSchemas(kTools);
  options.reasoning_apart = (bytes[2] & 64) == 0;
  if ((bytes[2] & 32) != 0) options.prompt_tail = dialect.reasoning.begin + dialect.prefilled;
  const size_t piece = 1 + (bytes[2] & 15);
  const std::string_view text(reinterpret_cast<const char*>(bytes + 3), size - 3);

  std::vector<ruv::ToolWarning> warnings;
  const ruv::ToolMessage whole = ruv::parse_output(dialect, options, text, &warnings);
  ruv::ToolParser parser(dialect, options);
  std::vector<ruv::ToolDelta> deltas;
  for (size_t at = 0; at < text.size(); at += piece) parser.feed(text.substr(at, piece), deltas);
  parser.finish(deltas);
  const ruv::ToolMessage pieces = sum_of(deltas);
  CHECK(pieces.content() == whole.content());
  CHECK(pieces.reasoning() == whole.reasoning());
  CHECK(pieces.calls() == whole.calls());
  CHECK(parser.warnings() == warnings);
  for (const ruv::ToolCall& call : whole.calls()) {
    CHECK(ruv::is_json_object(call.arguments));
  }
  return 0;
}
