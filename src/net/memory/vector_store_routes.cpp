// /v1/vector_stores, as OpenAI's API has it. What is embedded is embedded before the answer: a file
// that a store shows is complete.
#include "net/memory/files_job.h"
#include "net/memory/memory_query.h"
#include "net/memory/memory_routes.h"
#include "net/memory/vector_store_parts.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr size_t kMostQueries = 16;
// The sum of reciprocal ranks of a chunk that both searches find first.
constexpr double kBestScore = 2.0 / 61;

// A text that may be absent.
ApiResult<std::string> read_short_text(const Json& body, const char* field) {
  constexpr size_t kMostBytes = 4096;
  const Json* value = find_field(body, field);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  if (value->text().size() <= kMostBytes) return std::string(value->text());
  return tl::unexpected(
      bad_request(field, fmt::format("'{}' has more than {} bytes", field, kMostBytes)));
}

// 0: never. Fails: 400.
ApiResult<int64_t> read_days(const Json& body) {
  const Json after = TRY(read_object(body, "expires_after"));
  if (after.empty()) return 0;
  constexpr FieldRow kRows[] = {{"anchor", kHonoured, ""}, {"days", kHonoured, ""}};
  TRY(check_fields(after, kRows, "expires_after."));
  const Json* anchor = find_field(after, "anchor");
  if (anchor == nullptr || *anchor != "last_active_at") {
    return tl::unexpected(
        bad_request("expires_after", "'expires_after.anchor' must be \"last_active_at\""));
  }
  const int64_t days = TRY(read_integer(after, "days", 0, {1, 365}));
  if (days == 0) return missing_field("expires_after.days");
  return days;
}

// POST /v1/vector_stores. The row comes when the vectors are there, so that what fails leaves no
// store.
ApiResult<void> create_store(ServedModels& models, const ServerCall& http,
                             const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  ServedMemory& memory = owner.memory;
  CatalogStore store;
  store.name = TRY(read_short_text(http.body, "name"));
  store.description = TRY(read_short_text(http.body, "description"));
  store.metadata = TRY(read_notes(http.body, "metadata", false));
  store.expires_days = TRY(read_days(http.body));
  store.created_s = store.active_s = owner.now_s;
  std::vector<FileToAdd> files = TRY(read_new_files(owner, http.body, Json::object()));
  store.id = memory.new_id("vs_");
  const auto begin = [&memory, number = owner.number, store]() -> ApiResult<void> {
    return remembered(memory, memory.catalog().add_store(number, store));
  };
  const auto undo = [&memory, number = owner.number, id = store.id]() -> ApiResult<void> {
    TRY(remembered(memory, memory.catalog().remove_store(number, id)));
    memory.shelf().drop(memory.store_folder(id));
    return {};
  };
  const auto end = [&memory, number = owner.number, id = store.id,
                    now = owner.now_s]() -> ApiResult<Json> {
    const auto made = TRY(remembered(memory, memory.catalog().store(number, id)));
    if (made) return store_json(*made, now);
    return tl::unexpected(api_error(Status(Code::not_found, "the store was deleted meanwhile")));
  };
  if (files.empty()) {
    TRY(begin());
    send_response(reply, {.body = TRY(end()).dump()});
    return {};
  }
  return add_files({models, memory, owner.tenant, reply, owner.http.id}, owner,
                   {store.id, std::move(files), begin, undo, end});
}

// POST /v1/vector_stores/{id}. What the body does not name stays as it is.
ApiResult<void> modify_store(ServedModels&, const ServerCall& http,
                             const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  CatalogStore store = TRY(find_store(owner, http.http.path_tail));
  const Json& body = http.body;
  if (find_field(body, "name") != nullptr) store.name = TRY(read_short_text(body, "name"));
  if (find_field(body, "metadata") != nullptr) {
    store.metadata = TRY(read_notes(body, "metadata", false));
  }
  if (find_field(body, "expires_after") != nullptr) store.expires_days = TRY(read_days(body));
  store.active_s = owner.now_s;
  TRY(remembered(owner.memory, owner.memory.catalog().change_store(store)));
  send_response(reply, {.body = store_json(store, owner.now_s).dump()});
  return {};
}

// POST /v1/vector_stores/{id}/files. A file that is there already is added anew.
ApiResult<void> add_store_file(ServedModels& models, const ServerCall& http,
                               const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  ServedMemory& memory = owner.memory;
  const CatalogStore store = TRY(find_store(owner, http.http.path_tail));
  const std::string id = TRY(read_text(http.body, "file_id"));
  FileToAdd added{TRY(find_file(owner, id)), TRY(read_notes(http.body, "attributes", true)),
                  TRY(read_chunk_plan(http.body))};
  const auto end = [&memory, store = store.id, file = id,
                    attributes = added.attributes]() -> ApiResult<Json> {
    const auto entry = TRY(remembered(memory, memory.catalog().entry(store, file)));
    if (entry) return entry_json(store, *entry, attributes);
    return tl::unexpected(api_error(Status(Code::not_found, "the store was deleted meanwhile")));
  };
  return add_files({models, memory, owner.tenant, reply, owner.http.id}, owner,
                   {store.id, {std::move(added)}, {}, {}, end});
}

