#include "net/responses/kept_responses.h"

#include <fmt/format.h>

#include "base/json.h"
#include "net/openai/fields.h"
#include "net/openai/query.h"
#include "net/responses/background.h"
#include "net/responses/response_store.h"

namespace ruv {
namespace {

// The query of GET /v1/responses/{id}.
struct ShownQuery {
  bool stream = false;
  std::optional<int64_t> starting_after = {};
};

ApiResult<void> read_shown_parameter(const QueryParameter& parameter, ShownQuery& query) {
  const auto& [name, value] = parameter;
  if (name == "stream") {
    query.stream = TRY(query_flag(parameter));
    return {};
  }
  if (name == "starting_after") {
    query.starting_after = TRY(query_integer(parameter, {0, int64_t{1} << 53}));
    return {};
  }
  // The same values as in requests.
  const bool is_include = name == "include" || name == "include[]";
  if (is_include && value == "reasoning.encrypted_content") return {};
  if (name == "include_obfuscation" && value == "false") return {};
  if (is_include || name == "include_obfuscation") {
    return tl::unexpected(bad_request(
        name, fmt::format("'{}' is not supported with '{}'", name, shortened(value, 100)),
        "unsupported_field"));
  }
  if (name == "api-version") return {};  // Azure's clients send it with every request
  return tl::unexpected(unknown_parameter(name, "stream or starting_after"));
}

ApiResult<ShownQuery> read_shown_query(const HttpRequest& http) {
  ShownQuery query;
  for (const QueryParameter& parameter : query_parameters(http.query)) {
    TRY(read_shown_parameter(parameter, query));
  }
  if (query.stream || !query.starting_after) return query;
  return tl::unexpected(
      bad_request("starting_after", "'starting_after' needs 'stream=true': it counts events"));
}

// The response while it is made, if the key of the request asked for it.
std::shared_ptr<BackgroundReply> find_running(const ServerParts& server, const HttpRequest& http) {
  auto running = server.background->find(http.path_tail);
  return running != nullptr && running->owner() == http.key_name ? running : nullptr;
}

// One that is kept as unfinished and is not being made was given up where memory ran out.
ApiResult<std::string> shown_response(const ServerParts& server, const HttpRequest& http) {
  if (const auto running = find_running(server, http)) return running->shown();
  auto found = find_kept(server, http.path_tail, http);
  if (!found) return tl::unexpected(no_response(http.path_tail, ""));
  if (found->is_unfinished) return interrupted_response(found->response);
  return std::move(found->response);
}

HttpResponse whole_response(const ServerParts& server, const HttpRequest& http) {
  auto text = shown_response(server, http);
  if (!text) return error_response(text.error());
  return {.body = std::move(*text)};
}

// The events of a response that was asked for with "stream": true, as they come or came.
ApiResult<void> send_events(const ServerParts& server, const HttpRequest& http, int64_t first,
                            const std::shared_ptr<Reply>& reply) {
  const std::string& id = http.path_tail;
  const auto running = find_running(server, http);
  const auto events = running == nullptr ? server.background->events(id) : nullptr;
  const bool has_events = running == nullptr ? events != nullptr : running->has_events();
  if (running == nullptr && !find_kept(server, id, http))
    return tl::unexpected(no_response(id, ""));
  if (!has_events) {
    return tl::unexpected(bad_request(
        "stream",
        fmt::format(
            "the events of response '{}' are not kept: those of responses with 'background' "
            "and 'stream' are, for a while",
            shortened(id, 100)),
        "events_not_kept"));
  }
  reply->post([running, events, reply, first, is_head = http.method == "HEAD"] {
    if (is_head) {
      reply->begin_stream();
      reply->write_last({});
    } else if (running != nullptr) {
      running->follow(reply, first);
    } else {
      replay_events(*events, reply, first);
    }
  });
  return {};
}

// A client may ask for that at any time, and hears of it when the response's file is gone.
void erase_kept(const ServerParts& server, const std::string& id,
                const std::shared_ptr<Reply>& reply) {
  server.background->forget_events(id);
  server.responses->erase(id, [id, reply](const Status& status) {
    if (status.code() == Code::not_found)
      return send_response(reply, error_response(no_response(id, "")));
    if (!status.ok()) return send_response(reply, error_response(api_error(status)));
    const Json json = {{"id", id}, {"object", "response"}, {"deleted", true}};
    send_response(reply, {.body = json.dump()});
  });
}

// Clients send no body, or an empty object.
ApiResult<void> check_no_fields(const std::string& body) {
  constexpr BodyTable kNoFields{"cancel", {}, 16};
  if (!body.empty()) TRY(parse_body(body, kNoFields));
  return {};
}

}  // namespace

ApiError no_response(std::string_view id, std::string param) {
  return {404, "invalid_request_error",
          fmt::format("no response '{}' is kept here", shortened(id, 100)), std::move(param),
          "response_not_found"};
}

std::optional<StoredResponse> find_kept(const ServerParts& server, const std::string& id,
                                        const HttpRequest& http) {
  auto found = server.responses->find(id);
  if (found && found->owner != http.key_name) return std::nullopt;
  return found;
}

ApiResult<void> show_response(const ServerParts& server, const HttpRequest& http,
                              const std::shared_ptr<Reply>& reply) {
  const ShownQuery query = TRY(read_shown_query(http));
  if (query.stream) return send_events(server, http, query.starting_after.value_or(-1) + 1, reply);
  send_response(reply, whole_response(server, http));
  return {};
}

ApiResult<void> delete_response(const ServerParts& server, const HttpRequest& http,
                                const std::shared_ptr<Reply>& reply) {
  const auto erase = [&server, id = http.path_tail, reply] { erase_kept(server, id, reply); };
  if (const auto running = find_running(server, http)) {
    running->cancel(erase);
    return {};
  }
  if (!find_kept(server, http.path_tail, http))
    return tl::unexpected(no_response(http.path_tail, ""));
  erase();
  return {};
}

ApiResult<void> cancel_response(const ServerParts& server, const HttpRequest& http,
                                const std::shared_ptr<Reply>& reply) {
  TRY(check_no_fields(http.body));
  const std::string& id = http.path_tail;
  if (const auto running = find_running(server, http)) {
    running->cancel([&server, http, reply] { send_response(reply, whole_response(server, http)); });
    return {};
  }
  const std::string text = TRY(shown_response(server, http));
  if ((*parse_json(text, "kept response"))["background"] != true) {
    return tl::unexpected(
        bad_request("",
                    fmt::format("response '{}' was not made with \"background\": true; only "
                                "such can be cancelled",
                                shortened(id, 100)),
                    "not_in_background"));
  }
  send_response(reply, {.body = text});
  return {};
}

}  // namespace ruv
