// OpenAI's Responses API: its requests are read as chat requests, its answers are lists of items,
// and are kept so that later requests can continue them.
#pragma once

#include "base/json.h"
#include "net/openai/answer_writer.h"
#include "net/openai/fields.h"
#include "net/openai/routes.h"
#include "net/responses/background.h"
#include "net/responses/response_store.h"

namespace ruv {

// The fields of POST /v1/responses.
const BodyTable& responses_fields();

// The body of a chat request that asks the same. `before`: the messages of the conversation so far.
// Requires: a checked body. Fails: 400, naming the field of the body.
ApiResult<Json> chat_of_responses(const Json& body, const Json& before);
// An error about a chat request, with the names of the fields that it was made of.
ApiError named_as_in_responses(ApiError error);
// The items of `input`: a text is a message.
Json input_items(const Json& body);

// What a writer needs besides the answer.
struct ResponseFrame {
  Json body = {};          // the request's; members are repeated in the answer
  std::string owner = {};  // as StoredResponse has it
  // JSON lists, written where that may take its time.
  std::string input = {};                            // the request's items
  std::string messages = {};                         // the conversation up to the answer
  std::shared_ptr<ResponseStore> store = {};         // null: the answer is not kept
  std::shared_ptr<BackgroundReply> background = {};  // null: its client waits for it
};
MakeWriter responses_writer(ResponseFrame frame);

// POST /v1/responses; GET and DELETE /v1/responses/{id}, POST /v1/responses/{id}/cancel, and GET
// /v1/responses/{id}/input_items.
std::vector<Route> responses_routes(ServedModels& models);

}  // namespace ruv
