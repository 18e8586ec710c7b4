// The one reader and the one writer of conversations as JSON: HTTP bodies, files of sessions, the
// command line and parse_conversation() all come through here.
#pragma once

#include <span>
#include <vector>

#include "base/json_fields.h"
#include "ruv/conversation.h"

namespace ruv {

// As parse_conversation, of a parsed object. Requires: an object.
FieldResult<Conversation> read_conversation(const Json& object);
// A list of messages, which may be empty. Errors name them "messages[i]".
FieldResult<std::vector<Message>> read_messages(const Json& list);

// What no reader can see in a typed value, and what is not supported yet: a part that is not text,
// an end inside a last message that is not an assistant's text.
FieldResult<void> check_conversation(const Conversation& conversation);

// What read_messages reads: content is a text, or a list where the message has several parts.
Json messages_json(std::span<const Message> messages);

}  // namespace ruv
