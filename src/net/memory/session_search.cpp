#include "net/memory/session_search.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/session_store.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/sessions.h"

namespace ruv {
namespace {

constexpr int64_t kMostSessions = 100;
// Chunks that are looked at for each session wanted: many chunks of a long session may fit.
constexpr int64_t kChunksOfSession = 10;
constexpr int64_t kRefreshBytes = 65'536;

// What a body asks for.
struct SessionLookup {
  StoreSearch search;
  int64_t k = 5;
  int64_t refresh_bytes = kRefreshBytes;
};

Json comparison(const char* type, const std::string& key, Json value) {
  return {{"type", type}, {"key", key}, {"value", std::move(value)}};
}

// A text that may be absent. Fails: 400.
ApiResult<std::string> optional_text(const Json& body, const char* field) {
  return find_field(body, field) == nullptr ? std::string() : read_text(body, field);
}

// The conditions of a body, as a filter of metadata.
ApiResult<MetadataFilter> read_conditions(const Json& body) {
  Json all = Json::array();
  if (const std::string model = TRY(optional_text(body, "model")); !model.empty()) {
    all.push_back(comparison("eq", "model", model));
  }
  if (const std::string adapter = TRY(optional_text(body, "adapter")); !adapter.empty()) {
    Json either = {{"type", "or"}};
    either["filters"] = {comparison("eq", "model", adapter),
                         comparison("eq", "adapter:" + adapter, true)};
    all.push_back(std::move(either));
  }
  if (find_field(body, "since") != nullptr) {
    const int64_t since = TRY(read_integer(body, "since", 0, {0, INT64_MAX}));
    all.push_back(comparison("gt", "updated", since - 1));
  }
  if (find_field(body, "until") != nullptr) {
    all.push_back(comparison("lt", "updated", TRY(read_integer(body, "until", 0, {0, INT64_MAX}))));
  }
  if (all.empty()) return MetadataFilter();
  const Json both = {{"type", "and"}, {"filters", std::move(all)}};
  auto filter = MetadataFilter::parse(both, "filter");
  if (!filter) return tl::unexpected(api_error(filter.error()));
  return std::move(*filter);
}

ApiResult<SessionLookup> read_lookup(const Json& body) {
  SessionLookup lookup;
  lookup.k = TRY(read_integer(body, "k", lookup.k, {1, kMostSessions}));
  lookup.refresh_bytes =
      TRY(read_integer(body, "refresh_bytes", lookup.refresh_bytes, {0, int64_t{1} << 20}));
  lookup.search.queries.push_back(TRY(read_text(body, "query")));
  lookup.search.k = lookup.k * kChunksOfSession;
  lookup.search.filter = TRY(read_conditions(body));
  return lookup;
}

// The sessions of chunks that were found, each with its best one.
Json sessions_json(const SessionStore& sessions, const std::string& tenant,
                   const StoreFindings& findings, int64_t k) {
  Json data = Json::array();
  std::set<std::string> seen;
  for (const FoundChunk& chunk : findings.chunks) {
    if (std::ssize(data) == k) break;
    if (!seen.insert(chunk.document).second) continue;
    const auto info = sessions.find(tenant, chunk.document);
    if (!info) continue;  // deleted meanwhile
    Json one = session_json(*info);
    one["score"] = chunk.score;
    if (chunk.vector_rank > 0) one["similarity"] = 1 - chunk.distance;
    one["text"] = chunk.text;
    data.push_back(std::move(one));
  }
  return data;
}

// POST /v1/sessions/search.
ApiResult<void> search_sessions(ServedModels& models, const ServerCall& http,
                                const std::shared_ptr<Reply>& reply) {
  ServedMemory* const memory = TRY(memory_of(http.server));
  const SessionStore* const sessions = TRY(kept_sessions(http.server));
  if (sessions->is_sealed() && !memory->is_encrypted()) {
    return tl::unexpected(bad_request(
        "", "sessions are encrypted here, and the memory is not, without --memory-key: no search",
        "sessions_sealed"));
  }
  const std::string user = TRY(read_terms(http.body)).tenant;
  const MemoryRequest call{models, *memory, TRY(tenant_of(http.http, user)), reply, http.http.id};
  const auto lookup = std::make_shared<const SessionLookup>(TRY(read_lookup(http.body)));
  const std::string folder = TRY(remembered(*memory, session_index_folder(*memory, call.tenant)));
  const auto intake = std::make_shared<SessionIntake>(*memory, *sessions, call.tenant, folder);
  const auto answer = [call, sessions, folder, intake,
                       lookup](EmbeddedTexts embedded) -> ApiResult<HttpResponse> {
    // The last vector is the query's.
    EmbeddedTexts query{.kind = embedded.kind,
                        .vectors = {embedded.vectors.back()},
                        .n_tokens = embedded.n_tokens,
                        .vector_weight = embedded.vector_weight};
    embedded.vectors.pop_back();
    TRY(intake->write(std::move(embedded)));
    const StoreFindings findings = TRY(find_chunks(call, folder, lookup->search, query));
    Json json = {{"object", "session.search"}};
    json["data"] = sessions_json(*sessions, call.tenant, findings, lookup->k);
    json["n_pending"] = intake->n_pending();
    json["usage"] = {{"prompt_tokens", query.n_tokens}, {"total_tokens", query.n_tokens}};
    return HttpResponse{.body = json.dump()};
  };
  embed_and_answer(
      call, lookup->search.queries.front().size(),
      [call, intake, answer, lookup](const OpenAiService& service) -> ApiResult<EmbedJob> {
        return EmbedJob{.texts = TRY(intake->prepare(service, lookup->refresh_bytes)),
                        .purpose = TextPurpose::document,
                        .queries = lookup->search.queries,
                        .workers = &call.memory.changes(),
                        .answer = answer};
      });
  return {};
}

constexpr std::array kSessionSearch{
    FieldRow{"query", kHonoured, "required; what was said"},
    FieldRow{"k", kHonoured, "1 to 100: how many sessions; absent: 5"},
    FieldRow{"model", kHonoured, "only those that this model, or adapter, answered last"},
    FieldRow{"adapter", kHonoured, "only those that are answered with this adapter"},
    FieldRow{"since", kHonoured, "only those that changed at this time or later, in unix seconds"},
    FieldRow{"until", kHonoured, "only those that changed before this time"},
    FieldRow{"refresh_bytes", kHonoured,
             "0 to 1048576, 65536 when absent: how much of what changed is embedded first, a "
             "session at least where it is not 0"},
    FieldRow{"user", kHonoured, "whose sessions they are"},
};
constexpr BodyTable kSessionSearchBody{"session_search", kSessionSearch, kMaxConversationValues};

}  // namespace

const BodyTable& session_search_fields() { return kSessionSearchBody; }

std::vector<Route> session_search_routes(ServedModels& models) {
  Route route =
      server_route(models, "POST", "/v1/sessions/search", session_search_fields(),
                   [&models](const ServerCall& call, const std::shared_ptr<Reply>& reply) {
                     return search_sessions(models, call, reply);
                   });
  route.scope = KeyScope::sessions;
  std::vector<Route> routes;
  routes.push_back(std::move(route));
  return routes;
}

}  // namespace ruv
