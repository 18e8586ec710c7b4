#include "memory/store_schema.h"

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace ruv {
namespace {

// "ruvm", which other programs' files do not have.
constexpr int64_t kApplication = 0x7275766D;

// The tables of version 1. Numbers of chunks are not used again, so that a vector that outlived its
// chunk has no other.
constexpr std::string_view kTables = R"(
CREATE TABLE about(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL,
  added_s INTEGER NOT NULL, n_bytes INTEGER NOT NULL);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents(id),
  first INTEGER NOT NULL, end INTEGER NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL,
  hash INTEGER NOT NULL);
CREATE INDEX chunks_of_document ON chunks(document);
CREATE VIRTUAL TABLE words USING fts5(
  headings, text, content = 'chunks', content_rowid = 'id',
  tokenize = 'unicode61 remove_diacritics 2');
)";

// What makes version 2 of 1, and so on.
constexpr std::string_view kSteps[kStoreVersion - 1] = {
    "ALTER TABLE chunks ADD COLUMN page INTEGER NOT NULL DEFAULT 0;",
    // Edges of near vectors are added afterwards, as they need the index: `link_to` says up to
    // which chunk, `linked` how far that is done.
    R"(
CREATE TABLE edges(
  source INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
  target INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
  kind INTEGER NOT NULL, weight REAL NOT NULL, at_s INTEGER NOT NULL,
  PRIMARY KEY (source, target, kind), CHECK (source < target)) WITHOUT ROWID;
CREATE INDEX edges_of_target ON edges(target);
INSERT INTO edges SELECT id, next, 1, 1, 0 FROM (
  SELECT id, lead(id) OVER (PARTITION BY document ORDER BY id) AS next FROM chunks)
  WHERE next IS NOT NULL;
INSERT INTO about SELECT 'link_to', max(id) FROM chunks HAVING count(*) > 0;
)",
};

}  // namespace

Status check_schema(const Database& database, const std::string& path) {
  const int64_t application = TRY(database.number("PRAGMA application_id"));
  const int64_t n_tables = TRY(database.number("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && n_tables == 0) return fail(Code::not_found, "{}: has no tables", path);
  if (application != kApplication) return fail(Code::corrupt, "{}: not a memory store", path);
  // Ours has neither: they would run what a stranger wrote.
  const int64_t n_programs =
      TRY(database.number("SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"));
  if (n_programs > 0) return fail(Code::corrupt, "{}: has views or triggers", path);
  const int64_t version = TRY(database.number("PRAGMA user_version"));
  if (version >= 1 && version <= kStoreVersion) return {};
  return fail(Code::unsupported, "{}: version {} of a store; this program reads 1 to {}", path,
              version, kStoreVersion);
}

Status prepare_schema(Database& database, const std::string& path) {
  const Status found = check_schema(database, path);
  const bool is_new = found.code() == Code::not_found;
  if (!found.ok() && !is_new) return found;
  const int64_t version = is_new ? 0 : TRY(database.number("PRAGMA user_version"));
  if (version == kStoreVersion) return {};
  DbTransaction change = TRY(DbTransaction::begin(database));
  if (is_new) TRY(database.run(kTables));
  for (int64_t next = std::max<int64_t>(version, 1); next < kStoreVersion; ++next) {
    TRY(database.run(kSteps[next - 1]));
  }
  TRY(database.run("PRAGMA application_id = 1920300653"));
  TRY(database.run("PRAGMA user_version = " + std::to_string(kStoreVersion)));
  return change.commit();
}

int64_t hash_of_chunk(int64_t document, const TextChunk& chunk, std::string_view text) {
  const int64_t numbers[] = {document, chunk.first, chunk.end, std::ssize(chunk.headings),
                             chunk.page};
  const size_t n_numbers = chunk.page == 0 ? 4 : 5;
  uint64_t hash = hash_bytes(std::as_bytes(std::span(numbers).first(n_numbers)));
  hash = hash_bytes(as_bytes(chunk.headings), hash);
  return static_cast<int64_t>(hash_bytes(as_bytes(text), hash));
}

}  // namespace ruv
