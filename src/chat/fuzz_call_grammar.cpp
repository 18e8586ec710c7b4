// Any JSON as the tools of a request, in any dialect: a grammar or an error comes back, and its
// size is bounded by that of the tools.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "chat/tools/call_grammar.h"

// The first byte chooses the dialect, the second how it is asked for.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  const auto dialects = ruv::tool_dialects();
  ruv::AnswerFormat format;
  format.dialect = dialects[bytes[0] % dialects.size()];
  format.dialect.reasoning = ruv::reasoning_marks()[bytes[1] % ruv::reasoning_marks().size()];
  format.has_calls = true;
  format.control = {{"<|", 7}, {"<tool_call>", 8}};
  ruv::CallGrammarOptions options;
  options.required = (bytes[1] & 128) != 0;
  options.parallel = (bytes[1] & 64) != 0;
  options.prompt_tail = (bytes[1] & 32) != 0 ? format.dialect.reasoning.begin : ">>>";
  const std::string_view text(reinterpret_cast<const char*>(bytes + 2), size - 2);
  const auto tools = ruv::parse_json(text, "tools");
  if (!tools || !tools->is_array()) return 0;
  const auto grammar = ruv::call_grammar(format, *tools, options);
  if (grammar) CHECK(grammar->size() < (size + 1'000) * 4'000 + (size_t{32} << 20));
  return 0;
}
