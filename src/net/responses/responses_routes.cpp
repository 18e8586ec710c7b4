// The routes under /v1/responses.
#include "net/openai/chat_answer.h"
#include "net/responses/items_page.h"
#include "net/responses/responses.h"

namespace ruv {
namespace {

ApiError no_response(std::string_view id, std::string param) {
  return {404, "invalid_request_error",
          fmt::format("no response '{}' is kept here", shortened(id, 100)), std::move(param),
          "response_not_found"};
}

// The conversation that the request continues.
ApiResult<Json> messages_before(const ApiCall& call) {
  constexpr const char* kField = "previous_response_id";
  const Json* id = find_field(call.body, kField);
  if (id == nullptr) return Json::array();
  if (!id->is_string()) return wrong_type(kField, "a string", *id);
  const auto found = call.service.responses->find(id->get<std::string>());
  if (!found) return tl::unexpected(no_response(id->text(), kField));
  return *parse_json(found->messages, "kept messages");
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
  ResponseFrame frame{.body = call.body};
  Json chat = TRY(chat_of_responses(call.body, TRY(messages_before(call))));
  if (TRY(read_flag(call.body, "store", true))) {
    frame.store = call.service.responses;
    frame.input = input_items(call.body).dump();
    frame.messages = chat.at("messages").dump();
  }
  TRY(add_instructions(call.body, chat));
  GenerateRequest request = TRY(read_chat_request(chat, call.service.usual));
  return answer_conversation(call, std::move(request), responses_writer(std::move(frame)), reply);
}

ApiResult<void> answer_responses(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const auto done = respond(call, reply);
  if (!done) return tl::unexpected(named_as_in_responses(done.error()));
  return {};
}

HttpResponse show(const ServerParts& server, const HttpRequest& http) {
  const auto found = server.responses->find(http.path_tail);
  if (!found) return error_response(no_response(http.path_tail, ""));
  return {.body = found->response};
}

HttpResponse show_items(const ServerParts& server, const HttpRequest& http) {
  const auto found = server.responses->find(http.path_tail);
  if (!found) return error_response(no_response(http.path_tail, ""));
  const auto page = items_page(http.path_tail, *parse_json(found->input, "kept items"), http.query);
  if (!page) return error_response(page.error());
  return {.body = page->dump()};
}

// A client may ask for that at any time, and hears of it when the answer's file is gone.
void forget(const ServerParts& server, const std::string& id, const std::shared_ptr<Reply>& reply) {
  server.responses->erase(id, [id, reply](const Status& status) {
    if (status.code() == Code::not_found)
      return send_response(reply, error_response(no_response(id, "")));
    if (!status.ok()) return send_response(reply, error_response(api_error(status)));
    const Json json = {{"id", id}, {"object", "response"}, {"deleted", true}};
    send_response(reply, {.body = json.dump()});
  });
}

}  // namespace

std::vector<Route> responses_routes(ServedModels& models) {
  return {
      api_route(models, "POST", "/v1/responses", responses_fields(), answer_responses),
      simple_route("GET", "/v1/responses/{id}/input_items",
                   [&models](const HttpRequest& http) { return show_items(models.parts(), http); }),
      simple_route("GET", "/v1/responses/{id}",
                   [&models](const HttpRequest& http) { return show(models.parts(), http); }),
      Route{"DELETE", "/v1/responses/{id}",
            [&models](HttpRequest& http, const std::shared_ptr<Reply>& reply) {
              forget(models.parts(), http.path_tail, reply);
            }}};
}

}  // namespace ruv
