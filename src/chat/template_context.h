// The variables that a chat template is given: a conversation in the form that this template reads.
#pragma once

#include "base/json_fwd.h"
#include "chat/capabilities.h"
#include "ruv/conversation.h"

namespace ruv {

// messages, tools, add_generation_prompt and the conversation's variables. By the template's
// capabilities: a content of several parts as a list or joined, null or "" beside tool calls,
// reasoning in the member that is shown, arguments of calls as objects or as JSON text.
// Requires: check_conversation().
Json template_context(const Conversation& conversation, const TemplateCapabilities& can);

// Writes the arguments of all calls that are objects as JSON text. Whether there were any.
bool write_arguments(Json& context);

}  // namespace ruv
