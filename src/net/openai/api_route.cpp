#include "net/openai/api_route.h"

#include <algorithm>
#include <charconv>

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

// Erases the member that a path names. False: there is none.
bool erase_member(Json& body, std::string_view path) {
  Json* at = &body;
  while (true) {
    const std::string_view segment = take_segment(path);
    if (segment.empty()) return false;
    if (path.empty()) return at->is_object() && at->erase(segment);
    if (segment[0] == '[') {
      size_t index = 0;
      const char* const end = segment.data() + segment.size() - 1;
      if (!at->is_array() || std::from_chars(segment.data() + 1, end, index).ptr != end) {
        return false;
      }
      if (index >= at->size()) return false;
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

// One look at the body as it is now.
ApiResult<void> check_and_act(const ApiCall& call, Json& body, const BodyTable& table,
                              const ApiAction& action, const std::shared_ptr<Reply>& reply) {
  TRY(check_body(body, table));
  TRY(check_awaited(call.http));
  return action(call, reply);
}

// Drops one member after the other, as long as the service may.
ApiResult<void> run_action(const OpenAiService& service, HttpRequest& http, const BodyTable& table,
                           const ApiAction& action, const std::shared_ptr<Reply>& reply) {
  Json body = TRY(parse_object(http.body, table));
  http.body = {};  // all of it is in the tree
  const ApiCall call{service, http, body};
  std::vector<std::string> ignored;
  while (true) {
    // Before the action, whose answer may come at once.
    if (!ignored.empty()) reply->post([reply, ignored] { reply->notes().ignored = ignored; });
    const auto done = check_and_act(call, body, table, action, reply);
    if (done || !service.lenient || !may_drop(done.error())) return done;
    const std::string& member = done.error().param;
    if (ignored.size() == kMaxIgnored || !erase_member(body, member)) return done;
    ignored.push_back(member);
  }
}

}  // namespace

Route api_route(const OpenAiService& service, std::string method, std::string path,
                const BodyTable& table, ApiAction action, WriteError write_error) {
  Route route{std::move(method), std::move(path),
              [&service, &table, action = std::move(action), write_error](
                  HttpRequest& http, const std::shared_ptr<Reply>& reply) {
                const auto done = run_action(service, http, table, action, reply);
                if (!done) send_response(reply, write_error(done.error()));
              }};
  route.body_table = table.name;
  return route;
}

}  // namespace ruv
