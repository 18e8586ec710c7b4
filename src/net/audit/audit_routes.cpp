// GET below /v1/audit. Entries are those of all users, so a key needs the right to manage. Each
// request reads the log through a connection of its own, beside the thread that writes.
#include "net/audit/audit_routes.h"

#include <array>

#include "audit/audit_log.h"
#include "audit/audit_proof.h"
#include "audit/audit_query.h"
#include "base/number_text.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr int64_t kMostListedEntries = 1000;
// Answers that figures are made of, the newest ones.
constexpr int64_t kMostCounted = 100'000;
// The longest id that a client may rate, in bytes.
constexpr size_t kMaxRatedId = 256;
constexpr int64_t kMaxMs = int64_t{1} << 53;

ApiError no_log() {
  return api_error(
      Status(Code::unsupported, "the server keeps no audit log: start it with --audit FOLDER"));
}

ApiResult<AuditStore> log_of(const ServerParts& server) {
  if (server.audit == nullptr) return tl::unexpected(no_log());
  Result<AuditStore> store = AuditStore::read(server.audit->folder());
  if (!store) return tl::unexpected(api_error(store.error()));
  return std::move(*store);
}

template <class T>
ApiResult<T> from_log(Result<T> result) {
  if (!result) return tl::unexpected(api_error(result.error()));
  return std::move(*result);
}

ApiResult<void> read_filter_parameter(const QueryParameter& parameter, AuditFilter& filter) {
  const auto& [name, value] = parameter;
  std::string* const text = name == "model"        ? &filter.model
                            : name == "tenant"     ? &filter.tenant
                            : name == "finish"     ? &filter.finish
                            : name == "request_id" ? &filter.request_id
                                                   : nullptr;
  if (text != nullptr) {
    *text = value;
  } else if (name == "limit") {
    filter.most = TRY(query_integer(parameter, {1, kMostListedEntries}));
  } else if (name == "before") {
    filter.before = TRY(query_integer(parameter, {1, INT64_MAX}));
  } else if (name == "since_ms") {
    filter.since_ms = TRY(query_integer(parameter, {0, kMaxMs}));
  } else if (name == "until_ms") {
    filter.until_ms = TRY(query_integer(parameter, {0, kMaxMs}));
  } else if (name == "rated_below") {
    double quality = 0;
    const auto read = read_number(value, quality);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size() || !(quality >= 0)) {
      return tl::unexpected(
          bad_request("rated_below", "'rated_below' must be a number that is not negative"));
    }
    filter.rated_below = quality;
  } else if (name == "slower_than_ms") {
    filter.slower_than_us = TRY(query_integer(parameter, {0, INT32_MAX})) * 1000;
  } else {
    return tl::unexpected(unknown_parameter(
        name,
        "model, tenant, finish, request_id, since_ms, until_ms, slower_than_ms, rated_below, "
        "before or limit"));
  }
  return {};
}

ApiResult<AuditFilter> read_filter(const HttpRequest& http) {
  AuditFilter filter{.most = 100, .newest_first = true};
  for (const QueryParameter& parameter : query_parameters(http.query))
    TRY(read_filter_parameter(parameter, filter));
  return filter;
}

Json head_json(const AuditHead& head) {
  return {{"digest", hex_of(head.digest())},
          {"batch", head.number},
          {"entries", head.last},
          {"time_ms", head.unix_ms}};
}

// GET /v1/audit.
ApiResult<Json> audit_state(const ServerParts& server, const HttpRequest& http) {
  TRY(check_no_query(http));
  const AuditStore store = TRY(log_of(server));
  const auto head = TRY(from_log(store.last_head()));
  const AuditLog::Stats stats = server.audit->stats();
  Json json{{"object", "audit"}, {"public_key", hex_of(store.public_key())}};
  json["head"] = head ? head_json(*head) : Json();
  json["written"] = stats.n_written;
  json["waiting"] = stats.n_waiting;
  json["lost"] = stats.n_lost;
  json["failure"] = stats.failure.empty() ? Json() : Json(stats.failure);
  return json;
}

// GET /v1/audit/entries.
ApiResult<Json> list_entries(const ServerParts& server, const HttpRequest& http) {
  AuditFilter filter = TRY(read_filter(http));
  const AuditStore store = TRY(log_of(server));
  const int64_t limit = filter.most++;
  Json data = Json::array();
  const Status status = for_each_entry(store, filter, [&](const AuditRow& row) -> Status {
    Json body = TRY(parse_json(row.body, fmt::format("entry {}", row.number), {.depth = 64}));
    if (!body.is_object()) return fail(Code::corrupt, "entry {}: not an object", row.number);
    body["number"] = row.number;
    if (row.quality) body["quality"] = *row.quality;
    data.push_back(std::move(body));
    return {};
  });
  if (!status.ok()) return tl::unexpected(api_error(status));
  const bool has_more = std::ssize(data.elements()) > limit;
  if (has_more) data.erase(data.size() - 1);
  return Json{{"object", "list"}, {"data", std::move(data)}, {"has_more", has_more}};
}

