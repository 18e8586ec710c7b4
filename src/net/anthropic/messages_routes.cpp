// POST /v1/messages and POST /v1/messages/count_tokens.
#include "base/json.h"
#include "net/anthropic/messages.h"
#include "net/openai/chat_answer.h"

namespace ruv {
namespace {

template <class T>
ApiResult<T> renamed(ApiResult<T> result) {
  if (!result) return tl::unexpected(named_as_in_messages(result.error()));
  return result;
}

// A thread that is dropped would lose what the client thinks is kept in it.
tl::unexpected<ApiError> threads_are_unsupported() {
  return tl::unexpected(ApiError(
      400, "invalid_request_error",
      "'thread' is not supported: this server keeps no threads; send the whole conversation",
      kThreadField, "invalid_value"));
}

ApiResult<GenerateRequest> read_request(const ApiCall& call) {
  const Json chat = TRY(chat_of_messages(call.body));
  return read_chat_request(chat, call.service.usual);
}

ApiResult<void> answer_messages(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  if (find_field(call.body, "max_tokens") == nullptr) return missing_field("max_tokens");
  if (find_field(call.body, "thread") != nullptr) return threads_are_unsupported();
  GenerateRequest request = TRY(renamed(read_request(call)));
  return renamed(answer_conversation(call, std::move(request), messages_writer, reply));
}

// The tokens of the prompt that /v1/messages would make.
ApiResult<void> count_tokens(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  GenerateRequest request = TRY(renamed(read_request(call)));
  const ChatPrompt prompt = TRY(renamed(conversation_prompt(call.service, request)));
  send_response(reply, {.body = Json{{"input_tokens", prompt.ids.size()}}.dump()});
  return {};
}

}  // namespace

std::vector<Route> messages_routes(ServedModels& models) {
  return {
      api_route(models, "POST", "/v1/messages", messages_fields(), answer_messages, messages_error),
      api_route(models, "POST", "/v1/messages/count_tokens", count_tokens_fields(), count_tokens,
                messages_error)};
}

}  // namespace ruv
