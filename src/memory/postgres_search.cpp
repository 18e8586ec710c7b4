// Searching a store in PostgreSQL: both searches and the texts of what they found are of one
// moment.
#ifdef RUV_HAS_LIBPQ
#include <algorithm>
#include <unordered_map>

#include "memory/hnsw.h"
#include "memory/postgres_filter.h"
#include "memory/postgres_schema.h"
#include "memory/postgres_store.h"
#include "memory/postgres_wire.h"
#include "memory/ranked_chunks.h"
#include "memory/store_schema.h"

namespace ruv {
namespace {

// The most chunks that a search of pgvector's graph looks at once.
constexpr int64_t kMostLookedAt = 1000;

// Any of the words; a word that PostgreSQL takes apart is a phrase. Empty: there are none.
std::string word_terms(std::string_view text, PostgresValues& values) {
  std::string terms;
  for (const std::string_view word : query_words(text)) {
    std::string kept(word);
    std::erase(kept, '\0');
    if (kept.empty()) continue;
    terms += (terms.empty() ? "phraseto_tsquery('pg_catalog.simple', "
                            : " || phraseto_tsquery('pg_catalog.simple', ") +
             values.text(kept) + ")";
  }
  return terms;
}

}  // namespace

// Rank 1 of ts_rank divides by the logarithm of a chunk's length, so that long ones do not win by
// their length alone. The GIN index finds the chunks; all of them are ranked.
Status PostgresStore::rank_words(const MemoryQuery& query, RankedChunks& ranked) const {
  PostgresValues values;
  const std::string terms = word_terms(query.words, values);
  if (terms.empty()) return {};
  const std::string condition = postgres_condition(query.filter, values);
  const std::string limit = values.number(query.n_candidates);
  const PostgresRows rows = TRY(wire_->ask(
      fmt::format("SELECT chunks.id FROM chunks JOIN documents ON documents.id = document"
                  " WHERE words @@ ({0}) AND {1}"
                  " ORDER BY ts_rank(words, ({0}), 1) DESC, chunks.id LIMIT {2}",
                  terms, condition, limit),
      values));
  for (int64_t i = 0; i < rows.size(); ++i) ranked.add_word(TRY(rows.integer(i, 0)));
  return {};
}

// Exactly: all chunks that the filter takes are compared. Else pgvector's graph may be searched.
Result<PostgresRows> PostgresStore::near(const MemoryQuery& query, std::span<const float> vector,
                                         bool exactly) const {
  PostgresValues values;
  const std::string point = values.vector(vector);
  const std::string limit = values.number(query.n_candidates);
  if (exactly) {
    const std::string condition = postgres_condition(query.filter, values);
    return wire_->ask(
        fmt::format("WITH taken AS MATERIALIZED (SELECT chunks.id, vector <=> {}::vector AS far"
                    " FROM chunks JOIN documents ON documents.id = document WHERE {})"
                    " SELECT id, far FROM taken ORDER BY far, id LIMIT {}",
                    point, condition, limit),
        values);
  }
  const int64_t looked_at = std::min(2 * query.n_candidates, kMostLookedAt);
  TRY(wire_->run(fmt::format("SET LOCAL hnsw.ef_search = {}", looked_at)));
  return wire_->ask(
      fmt::format("SELECT id, far FROM (SELECT id, vector <=> {0}::vector AS far FROM chunks"
                  " ORDER BY vector <=> {0}::vector LIMIT {1}) AS taken ORDER BY far, id",
                  point, limit),
      values);
}

// A filter leaves the graph too few of those that it looks at, as do chunks that were removed since
// the server's last VACUUM: then all are compared.
Status PostgresStore::rank_vectors(const MemoryQuery& query, RankedChunks& ranked) const {
  if (std::ssize(query.vector) != kind_.n_dims) {
    return fail(Code::invalid, "a vector of {} numbers, not {}", query.vector.size(), kind_.n_dims);
  }
  std::vector<float> vector(query.vector.begin(), query.vector.end());
  if (!normalise(vector)) return fail(Code::invalid, "the query's vector has no direction");
  const bool exactly = !query.filter.empty() || 2 * query.n_candidates > kMostLookedAt;
  std::optional<PostgresRows> rows;
  if (!exactly) rows.emplace(TRY(near(query, vector, false)));
  if (!rows || rows->size() < query.n_candidates) {
    auto all = TRY(near(query, vector, true));
    rows.emplace(std::move(all));
  }
  for (int64_t i = 0; i < rows->size(); ++i) {
    const double distance = TRY(rows->real(i, 1));
    ranked.add_near(TRY(rows->integer(i, 0)), static_cast<float>(distance));
  }
  return {};
}

// In the order of `order`, filled in.
Result<std::vector<FoundChunk>> PostgresStore::read_chunks(std::vector<FoundChunk> order) const {
  std::unordered_map<int64_t, FoundChunk*> places;
  std::string ids;
  for (FoundChunk& chunk : order) {
    places[chunk.id] = &chunk;
    ids += (ids.empty() ? "" : ",") + std::to_string(chunk.id);
  }
  PostgresValues values;
  const std::string wanted = values.text("{" + ids + "}");
  const PostgresRows rows = TRY(wire_->ask(
      "SELECT chunks.id, document, first, stop, headings, text, hash, name, metadata, page"
      " FROM chunks JOIN documents ON documents.id = document WHERE chunks.id = ANY(" +
          wanted + "::bigint[])",
      values));
  for (int64_t i = 0; i < rows.size(); ++i) {
    FoundChunk& chunk = *places[TRY(rows.integer(i, 0))];
    chunk.first = TRY(rows.integer(i, 2));
    chunk.end = TRY(rows.integer(i, 3));
    chunk.headings = rows.text(i, 4);
    chunk.text = rows.text(i, 5);
    chunk.document = rows.text(i, 7);
    chunk.metadata = TRY(parse_json(rows.text(i, 8), chunk.document));
    chunk.page = TRY(rows.integer(i, 9));
    const TextChunk place{chunk.first, chunk.end, chunk.headings, chunk.page};
    if (hash_of_chunk(TRY(rows.integer(i, 1)), place, chunk.text) == TRY(rows.integer(i, 6))) {
      continue;
    }
    return fail(Code::corrupt, "{}: chunk {} of {} is damaged; add the document again",
                wire_->shown_url(), chunk.id, chunk.document);
  }
  return order;
}

Result<std::vector<FoundChunk>> PostgresStore::search(const MemoryQuery& asked) const {
  const MemoryQuery query = TRY(checked_query(asked));
  if (query.n_related > 0 || query.remembers) {
    return fail(Code::unsupported,
                "{}: a store in PostgreSQL has no edges between chunks: neither related chunks nor "
                "--remember; `ruvllm memory export` and `import` make a folder of it",
                wire_->shown_url());
  }
  const Lock held(using_);
  PostgresTransaction view = TRY(PostgresTransaction::begin_view(*wire_));
  RankedChunks ranked(query);
  if (!query.vector.empty()) TRY(rank_vectors(query, ranked));
  TRY(rank_words(query, ranked));
  std::vector<FoundChunk> order = ranked.in_order();
  if (std::ssize(order) > query.k) order.resize(static_cast<size_t>(query.k));
  return read_chunks(std::move(order));
}

}  // namespace ruv
#endif