ApiResult<int64_t> entry_number(const HttpRequest& http) {
  const auto number = query_integer({"number", http.path_tail}, {1, INT64_MAX});
  if (number) return *number;
  return tl::unexpected(
      ApiError(404, "invalid_request_error",
               fmt::format("there is no entry '{}'", shortened(http.path_tail, 40)), "number",
               "entry_not_found"));
}

// GET /v1/audit/entries/{number}. Contents are there where the log keeps them.
ApiResult<Json> get_entry(const ServerParts& server, const HttpRequest& http) {
  TRY(check_no_query(http));
  const int64_t number = TRY(entry_number(http));
  const AuditStore store = TRY(log_of(server));
  const std::string text = TRY(from_log(store.body(number)));
  Json body = TRY(from_log(parse_json(text, fmt::format("entry {}", number), {.depth = 64})));
  if (!body.is_object()) {
    return tl::unexpected(
        api_error(Status(Code::corrupt, fmt::format("entry {}: not an object", number))));
  }
  body["number"] = number;
  if (const auto contents = TRY(from_log(store.contents(number)))) body["text"] = contents->text;
  return body;
}

// GET /v1/audit/proofs/{number}.
ApiResult<Json> get_proof(const ServerParts& server, const HttpRequest& http) {
  TRY(check_no_query(http));
  const int64_t number = TRY(entry_number(http));
  const AuditStore store = TRY(log_of(server));
  return from_log(audit_proof(store, number, false));
}

// GET /v1/audit/stats.
ApiResult<Json> audit_stats(const ServerParts& server, const HttpRequest& http) {
  AuditFilter filter = TRY(read_filter(http));
  filter.most = kMostCounted;
  const AuditStore store = TRY(log_of(server));
  Json json{{"object", "audit.stats"}};
  json.update(figures_json(TRY(from_log(audit_figures(store, filter)))));
  return json;
}

// POST /v1/audit/ratings. The rating counts for answers to the same tenant.
ApiResult<void> rate_answer(const ServerCall& call, const std::shared_ptr<Reply>& reply) {
  if (call.server.audit == nullptr) return tl::unexpected(no_log());
  const Json* const id = find_field(call.body, "request_id");
  if (id == nullptr) return missing_field("request_id");
  if (!id->is_string()) return wrong_type("request_id", "a string", *id);
  AnswerRating rating{.request_id = id->get<std::string>()};
  if (rating.request_id.empty() || rating.request_id.size() > kMaxRatedId) {
    return tl::unexpected(bad_request(
        "request_id", fmt::format("'request_id' must have 1 to {} bytes", kMaxRatedId)));
  }
  const Json* const quality = find_field(call.body, "quality");
  if (quality == nullptr) return missing_field("quality");
  if (!quality->is_number()) return wrong_type("quality", "a number", *quality);
  rating.quality = quality->get<double>();
  if (!(rating.quality >= 0 && rating.quality <= 1)) {
    return tl::unexpected(bad_request("quality", "'quality' must be from 0 to 1"));
  }
  rating.tenant = TRY(tenant_of(call.http, TRY(read_terms(call.body)).tenant));
  const Json body = {{"object", "audit.rating"},
                     {"request_id", rating.request_id},
                     {"quality", rating.quality},
                     {"user", rating.tenant}};
  call.server.audit->add(std::move(rating));
  send_response(reply, {.body = body.dump()});
  return {};
}

using AuditAnswer = ApiResult<Json> (*)(const ServerParts&, const HttpRequest&);

Route audit_route(ServedModels& models, const char* path, AuditAnswer answer) {
  Route route = simple_route("GET", path, [&models, answer](const HttpRequest& http) {
    const ApiResult<Json> json = answer(models.parts(), http);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = json->dump()};
  });
  route.scope = KeyScope::manage;
  return route;
}

constexpr std::array kRatingFields{
    FieldRow{"request_id", kHonoured, "required; of the answer: what its header X-Request-Id says"},
    FieldRow{"quality", kHonoured, "required; from 0, useless, to 1, as wanted"},
    FieldRow{"user", kHonoured, "that of the answer's request"},
};
constexpr BodyTable kRatingTable{"audit_rating", kRatingFields, 16};

}  // namespace

const BodyTable& rating_fields() { return kRatingTable; }

std::vector<Route> audit_routes(ServedModels& models) {
  Route rate = server_route(models, "POST", "/v1/audit/ratings", rating_fields(), rate_answer);
  rate.scope = KeyScope::infer;
  return {std::move(rate),
          audit_route(models, "/v1/audit", audit_state),
          audit_route(models, "/v1/audit/entries", list_entries),
          audit_route(models, "/v1/audit/entries/{number}", get_entry),
          audit_route(models, "/v1/audit/proofs/{number}", get_proof),
          audit_route(models, "/v1/audit/stats", audit_stats)};
}

}  // namespace ruv
