#include "net/memory/memory_query.h"

#include <algorithm>
#include <unordered_map>

#include "audit/audit_log.h"
#include "base/folder.h"

namespace ruv {
namespace {

ApiResult<MemoryMode> read_mode(const Json& body) {
  const Json* mode = find_field(body, "mode");
  if (mode == nullptr || *mode == "hybrid") return MemoryMode::hybrid;
  if (*mode == "vector") return MemoryMode::vector;
  if (*mode == "words") return MemoryMode::words;
  return tl::unexpected(bad_request("mode", "'mode' must be \"hybrid\", \"vector\" or \"words\""));
}

}  // namespace

// In the audit log, where there is one.
void note_retrieval(const MemoryRequest& call, const std::string& folder,
                    const StoreFindings& findings) {
  AuditLog* const log = call.models.parts().audit;
  if (log == nullptr) return;
  MemoryRetrieval retrieval{
      .request_id = call.id, .tenant = call.tenant, .store = file_name_of(folder)};
  for (const FoundChunk& chunk : findings.chunks) {
    retrieval.chunks.push_back({chunk.id, chunk.document, chunk.score});
  }
  log->add(std::move(retrieval));
}

// Each query is a search by itself, as ranks of different queries cannot be added up.
ApiResult<StoreFindings> find_chunks(const MemoryRequest& call, const std::string& folder,
                                     const StoreSearch& search, const EmbeddedTexts& embedded) {
  StoreFindings findings{.chunks = {}, .n_tokens = embedded.n_tokens};
  const bool by_words = search.mode == MemoryMode::words;
  // A store of another model is refused: its vectors say nothing here.
  const StoreShelf::Lease store = TRY(remembered(call.memory, call.memory.shelf().find(folder)));
  if (store == nullptr) return findings;
  if (!by_words && !MemoryStore::is_same_model(store->kind(), embedded.kind)) {
    return tl::unexpected(bad_request(
        "", fmt::format("what is in memory here was embedded by another model: {}; this one is {}",
                        store->kind().embedder, embedded.kind.embedder)));
  }
  findings.were_remembered = search.remembers;
  std::unordered_map<int64_t, size_t> places;
  for (size_t i = 0; i < search.queries.size(); ++i) {
    MemoryQuery query{.k = search.k, .filter = search.filter};
    query.n_related = search.n_related;
    query.most_visited = search.most_visited;
    query.remembers = search.remembers;
    if (search.mode != MemoryMode::vector) query.words = search.queries[i];
    if (!by_words) query.vector = embedded.vectors[i];
    query.vector_weight = embedded.vector_weight;
    for (FoundChunk& chunk : TRY(remembered(call.memory, store->search(query)))) {
      const auto [at, is_new] = places.try_emplace(chunk.id, findings.chunks.size());
      if (is_new) {
        findings.chunks.push_back(std::move(chunk));
      } else if (chunk.score > findings.chunks[at->second].score) {
        findings.chunks[at->second] = std::move(chunk);
      }
    }
  }
  std::ranges::sort(findings.chunks, [](const FoundChunk& a, const FoundChunk& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.related != b.related ? a.related > b.related : a.id < b.id;
  });
  const int64_t most = search.k + search.n_related;
  if (std::ssize(findings.chunks) > most) findings.chunks.resize(static_cast<size_t>(most));
  note_retrieval(call, folder, findings);
  return findings;
}

ApiResult<void> search_and_answer(const MemoryRequest& call, const std::string& folder,
                                  StoreSearch search, AnswerFindings answer) {
  if (search.mode == MemoryMode::words) {
    send_result(call.reply, answer(TRY(find_chunks(call, folder, search, {}))));
    return {};
  }
  // The model is loaded first, where it is not: all below happens later, on other threads.
  const auto shared = std::make_shared<const StoreSearch>(std::move(search));
  uint64_t n_bytes = 0;
  for (const std::string& query : shared->queries) n_bytes += query.size();
  embed_and_answer(
      call, n_bytes, [call, folder, shared, answer](const OpenAiService&) -> ApiResult<EmbedJob> {
        return EmbedJob{.texts = shared->queries,
                        .purpose = TextPurpose::query,
                        .workers = &call.memory.searches(),
                        .answer = [call, folder, shared,
                                   answer](EmbeddedTexts embedded) -> ApiResult<HttpResponse> {
                          return answer(TRY(find_chunks(call, folder, *shared, embedded)));
                        }};
      });
  return {};
}

ApiResult<StoreSearch> read_search(const Json& body) {
  StoreSearch search;
  search.queries.push_back(TRY(read_text(body, "query")));
  search.k = TRY(read_integer(body, "k", 5, {1, 1000}));
  search.mode = TRY(read_mode(body));
  search.n_related = TRY(read_integer(body, "related", 0, {0, 1000}));
  search.most_visited = TRY(read_integer(body, "max_visited", search.most_visited, {1, 10'000}));
  search.remembers = TRY(read_flag(body, "remember", false));
  auto members = MetadataFilter::of_members(TRY(read_object(body, "metadata")));
  if (!members) return tl::unexpected(api_error(members.error(), "metadata"));
  search.filter = std::move(*members);
  if (const Json* filter = find_field(body, "filter")) {
    const auto more = MetadataFilter::parse(*filter, "filter");
    if (!more) return tl::unexpected(api_error(more.error(), "filter"));
    search.filter = search.filter.both(*more);
  }
  return search;
}

ApiResult<std::string> read_text(const Json& body, const char* field) {
  const Json* value = find_field(body, field);
  if (value == nullptr) return missing_field(field);
  if (!value->is_string()) return wrong_type(field, "a string", *value);
  if (value->text().find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' has nothing but blanks", field)));
  }
  return std::string(value->text());
}

ApiResult<Json> read_object(const Json& body, const char* field) {
  const Json* value = find_field(body, field);
  if (value == nullptr) return Json::object();
  if (!value->is_object()) return wrong_type(field, "an object", *value);
  return *value;
}

}  // namespace ruv
