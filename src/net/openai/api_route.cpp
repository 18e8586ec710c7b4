#include "net/openai/api_route.h"

#include <algorithm>
#include <charconv>

#include "net/openai/generate_request.h"

namespace ruv {
namespace {

// Members that one request may have dropped: each is found by another look at the whole body.
constexpr size_t kMaxIgnored = 32;

// The part of "messages[0].name" before the next '.' or '[', which is taken off; a '[' keeps its
// index.
std::string_view take_segment(std::string_view& path) {
  const size_t end = std::min(path.find_first_of(".[", 1), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end < path.size() && path[end] == '.' ? end + 1 : end);
  return segment;
}

// Erases the member or element that a path names. False: there is none.
bool erase_member(Json& body, std::string_view path) {
  Json* at = &body;
  while (true) {
    const std::string_view segment = take_segment(path);
    if (segment.empty()) return false;
    if (path.empty() && segment[0] != '[') return at->is_object() && at->erase(segment);
    if (segment[0] == '[') {
      size_t index = 0;
      const char* const end = segment.data() + segment.size() - 1;
      if (!at->is_array() || std::from_chars(segment.data() + 1, end, index).ptr != end) {
        return false;
      }
      if (index >= at->size()) return false;
      if (path.empty()) {
        at->erase(index);
        return true;
      }
      at = &(*at)[index];
      continue;
    }
    if (!at->is_object() || !at->contains(segment)) return false;
    at = &(*at)[segment];
  }
}

// Errors that name a member which the request can do without.
bool may_drop(const ApiError& error) {
  return error.code == "unknown_field" || error.code == "unsupported_field";
}

// A request from its parsed body to its answer; it may wait for its model meanwhile.
struct BodyCall {
  const ServerParts& parts;
  const BodyTable& table;
  WriteError write_error;
  HttpRequest http;
  std::shared_ptr<Reply> reply;
  Json body = {};
  std::vector<std::string> ignored = {};

  // Parses the body and checks its members.
  ApiResult<void> read();
  // Calls `part` until no member that may be dropped fails it.
  ApiResult<void> attempt(const std::function<ApiResult<void>()>& part);
  void refuse(const ApiError& error) const { send_response(reply, write_error(error)); }
};

ApiResult<void> BodyCall::read() {
  body = TRY(parse_object(http.body, table));
  http.body = {};  // all of it is in the tree
  return attempt([this] { return check_body(body, table); });
}

ApiResult<void> BodyCall::attempt(const std::function<ApiResult<void>()>& part) {
  while (true) {
    TRY(check_awaited(http));
    auto done = part();
    if (done || !parts.lenient || !may_drop(done.error())) return done;
    const std::string& member = done.error().param;
    if (ignored.size() == kMaxIgnored || !erase_member(body, member)) return done;
    ignored.push_back(member);
    // Before the action, whose answer may come at once.
    reply->post([reply = reply, ignored = ignored] { reply->notes().ignored = ignored; });
  }
}

// The name of the model that the body asks for; Ollama's /api/show may say it in "name".
ApiResult<std::string> asked_model(const Json& body, const BodyTable& table) {
  if (!body.contains("model") && has_row(table, "name") && body.contains("name")) {
    return read_model(Json{{"model", body.at("name")}});
  }
  return read_model(body);
}

// The call with its model, on whatever thread the model was loaded.
void act_with_model(const std::shared_ptr<BodyCall>& call, const ApiAction& action,
                    ApiResult<ServiceLease> lease) {
  if (!lease) return call->refuse(lease.error());
  const OpenAiService& service = **lease;
  call->reply->keep(std::move(*lease));
  const auto done = call->attempt([&] {
    return action(ApiCall{service, call->http, call->body}, call->reply);
  });
  if (!done) call->refuse(done.error());
}

// What the page of all routes says of it.
void describe(Route& route, const BodyTable& table, WriteError write_error) {
  route.body_table = table.name;
  route.write_error = write_error;
  if (has_row(table, "stream")) route.types.emplace_back("text/event-stream");
}

}  // namespace

Route api_route(ServedModels& models, std::string method, std::string path, const BodyTable& table,
                ApiAction action, WriteError write_error) {
  Route route{std::move(method), std::move(path),
              [&models, &table, action = std::make_shared<const ApiAction>(std::move(action)),
               write_error](HttpRequest& http, const std::shared_ptr<Reply>& reply) {
                const uint64_t n_bytes = http.body.size();
                const auto call = std::make_shared<BodyCall>(
                    BodyCall{models.parts(), table, write_error, std::move(http), reply});
                const auto read = call->read();
                if (!read) return call->refuse(read.error());
                const auto name = asked_model(call->body, table);
                if (!name) return call->refuse(name.error());
                models.with_model(*name, n_bytes, [call, action](ApiResult<ServiceLease> lease) {
                  run_caught(call->reply, [&] { act_with_model(call, *action, std::move(lease)); });
                });
              }};
  describe(route, table, write_error);
  return route;
}

Route server_route(ServedModels& models, std::string method, std::string path,
                   const BodyTable& table, ServerAction action, WriteError write_error) {
  Route route{std::move(method), std::move(path),
              [&models, &table, action = std::move(action), write_error](
                  HttpRequest& http, const std::shared_ptr<Reply>& reply) {
                BodyCall call{models.parts(), table, write_error, std::move(http), reply};
                auto done = call.read();
                if (done) {
                  done = call.attempt([&] {
                    return action(ServerCall{call.parts, call.http, call.body}, reply);
                  });
                }
                if (!done) call.refuse(done.error());
              }};
  describe(route, table, write_error);
  return route;
}

}  // namespace ruv
