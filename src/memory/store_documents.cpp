// What a store says of its documents, and what of a new one it has already.
#include "memory/document_checks.h"
#include "memory/store.h"
#include "memory/store_schema.h"

namespace ruv {
namespace {

constexpr std::string_view kDocumentColumns =
    "SELECT id, name, metadata, added_s, n_bytes,"
    " (SELECT count(*) FROM chunks WHERE document = documents.id) FROM documents";

// The row that a statement with these columns has come to. Fails: corrupt (its metadata).
Result<StoredDocument> read_document_row(const DbStatement& statement) {
  StoredDocument one;
  one.id = statement.integer(0);
  one.name = statement.text(1);
  one.metadata = TRY(parse_json(statement.text(2), one.name));
  one.added_s = statement.integer(3);
  one.n_bytes = statement.integer(4);
  one.n_chunks = statement.integer(5);
  return one;
}

}  // namespace

Result<std::vector<StoredDocument>> MemoryStore::list(std::string_view after, int64_t most) const {
  const Lock held(using_);
  DbStatement statement = TRY(
      database_.prepare(std::string(kDocumentColumns) + " WHERE name > ?1 ORDER BY name LIMIT ?2"));
  statement.bind(1, after);
  statement.bind(2, most);
  std::vector<StoredDocument> documents;
  while (TRY(statement.step())) documents.push_back(TRY(read_document_row(statement)));
  return documents;
}

Result<std::optional<StoredDocument>> MemoryStore::find(std::string_view name) const {
  const Lock held(using_);
  DbStatement statement =
      TRY(database_.prepare(std::string(kDocumentColumns) + " WHERE name = ?1"));
  statement.bind(1, name);
  if (!TRY(statement.step())) return std::optional<StoredDocument>();
  return std::optional<StoredDocument>(TRY(read_document_row(statement)));
}

Result<std::optional<KeptDocument>> MemoryStore::next_document(int64_t after,
                                                               bool with_vectors) const {
  KeptDocument kept;
  std::vector<int64_t> ids;
  {
    const Lock held(using_);
    DbStatement document = TRY(
        database_.prepare(std::string(kDocumentColumns) + " WHERE id > ?1 ORDER BY id LIMIT 1"));
    document.bind(1, after);
    if (!TRY(document.step())) return std::optional<KeptDocument>();
    StoredDocument stored = TRY(read_document_row(document));
    kept.id = stored.id;
    kept.name = std::move(stored.name);
    kept.metadata = std::move(stored.metadata);
    kept.added_s = stored.added_s;
    kept.n_bytes = stored.n_bytes;
    DbStatement chunk = TRY(database_.prepare(
        "SELECT id, first, end, headings, page, text, hash FROM chunks WHERE document = ?1"
        " ORDER BY id"));
    chunk.bind(1, kept.id);
    while (TRY(chunk.step())) {
      ids.push_back(chunk.integer(0));
      kept.chunks.push_back(
          {chunk.integer(1), chunk.integer(2), std::string(chunk.text(3)), chunk.integer(4)});
      kept.texts.emplace_back(chunk.text(5));
      if (hash_of_chunk(kept.id, kept.chunks.back(), kept.texts.back()) == chunk.integer(6)) {
        continue;
      }
      return fail(Code::corrupt, "chunk {} of {} is damaged; add the document again", ids.back(),
                  kept.name);
    }
  }
  if (!with_vectors) return kept;
  for (const int64_t id : ids) {
    const auto vector = index_->vector(id);
    if (!vector) return tl::unexpected(with_context(kept.name, vector.error()));
    kept.vectors.insert(kept.vectors.end(), vector->begin(), vector->end());
  }
  return kept;
}

// Vectors that are damaged, and so removed, are not there: their chunks count as new.
Result<MemoryStore::Known> MemoryStore::known(const NewDocument& document) const {
  const auto before = TRY(find(document.name));
  if (!before) return known_chunks(document, {}, {});
  KeptDocument kept;
  kept.id = before->id;
  kept.metadata = before->metadata;
  kept.n_bytes = before->n_bytes;
  std::vector<int64_t> ids;
  {
    const Lock held(using_);
    DbStatement statement = TRY(database_.prepare(
        "SELECT id, first, end, headings, text, page FROM chunks WHERE document = ?1 ORDER BY id"));
    statement.bind(1, before->id);
    while (TRY(statement.step())) {
      ids.push_back(statement.integer(0));
      kept.chunks.push_back({statement.integer(1), statement.integer(2),
                             std::string(statement.text(3)), statement.integer(5)});
      kept.texts.emplace_back(statement.text(4));
    }
  }
  // Another change may have removed it meanwhile.
  return known_chunks(document, kept, [&](size_t i) {
    auto vector = index_->vector(ids[i]);
    return vector ? std::move(*vector) : std::vector<float>();
  });
}

}  // namespace ruv
