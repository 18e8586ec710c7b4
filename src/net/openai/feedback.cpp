// POST /v1/feedback takes what a user said of an answer, GET /v1/feedback shows what became of it,
// POST /v1/feedback/undo takes steps back. The caller names the instance, so it must be one that
// may manage the server: an application that knows its users, not a user.
#include "learn/teaching.h"

#include "base/json.h"
#include "net/openai/api_route.h"
#include "net/openai/query.h"
#include "net/openai/routes.h"
#include "net/openai/vector_job.h"

namespace ruv {
namespace {

ApiResult<Teaching*> teaching_of(const OpenAiService& service) {
  if (service.teaching != nullptr) return service.teaching;
  return tl::unexpected(api_error(Status(
      Code::unsupported, "the server does not learn: start it with --learn DIR and one model")));
}

ApiResult<std::string> instance_name(const Json& body) {
  const Json* const value = find_field(body, "instance");
  if (value == nullptr) return missing_field("instance");
  if (!value->is_string()) return wrong_type("instance", "a string", *value);
  return value->get<std::string>();
}

ApiResult<void> take_feedback(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  Teaching& teaching = *TRY(teaching_of(call.service));
  const std::string name = TRY(instance_name(call.body));
  constexpr std::string_view kOthers[] = {"instance", "model"};
  const AdaptFeedback feedback = TRY(read_feedback(call.body, kOthers));
  const Result<uint64_t> number = teaching.adapt(name, feedback);
  if (!number) return tl::unexpected(api_error(number.error()));
  const Json body = {{"success", true}, {"instance", name}, {"number", *number}};
  send_response(reply, {.body = body.dump()});
  return {};
}

ApiResult<void> undo_steps(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  Teaching& teaching = *TRY(teaching_of(call.service));
  const std::string name = TRY(instance_name(call.body));
  const int64_t steps = TRY(read_integer(call.body, "steps", 1, {1, INT64_MAX}));
  const Result<uint64_t> generation = teaching.undo(name, static_cast<uint64_t>(steps));
  if (!generation) return tl::unexpected(api_error(generation.error()));
  const Json body = {{"success", true}, {"instance", name}, {"generation", *generation}};
  send_response(reply, {.body = body.dump()});
  return {};
}

// All instances of the model that the query names, or of the first.
HttpResponse listed_instances(const ServedModels& models, const HttpRequest& http) {
  const auto lease = models.loaded(asked_in_query(http));
  if (!lease) return error_response(lease.error());
  const auto teaching = teaching_of(**lease);
  if (!teaching) return error_response(teaching.error());
  Json list = Json::array();
  for (const InstanceSummary& summary : (*teaching)->summaries()) {
    list.push_back(summary_json(summary));
  }
  Json body = {{"object", "list"}};
  body["data"] = std::move(list);
  return {.body = body.dump()};
}

}  // namespace

std::vector<Route> feedback_routes(ServedModels& models) {
  std::vector<Route> routes{
      simple_route("GET", "/v1/feedback",
                   [&models](const HttpRequest& http) { return listed_instances(models, http); }),
      api_route(models, "POST", "/v1/feedback", feedback_fields(), take_feedback),
      api_route(models, "POST", "/v1/feedback/undo", undo_fields(), undo_steps)};
  for (Route& route : routes) route.scope = KeyScope::manage;
  return routes;
}

}  // namespace ruv
