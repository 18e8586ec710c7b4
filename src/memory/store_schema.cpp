#include "memory/store_schema.h"

#include "base/hash.h"

namespace ruv {
namespace {

// "ruvm", which other programs' files do not have.
constexpr int64_t kApplication = 0x7275766D;

// Numbers of chunks are not used again, so that a vector that outlived its chunk has no other.
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

}  // namespace

Status prepare_schema(Database& database, const std::string& path) {
  const int64_t application = TRY(database.number("PRAGMA application_id"));
  const int64_t version = TRY(database.number("PRAGMA user_version"));
  const int64_t n_tables = TRY(database.number("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && n_tables == 0) {
    DbTransaction change = TRY(DbTransaction::begin(database));
    TRY(database.run(kTables));
    TRY(database.run("PRAGMA application_id = 1920300653; PRAGMA user_version = 1"));
    return change.commit();
  }
  if (application != kApplication) return fail(Code::corrupt, "{}: not a memory store", path);
  // Ours has neither: they would run what a stranger wrote.
  const int64_t n_programs =
      TRY(database.number("SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"));
  if (n_programs > 0) return fail(Code::corrupt, "{}: has views or triggers", path);
  if (version != kStoreVersion) {
    return fail(Code::unsupported, "{}: version {} of a store; this program reads {}", path,
                version, kStoreVersion);
  }
  return {};
}

int64_t hash_of_chunk(int64_t document, int64_t first, int64_t end, std::string_view headings,
                      std::string_view text) {
  const int64_t numbers[] = {document, first, end, std::ssize(headings)};
  uint64_t hash = hash_bytes(std::as_bytes(std::span(numbers)));
  hash = hash_bytes(as_bytes(headings), hash);
  return static_cast<int64_t>(hash_bytes(as_bytes(text), hash));
}

}  // namespace ruv
