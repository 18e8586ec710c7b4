// ToolParser: takes the text of an answer apart as it comes. It reads every byte once, holds back
// no more than what may become a mark (and the whitespace around it), and its deltas put together
// do not depend on how the text was cut. It knows no errors: text that is not as the dialect says
// comes back as content, with a warning.
//
//   ToolParser parser(dialect, {.tools = ToolSchemas(tools), .prompt_tail = tail});
//   for (piece : pieces) parser.feed(piece, deltas);
//   parser.finish(deltas);
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_dialect.h"
#include "chat/tools/tool_message.h"
#include "chat/tools/tool_schemas.h"

namespace ruv {

struct ToolParserOptions {
  // What arguments without a type of their own are read by, and the names that calls without marks
  // must have.
  ToolSchemas tools = {};
  // The end of the prompt, as the template wrote it: reasoning may begin there.
  std::string prompt_tail = {};
  // The answer continues in the middle of a text: its first whitespace belongs to it.
  bool continues_text = false;
  // False: reasoning is content, with its marks.
  bool reasoning_apart = true;
  // False: no calls are looked for.
  bool calls = true;
  // Calls beyond these are not read: nothing follows them.
  size_t max_calls = SIZE_MAX;
};

class OutputReader;

class ToolParser {
 public:
  ToolParser(ToolDialect dialect, ToolParserOptions options);
  ~ToolParser();
  ToolParser(ToolParser&&) noexcept;

  // Control tokens must be in the text as their texts. Appends what is certain now; neighbours of
  // one kind may be one delta or several.
  void feed(std::string_view text, std::vector<ToolDelta>& deltas);
  // No text follows. Call once.
  void finish(std::vector<ToolDelta>& deltas);

  // max_calls calls have ended: the rest of the answer says nothing.
  bool done() const;
  const std::vector<ToolWarning>& warnings() const;
  // Bytes read and compared, what tests hold linear.
  uint64_t work() const;

 private:
  std::unique_ptr<OutputReader> reader_;
};

// The whole of a text at once.
ToolMessage parse_output(const ToolDialect& dialect, const ToolParserOptions& options,
                         std::string_view text, std::vector<ToolWarning>* warnings = nullptr);

}  // namespace ruv
