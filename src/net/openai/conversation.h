// The part of a body that makes a chat prompt: the messages and how the template writes them.
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "net/api_error.h"

namespace ruv {

enum class ToolTalk {
  refused,  // where the answer could not call tools
  allowed,  // where only the prompt is wanted
};

// An object as ModelText takes it: {"messages", and where they were given "tools",
// "add_generation_prompt", "continue_final_message", "chat_template_kwargs"}. Contents are texts:
// the parts of a list are joined by line breaks. Fails: 400, naming the field.
ApiResult<std::string> read_conversation(const Json& body, ToolTalk tools);

}  // namespace ruv
