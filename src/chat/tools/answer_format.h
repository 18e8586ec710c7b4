// AnswerFormat: what a server must know of a model to take its answers apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chat/tools/find_dialect.h"
#include "ruv/reasoning.h"
#include "ruv/token.h"

namespace ruv {

class ChatTemplate;
class Tokenizer;

struct AnswerFormat {
  ToolDialect dialect = {};
  bool has_calls = false;  // the model can call tools
  // Control tokens that are in the dialect's marks: an answer must have their texts.
  std::vector<Token> shown = {};
  // The same with their texts.
  std::vector<std::pair<std::string, Token>> control = {};
  // Where the model thinks, as tokens; `is_open` where every answer begins there. Nothing where it
  // does not think, or where its marks are not single tokens.
  std::optional<ReasoningRegion> region = {};
  // The template's variable that switches thinking on and off; empty: none. And whether it reads
  // the variable reasoning_effort.
  std::string thinking_switch = {};
  bool reasoning_effort = false;

  // Whether an answer may be more than text.
  bool has_parts() const { return has_calls || !dialect.reasoning.end.empty(); }
};

// The format of a model's answers. A null tokenizer gives no tokens. Takes some milliseconds at the
// first call for a template.
AnswerFormat answer_format(const ChatTemplate& chat_template, const Tokenizer* tokenizer);

}  // namespace ruv