// POST /v1/vector_stores/{id}/files/{file_id}: its attributes.
ApiResult<void> change_store_file(ServedModels&, const ServerCall& http,
                                  const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  ServedMemory& memory = owner.memory;
  const std::string& store = http.http.path_first;
  const CatalogEntry entry = TRY(find_entry(owner, store, http.http.path_tail));
  if (find_field(http.body, "attributes") == nullptr) return missing_field("attributes");
  const Json attributes = TRY(read_notes(http.body, "attributes", true));
  const StoreShelf::Lease lease =
      TRY(remembered(memory, memory.shelf().find(memory.store_folder(store))));
  if (lease != nullptr) TRY(remembered(memory, lease->set_metadata(entry.file, attributes)));
  send_response(reply, {.body = entry_json(store, entry, attributes).dump()});
  return {};
}

// A text, or a list of some.
ApiResult<std::vector<std::string>> read_queries(const Json& body) {
  const Json* query = find_field(body, "query");
  if (query != nullptr && !query->is_array()) {
    return std::vector<std::string>{TRY(read_text(body, "query"))};
  }
  if (query == nullptr) return missing_field("query");
  if (query->empty() || query->size() > kMostQueries) {
    return tl::unexpected(bad_request(
        "query", fmt::format("'query' has {} texts; give 1 to {}", query->size(), kMostQueries)));
  }
  std::vector<std::string> queries;
  for (const Json& one : *query) {
    queries.push_back(TRY(read_text(Json{{"query", one}}, "query")));
  }
  return queries;
}

// How found chunks are ordered, and which of them are shown.
struct StoreRanking {
  MemoryMode mode = MemoryMode::hybrid;
  double least_score = 0;
};

// Fails: 400, for rankers that are not here and weights.
ApiResult<StoreRanking> read_ranking(const Json& body) {
  StoreRanking ranking;
  const Json options = TRY(read_object(body, "ranking_options"));
  constexpr FieldRow kRows[] = {{"ranker", kHonoured, ""},
                                {"score_threshold", kHonoured, ""},
                                {"hybrid_search", kUnsupported, ""}};
  TRY(check_fields(options, kRows, "ranking_options."));
  if (const Json* ranker = find_field(options, "ranker")) {
    if (*ranker == "none") {
      ranking.mode = MemoryMode::vector;
    } else if (*ranker != "auto") {
      return tl::unexpected(
          bad_request("ranking_options", "'ranking_options.ranker' must be \"auto\" or \"none\""));
    }
  }
  const Json* least = find_field(options, "score_threshold");
  if (least == nullptr) return ranking;
  if (!least->is_number() || least->get<double>() < 0 || least->get<double>() > 1) {
    return tl::unexpected(bad_request(
        "ranking_options", "'ranking_options.score_threshold' must be a number from 0 to 1"));
  }
  ranking.least_score = least->get<double>();
  return ranking;
}

// From 0 to 1, so that a threshold can be given.
double shown_score(const FoundChunk& chunk, MemoryMode mode) {
  const double score =
      mode == MemoryMode::vector ? 1 - double{chunk.distance} : chunk.score / kBestScore;
  return std::clamp(score, 0.0, 1.0);
}

// Chunks of files that were taken out meanwhile have no entry.
ApiResult<HttpResponse> findings_page(ServedMemory& memory, const std::string& store,
                                      const std::vector<std::string>& queries,
                                      const StoreRanking& ranking, const StoreFindings& findings) {
  Json data = Json::array();
  for (const FoundChunk& chunk : findings.chunks) {
    const double score = shown_score(chunk, ranking.mode);
    if (score < ranking.least_score) continue;
    const auto entry = TRY(remembered(memory, memory.catalog().entry(store, chunk.document)));
    if (!entry) continue;
    Json one = {{"file_id", chunk.document},
                {"filename", entry->name},
                {"score", score},
                {"attributes", chunk.metadata}};
    one["content"].push_back({{"type", "text"}, {"text", chunk.text}});
    data.push_back(std::move(one));
  }
  Json page = {{"object", "vector_store.search_results.page"}, {"search_query", queries}};
  page["data"] = std::move(data);
  page["has_more"] = false;
  page["next_page"] = nullptr;
  return HttpResponse{.body = page.dump()};
}

