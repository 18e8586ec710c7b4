// The grammar of answers that call tools, written in the dialect of Lark from the same description
// that parses them: what it lets a model write, the parser reads as calls with valid arguments.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "chat/tools/answer_format.h"

namespace ruv {

struct CallGrammarOptions {
  std::vector<std::string> names = {};  // tools that may be called; none: all
  bool required = false;                // at least one call and no text before it
  bool parallel = true;                 // several calls
  // The end of the prompt: reasoning or a mark of calls may begin there.
  std::string prompt_tail = {};
  // A JSON schema: the answer is either calls or a value of it, and no other text.
  std::string content_schema = {};
};

// Arguments follow each tool's schema, and are those that it lists unless it allows others; those
// that are not JSON come in the order of the schema's properties. Reasoning may come first where
// the dialect has marks for it. Fails: invalid (a name without tool, no tools, no schema),
// unsupported (a keyword that cannot be said in the dialect, by its place; a model whose calls are
// not known).
Result<std::string> call_grammar(const AnswerFormat& format, const Json& tools,
                                 const CallGrammarOptions& options);

}  // namespace ruv
