// Searching a store: by vectors and by words, and both merged by their ranks.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include "base/clock.h"
#include "memory/store.h"
#include "memory/store_schema.h"
#include "memory/word_query.h"

namespace ruv {
namespace {

// The number in the formula; lower ones give the first places of one search more weight.
constexpr double kRankOffset = 60;
constexpr int64_t kMostCandidates = 10'000;
constexpr int64_t kMostRelated = 1000;

}  // namespace

Result<std::vector<int64_t>> MemoryStore::allowed(const MetadataFilter& filter) const {
  DbStatement statement =
      TRY(database_.prepare("SELECT id FROM chunks WHERE " + filter.condition()));
  filter.bind(statement);
  std::vector<int64_t> ids;
  while (TRY(statement.step())) ids.push_back(statement.integer(0));
  return ids;
}

Result<std::vector<int64_t>> MemoryStore::by_words(const MemoryQuery& query) const {
  const std::string words = TRY(word_query(database_, query.words, index_->size()));
  if (words.empty()) return std::vector<int64_t>();
  std::string text = "SELECT words.rowid FROM words ";
  if (query.filter.empty()) {
    text += "WHERE words MATCH ?1";
  } else {
    text += "JOIN chunks ON chunks.id = words.rowid WHERE words MATCH ?1 AND ";
    text += query.filter.condition();
  }
  text += " ORDER BY words.rank, words.rowid LIMIT ?2";
  DbStatement statement = TRY(database_.prepare(text));
  statement.bind(1, std::string_view(words));
  statement.bind(2, query.n_candidates);
  query.filter.bind(statement);
  std::vector<int64_t> ids;
  while (TRY(statement.step())) ids.push_back(statement.integer(0));
  return ids;
}

Result<std::vector<VectorIndex::Found>> MemoryStore::by_vector(const MemoryQuery& query) const {
  DiskVectors::Query asked{.k = query.n_candidates, .n_looked_at = 2 * query.n_candidates};
  std::vector<int64_t> among;
  if (!query.filter.empty()) {
    const Lock held(using_);
    among = TRY(allowed(query.filter));
    asked.among = &among;
  }
  std::unique_ptr<DiskVectors::Search> memory;
  {
    const Lock held(searches_lock_);
    if (searches_.empty()) searches_.push_back(std::make_unique<DiskVectors::Search>());
    memory = std::move(searches_.back());
    searches_.pop_back();
  }
  auto found = index_->search(query.vector, asked, *memory);
  const Lock held(searches_lock_);
  searches_.push_back(std::move(memory));
  return found;
}

// False: the chunk was removed meanwhile.
Result<bool> MemoryStore::read_chunk(FoundChunk& chunk) const {
  DbStatement statement = TRY(database_.prepare(
      "SELECT document, first, end, headings, text, hash, name, metadata,"
      " page FROM chunks JOIN documents ON documents.id = document WHERE chunks.id = ?1"));
  statement.bind(1, chunk.id);
  if (!TRY(statement.step())) return false;
  const int64_t document = statement.integer(0);
  chunk.first = statement.integer(1);
  chunk.end = statement.integer(2);
  chunk.headings = statement.text(3);
  chunk.text = statement.text(4);
  chunk.document = statement.text(6);
  chunk.metadata = TRY(parse_json(statement.text(7), chunk.document));
  chunk.page = statement.integer(8);
  const TextChunk place{chunk.first, chunk.end, chunk.headings, chunk.page};
  const int64_t hash = hash_of_chunk(document, place, chunk.text);
  if (hash == statement.integer(5)) return true;
  return fail(Code::corrupt, "{}/store.db: chunk {} of {} is damaged; add the document again",
              options_.folder, chunk.id, chunk.document);
}

Result<std::vector<FoundChunk>> MemoryStore::search(const MemoryQuery& asked) const {
  MemoryQuery query = asked;
  if (query.vector.empty() && query.words.find_first_not_of(" \t\r\n") == query.words.npos) {
    return fail(Code::invalid, "nothing to search for: neither a vector nor words");
  }
  if (query.k < 1 || query.k > kMostCandidates) {
    return fail(Code::invalid, "k is {}, not 1 to {}", query.k, kMostCandidates);
  }
  if (query.n_related < 0 || query.n_related > kMostRelated) {
    return fail(Code::invalid, "n_related is {}, not 0 to {}", query.n_related, kMostRelated);
  }
  if (query.most_visited < 1 || query.most_visited > kMostCandidates) {
    return fail(Code::invalid, "most_visited is {}, not 1 to {}", query.most_visited,
                kMostCandidates);
  }
  if (!(query.vector_weight > 0 && query.vector_weight < 2)) {
    return fail(Code::invalid, "vector_weight is {}, not between 0 and 2", query.vector_weight);
  }
  if (query.now_s == 0) query.now_s = unix_seconds();
  query.n_candidates = std::clamp(query.n_candidates, query.k, kMostCandidates);
  query.filter = TRY(MetadataFilter::of_members(query.metadata)).both(query.filter);
  std::vector<VectorIndex::Found> near;
  if (!query.vector.empty()) near = TRY(by_vector(query));
  std::unordered_map<int64_t, FoundChunk> merged;
  const bool are_both = !query.vector.empty() && !query.words.empty();
  const double vector_weight = are_both ? query.vector_weight : 1;
  int64_t rank = 0;
  for (const VectorIndex::Found& one : near) {
    FoundChunk& chunk = merged[one.id];
    chunk.vector_rank = ++rank;
    chunk.distance = one.distance;
    chunk.score += vector_weight / (kRankOffset + static_cast<double>(rank));
  }
  const Lock held(using_);
  rank = 0;
  for (const int64_t id : TRY(by_words(query))) {
    FoundChunk& chunk = merged[id];
    chunk.word_rank = ++rank;
    chunk.score += (2 - vector_weight) / (kRankOffset + static_cast<double>(rank));
  }
  std::vector<FoundChunk> order;
  for (auto& [id, chunk] : merged) {
    chunk.id = id;
    order.push_back(std::move(chunk));
  }
  std::ranges::sort(order, [](const FoundChunk& a, const FoundChunk& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  std::vector<FoundChunk> found;
  for (FoundChunk& chunk : order) {
    if (std::ssize(found) == query.k) break;
    if (TRY(read_chunk(chunk))) found.push_back(std::move(chunk));
  }
  const auto n_found = found.size();
  if (query.n_related > 0) TRY(add_related(query, found));
  if (query.remembers) TRY(remember(query, std::span(found).first(n_found)));
  return found;
}

}  // namespace ruv