// POST /v1/vector_stores/{id}/search. A search is a use: the store expires later.
ApiResult<void> search_store(ServedModels& models, const ServerCall& http,
                             const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  ServedMemory& memory = owner.memory;
  const CatalogStore store = TRY(find_store(owner, http.http.path_tail));
  StoreSearch search;
  search.queries = TRY(read_queries(http.body));
  search.k = TRY(read_integer(http.body, "max_num_results", 10, {1, 50}));
  if (const Json* filters = find_field(http.body, "filters")) {
    auto filter = MetadataFilter::parse(*filters, "filters");
    if (!filter) return tl::unexpected(api_error(filter.error(), "filters"));
    search.filter = std::move(*filter);
  }
  const StoreRanking ranking = TRY(read_ranking(http.body));
  search.mode = ranking.mode;
  TRY(remembered(memory, memory.catalog().touch_store(store.id, owner.now_s)));
  const auto answer = [&memory, id = store.id, queries = search.queries,
                       ranking](const StoreFindings& findings) {
    return findings_page(memory, id, queries, ranking, findings);
  };
  return search_and_answer({models, memory, owner.tenant, reply, owner.http.id},
                           memory.store_folder(store.id), std::move(search), answer);
}

// GET /v1/vector_stores. Those that have expired are shown as such until they are asked for.
ApiResult<Json> list_stores(const StoreOwner& owner) {
  CatalogPage page = TRY(read_page(owner.http));
  ++page.limit;
  std::vector<Json> items;
  for (const CatalogStore& store :
       TRY(remembered(owner.memory, owner.memory.catalog().stores(owner.number, page)))) {
    items.push_back(store_json(store, owner.now_s));
  }
  return list_json(std::move(items), page.limit - 1);
}

// GET /v1/vector_stores/{id}.
ApiResult<Json> show_store(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  return store_json(TRY(find_store(owner, owner.http.path_tail)), owner.now_s);
}

// DELETE /v1/vector_stores/{id}. Searches that have it end as they would have.
ApiResult<Json> erase_store(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  const CatalogStore store = TRY(find_store(owner, owner.http.path_tail));
  TRY(delete_store(owner, store.id));
  return Json{{"id", store.id}, {"object", "vector_store.deleted"}, {"deleted", true}};
}

// GET /v1/vector_stores/{id}/files.
ApiResult<Json> list_store_files(const StoreOwner& owner) {
  return entries_list(owner, TRY(find_store(owner, owner.http.path_tail)).id, "");
}

// GET /v1/vector_stores/{id}/files/{file_id}.
ApiResult<Json> show_store_file(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  const std::string& store = owner.http.path_first;
  const CatalogEntry entry = TRY(find_entry(owner, store, owner.http.path_tail));
  return entry_json(store, entry, TRY(attributes_of(owner, store, entry.file)));
}

// GET /v1/vector_stores/{id}/files/{file_id}/content: the text as one piece, however it was cut.
ApiResult<Json> show_store_text(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  const CatalogEntry entry = TRY(find_entry(owner, owner.http.path_first, owner.http.path_tail));
  const std::string text =
      TRY(remembered(owner.memory, owner.memory.catalog().content(owner.number, entry.file)));
  Json page = {{"object", "vector_store.file_content.page"}};
  page["data"].push_back({{"type", "text"}, {"text", text}});
  page["has_more"] = false;
  page["next_page"] = nullptr;
  return page;
}

// DELETE /v1/vector_stores/{id}/files/{file_id}. The file itself stays.
ApiResult<Json> erase_store_file(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  const std::string& store = owner.http.path_first;
  const CatalogEntry entry = TRY(find_entry(owner, store, owner.http.path_tail));
  TRY(remove_from_store(owner, store, entry.file));
  return Json{{"id", entry.file}, {"object", "vector_store.file.deleted"}, {"deleted", true}};
}

}  // namespace

std::vector<Route> vector_store_routes(ServedModels& models) {
  constexpr const char* kStore = "/v1/vector_stores/{id}";
  constexpr const char* kFiles = "/v1/vector_stores/{id}/files";
  constexpr const char* kFile = "/v1/vector_stores/{id}/files/{file_id}";
  std::vector<Route> routes{
      store_route(models, "/v1/vector_stores", vector_store_fields(), create_store),
      owner_route(models, "GET", "/v1/vector_stores", list_stores),
      store_route(models, "/v1/vector_stores/{id}/search", vector_store_search_fields(),
                  search_store),
      store_route(models, kFiles, vector_store_file_fields(), add_store_file),
      owner_route(models, "GET", kFiles, list_store_files),
      owner_route(models, "GET", "/v1/vector_stores/{id}/files/{file_id}/content", show_store_text),
      store_route(models, kFile, vector_store_file_change_fields(), change_store_file),
      owner_route(models, "GET", kFile, show_store_file),
      owner_route(models, "DELETE", kFile, erase_store_file),
      store_route(models, kStore, vector_store_change_fields(), modify_store),
      owner_route(models, "GET", kStore, show_store),
      owner_route(models, "DELETE", kStore, erase_store)};
  make_store_routes(routes);
  return routes;
}

}  // namespace ruv
