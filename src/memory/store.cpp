// Changes of a store. Each is one transaction of SQLite, with the vectors written before it
// commits.
#include "memory/store.h"

#include "base/clock.h"
#include "memory/document_checks.h"
#include "memory/store_schema.h"

namespace ruv {
Result<int64_t> MemoryStore::document_id(std::string_view name) const {
  DbStatement statement = TRY(database_.prepare("SELECT id FROM documents WHERE name = ?1"));
  statement.bind(1, name);
  return TRY(statement.step()) ? statement.integer(0) : 0;
}

Result<std::vector<int64_t>> MemoryStore::chunk_ids(int64_t document) const {
  DbStatement statement = TRY(database_.prepare("SELECT id FROM chunks WHERE document = ?1"));
  statement.bind(1, document);
  std::vector<int64_t> ids;
  while (TRY(statement.step())) ids.push_back(statement.integer(0));
  return ids;
}

// The index of words has no copy of the texts: SQLite wants what goes once more.
Status MemoryStore::remove_rows(int64_t document) {
  constexpr std::string_view kStatements[] = {
      "INSERT INTO words(words, rowid, headings, text) "
      "SELECT 'delete', id, headings, text FROM chunks WHERE document = ?1",
      "DELETE FROM chunks WHERE document = ?1", "DELETE FROM documents WHERE id = ?1"};
  for (const std::string_view text : kStatements) {
    DbStatement statement = TRY(database_.prepare(text));
    statement.bind(1, document);
    TRY(statement.run());
  }
  return {};
}

Result<std::vector<int64_t>> MemoryStore::insert_rows(const NewDocument& document, int64_t id) {
  DbStatement chunk =
      TRY(database_.prepare("INSERT INTO chunks(document, first, end, headings, text, hash, page)"
                            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  DbStatement words =
      TRY(database_.prepare("INSERT INTO words(rowid, headings, text) VALUES (?1, ?2, ?3)"));
  std::vector<int64_t> ids;
  for (size_t i = 0; i < document.chunks.size(); ++i) {
    const TextChunk& one = document.chunks[i];
    const std::string_view text = text_of_chunk(document, i);
    chunk.bind(1, id);
    chunk.bind(2, one.first);
    chunk.bind(3, one.end);
    chunk.bind(4, std::string_view(one.headings));
    chunk.bind(5, text);
    chunk.bind(6, hash_of_chunk(id, one, text));
    chunk.bind(7, one.page);
    TRY(chunk.run());
    ids.push_back(database_.last_id());
    words.bind(1, ids.back());
    words.bind(2, std::string_view(one.headings));
    words.bind(3, text);
    TRY(words.run());
  }
  return ids;
}

Result<int64_t> MemoryStore::add(const NewDocument& document, WorkerPool& pool) {
  TRY(check_document(document, options_.n_dims));
  const std::string metadata = TRY(written_metadata(document.metadata));
  const Lock held(using_);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  std::vector<int64_t> replaced;
  if (const int64_t before = TRY(document_id(document.name)); before != 0) {
    replaced = TRY(chunk_ids(before));
    TRY(remove_rows(before));
  }
  DbStatement row = TRY(database_.prepare(
      "INSERT INTO documents(name, metadata, added_s, n_bytes) VALUES (?1, ?2, ?3, ?4)"));
  row.bind(1, std::string_view(document.name));
  row.bind(2, std::string_view(metadata));
  row.bind(3, document.added_s > 0 ? document.added_s : unix_seconds());
  row.bind(4, text_bytes(document));
  TRY(row.run());
  const int64_t id = database_.last_id();
  const std::vector<int64_t> ids = TRY(insert_rows(document, id));
  TRY(index_->add(ids, document.vectors, pool));
  Status status = link_chunks(ids, true);
  if (status.ok()) status = change.commit();
  if (!status.ok()) {
    // Where this fails as well, they are removed when the store is opened the next time.
    (void)drop_vectors(ids, pool);
    return tl::unexpected(status);
  }
  TRY(drop_vectors(replaced, pool));
  return id;
}

// Vectors that stay are not shown, as they have no chunk.
Status MemoryStore::drop_vectors(std::span<const int64_t> ids, WorkerPool& pool) {
  const auto n = index_->remove(ids, pool);
  if (n) return {};
  is_clean_ = false;
  return n.error();
}

Result<bool> MemoryStore::remove(std::string_view name, WorkerPool& pool) {
  const Lock held(using_);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  const int64_t id = TRY(document_id(name));
  if (id == 0) return false;
  const std::vector<int64_t> ids = TRY(chunk_ids(id));
  TRY(remove_rows(id));
  TRY(change.commit());
  TRY(drop_vectors(ids, pool));
  return true;
}

Result<bool> MemoryStore::set_metadata(std::string_view name, const Json& metadata) {
  const std::string text = TRY(written_metadata(metadata));
  const Lock held(using_);
  const int64_t id = TRY(document_id(name));
  if (id == 0) return false;
  DbStatement statement =
      TRY(database_.prepare("UPDATE documents SET metadata = ?2 WHERE id = ?1"));
  statement.bind(1, id);
  statement.bind(2, std::string_view(text));
  TRY(statement.run());
  return true;
}

Result<bool> MemoryStore::pack(WorkerPool& pool) {
  const Lock held(using_);
  return index_->pack(pool);
}

Result<MemoryStore::Stats> MemoryStore::stats() const {
  const Lock held(using_);
  Stats stats;
  stats.embedder = options_.embedder;
  stats.n_dims = options_.n_dims;
  stats.n_documents = TRY(database_.number("SELECT count(*) FROM documents"));
  stats.n_chunks = TRY(database_.number("SELECT count(*) FROM chunks"));
  stats.n_text_bytes = TRY(database_.number("SELECT coalesce(sum(n_bytes), 0) FROM documents"));
  stats.n_vectors = index_->size();
  stats.n_bytes = index_->n_bytes();
  stats.n_damaged = index_->n_damaged();
  stats.n_packed = index_->n_packed();
  stats.n_edges = TRY(database_.number("SELECT count(*) FROM edges"));
  return stats;
}

}  // namespace ruv
