// Searching a store: by vectors and by words, and both merged by their ranks.
#include "memory/ranked_chunks.h"
#include "memory/store.h"
#include "memory/store_schema.h"
#include "memory/word_query.h"

namespace ruv {

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
  const MemoryQuery query = TRY(checked_query(asked));
  RankedChunks ranked(query);
  if (!query.vector.empty()) {
    for (const VectorIndex::Found& one : TRY(by_vector(query))) {
      ranked.add_near(one.id, one.distance);
    }
  }
  const Lock held(using_);
  for (const int64_t id : TRY(by_words(query))) ranked.add_word(id);
  std::vector<FoundChunk> found;
  for (FoundChunk& chunk : ranked.in_order()) {
    if (std::ssize(found) == query.k) break;
    if (TRY(read_chunk(chunk))) found.push_back(std::move(chunk));
  }
  const auto n_found = found.size();
  if (query.n_related > 0) TRY(add_related(query, found));
  if (query.remembers) TRY(remember(query, std::span(found).first(n_found)));
  return found;
}

}  // namespace ruv
