// The part of a body that makes a chat prompt: the messages and how the template writes them.
#pragma once

#include "base/json_fwd.h"
#include "net/api_error.h"
#include "ruv/conversation.h"

namespace ruv {

// What is checked of a conversation before the reader sees it.
enum class MessageCheck {
  roles,    // roles only: other members go to the template as they are
  members,  // members too: those of message_fields() in their shapes, and the tools
};

// read_conversation() of what this server supports. Fails: 400, naming the field.
ApiResult<Conversation> read_chat(const Json& body, MessageCheck check);

}  // namespace ruv
