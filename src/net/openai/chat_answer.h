// The answer to a conversation, whichever API asks.
#pragma once

#include <memory>

#include "net/openai/answer_writer.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"

namespace ruv {

// Fails before it has had any effect, with 400, 404 or 409, naming a field of chat requests.
ApiResult<void> answer_conversation(const ApiCall& call, GenerateRequest request,
                                    MakeWriter make_writer, const std::shared_ptr<Reply>& reply);

// The prompt that the model's template makes of the request's conversation. Fails: 400, 404.
ApiResult<ChatPrompt> conversation_prompt(const OpenAiService& service, GenerateRequest& request);

}  // namespace ruv
