// The routes under /v1/responses.
#include "net/openai/chat_answer.h"
#include "net/responses/items_page.h"
#include "net/responses/kept_responses.h"
#include "net/responses/responses.h"

namespace ruv {
namespace {

// The conversation that the request continues.
ApiResult<Json> messages_before(const ApiCall& call) {
  constexpr const char* kField = "previous_response_id";
  const Json* id = find_field(call.body, kField);
  if (id == nullptr) return Json::array();
  if (!id->is_string()) return wrong_type(kField, "a string", *id);
  const auto found = find_kept(call.service, id->get<std::string>(), call.http);
  if (!found) return tl::unexpected(no_response(id->text(), kField));
  Json messages = *parse_json(found->messages, "kept messages");
  if (!messages.empty()) return messages;
  return tl::unexpected(
      bad_request(kField, fmt::format("'{}': response '{}' cannot be continued: it has not ended, "
                                      "or was cancelled or failed",
                                      kField, shortened(id->text(), 100))));
}

// Puts the instructions before the conversation.
ApiResult<void> add_instructions(const Json& body, Json& chat) {
  const Json* instructions = find_field(body, "instructions");
  if (instructions == nullptr) return {};
  if (!instructions->is_string()) return wrong_type("instructions", "a string", *instructions);
  Json messages = Json::array({Json{{"role", "system"}, {"content", *instructions}}});
  for (const Json& message : chat.at("messages")) messages.push_back(message);
  chat["messages"] = std::move(messages);
  return {};
}

// Instructions are for this answer alone and are not kept with the conversation.
ApiResult<void> respond(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  ResponseFrame frame{.body = call.body, .owner = call.http.key_name};
  frame.body.erase("input");
  const bool in_background = TRY(read_flag(call.body, "background", false));
  Json chat = TRY(chat_of_responses(call.body, TRY(messages_before(call))));
  if (TRY(read_flag(call.body, "store", true))) {
    frame.store = call.service.responses;
    frame.input = input_items(call.body).dump();
    frame.messages = chat.at("messages").dump();
  } else if (in_background) {
    return tl::unexpected(
        bad_request("background", "'background' needs 'store': the response is asked for later"));
  }
  TRY(add_instructions(call.body, chat));
  GenerateRequest request = TRY(read_chat_request(chat, call.service.usual));
  if (!in_background) {
    return answer_conversation(call, std::move(request), responses_writer(std::move(frame)), reply);
  }
  // The members are held as a tree and as a text.
  const uint64_t n_bytes =
      8 * frame.body.dump().size() + frame.input.size() + frame.messages.size();
  const std::shared_ptr<BackgroundReply> background = TRY(BackgroundReply::begin(
      call.service.background, reply, {frame.owner, request.stream, n_bytes}));
  frame.background = background;
  request.stream = true;
  return answer_conversation(call, std::move(request), responses_writer(std::move(frame)),
                             background);
}

ApiResult<void> answer_responses(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const auto done = respond(call, reply);
  if (!done) return tl::unexpected(named_as_in_responses(done.error()));
  return {};
}

HttpResponse show_items(const ServerParts& server, const HttpRequest& http) {
  const auto found = find_kept(server, http.path_tail, http);
  if (!found) return error_response(no_response(http.path_tail, ""));
  const auto page = items_page(http.path_tail, *parse_json(found->input, "kept items"), http.query);
  if (!page) return error_response(page.error());
  return {.body = page->dump()};
}

}  // namespace

std::vector<Route> responses_routes(ServedModels& models) {
  const auto kept_route = [&models](const char* method, const char* path, KeptAction action) {
    return Route{method, path,
                 [&models, action](HttpRequest& http, const std::shared_ptr<Reply>& reply) {
                   const auto done = action(models.parts(), http, reply);
                   if (!done) send_response(reply, error_response(done.error()));
                 }};
  };
  Route show = kept_route("GET", "/v1/responses/{id}", show_response);
  show.types.emplace_back("text/event-stream");
  return {
      api_route(models, "POST", "/v1/responses", responses_fields(), answer_responses),
      simple_route("GET", "/v1/responses/{id}/input_items",
                   [&models](const HttpRequest& http) { return show_items(models.parts(), http); }),
      std::move(show), kept_route("DELETE", "/v1/responses/{id}", delete_response),
      kept_route("POST", "/v1/responses/{id}/cancel", cancel_response)};
}

}  // namespace ruv
