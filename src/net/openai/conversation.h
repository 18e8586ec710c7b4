// The part of a body that makes a chat prompt: the messages and how the template writes them.
#pragma once

#include "base/json_fwd.h"
#include "net/api_error.h"
#include "ruv/conversation.h"

namespace ruv {

// Whether tool calls and results may occur in a conversation.
enum class ToolTalk {
  refused,  // where the answer could not call tools
  allowed,  // where only the prompt is wanted
};

// read_conversation() of what this server supports: roles that it knows and, where tools are
// refused, no member of a message but role and content. Fails: 400, naming the field.
ApiResult<Conversation> read_chat(const Json& body, ToolTalk tools);

}  // namespace ruv
