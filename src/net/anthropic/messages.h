// Anthropic's Messages API: its requests are read as chat requests, its answers are written by a
// writer of its own, so that both APIs get the same text for the same conversation.
#pragma once

#include "net/openai/answer_writer.h"
#include "net/openai/fields.h"
#include "net/openai/routes.h"

namespace ruv {

// Asks the server to keep the conversation, which this one does not.
inline constexpr const char* kThreadField = "thread";

// The fields of POST /v1/messages and of /v1/messages/count_tokens.
const BodyTable& messages_fields();
const BodyTable& count_tokens_fields();

// The body of a chat request that asks the same. Requires: a checked body. Fails: 400, naming the
// field of the body.
ApiResult<Json> chat_of_messages(const Json& body);
// An error about a chat request, with the names of the fields that it was made of.
ApiError named_as_in_messages(ApiError error);

std::unique_ptr<AnswerWriter> messages_writer(AnswerHead head);
// {"type": "error", "error": {"type", "message", "details"?}}.
HttpResponse messages_error(const ApiError& error);

// POST /v1/messages and /v1/messages/count_tokens.
std::vector<Route> messages_routes(ServedModels& models);

}  // namespace ruv
