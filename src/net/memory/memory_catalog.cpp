#include "net/memory/memory_catalog.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace ruv {
namespace {

constexpr int64_t kCatalogVersion = 1;
// "ruvc", which other programs' files do not have.
constexpr int64_t kCatalogApplication = 0x72757663;

// `seq` orders lists: times do not tell apart what came in one second.
constexpr std::string_view kCatalogTables = R"(
CREATE TABLE tenants(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE files(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tenant INTEGER NOT NULL,
  name TEXT NOT NULL, purpose TEXT NOT NULL, created_s INTEGER NOT NULL, n_bytes INTEGER NOT NULL,
  expires_s INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX files_of_tenant ON files(tenant, seq);
CREATE TABLE stores(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tenant INTEGER NOT NULL,
  name TEXT NOT NULL, description TEXT NOT NULL, metadata TEXT NOT NULL,
  created_s INTEGER NOT NULL, active_s INTEGER NOT NULL, expires_days INTEGER NOT NULL);
CREATE INDEX stores_of_tenant ON stores(tenant, seq);
CREATE TABLE entries(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, file TEXT NOT NULL,
  name TEXT NOT NULL, created_s INTEGER NOT NULL, n_bytes INTEGER NOT NULL,
  chunk_tokens INTEGER NOT NULL, overlap_tokens INTEGER NOT NULL, UNIQUE(store, file));
CREATE INDEX entries_of_file ON entries(file);
)";

// Catalogs of earlier versions had no such index.
constexpr const char* kExpiryIndex =
    "CREATE INDEX IF NOT EXISTS files_by_expiry ON files(tenant, expires_s) WHERE expires_s > 0";

// Nor these.
constexpr const char* kBatchTables = R"(
CREATE TABLE IF NOT EXISTS batches(
  id TEXT PRIMARY KEY, store TEXT NOT NULL, created_s INTEGER NOT NULL, n_files INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batches_of_store ON batches(store);
CREATE TABLE IF NOT EXISTS batch_files(
  batch TEXT NOT NULL, file TEXT NOT NULL, PRIMARY KEY (batch, file)) WITHOUT ROWID;
)";

// Makes the tables of a new file, and refuses a file that is not such a catalog.
Status prepare_catalog(Database& database, const std::string& path) {
  const int64_t application = TRY(database.number("PRAGMA application_id"));
  const int64_t version = TRY(database.number("PRAGMA user_version"));
  if (application == 0 && TRY(database.number("SELECT count(*) FROM sqlite_schema")) == 0) {
    DbTransaction change = TRY(DbTransaction::begin(database));
    TRY(database.run(kCatalogTables));
    TRY(database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                 kCatalogApplication, kCatalogVersion)));
    return change.commit();
  }
  if (application != kCatalogApplication) return fail(Code::corrupt, "{}: not a catalog", path);
  const int64_t n_programs =
      TRY(database.number("SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"));
  if (n_programs > 0) return fail(Code::corrupt, "{}: has views or triggers", path);
  if (version == kCatalogVersion) return {};
  return fail(Code::unsupported, "{}: version {} of a catalog; this program reads {}", path,
              version, kCatalogVersion);
}

// What the functions below read, in this order.
constexpr const char* kFileColumns = "id, name, purpose, created_s, n_bytes, expires_s";
constexpr const char* kStoreColumns =
    "id, name, description, metadata, created_s, active_s, expires_days,"
    " (SELECT count(*) FROM entries WHERE store = stores.id),"
    " (SELECT coalesce(sum(n_bytes), 0) FROM entries WHERE store = stores.id)";
constexpr const char* kEntryColumns =
    "file, name, created_s, n_bytes, chunk_tokens, overlap_tokens";

CatalogFile file_of(const DbStatement& row) {
  return {.id = std::string(row.text(0)),
          .name = std::string(row.text(1)),
          .purpose = std::string(row.text(2)),
          .created_s = row.integer(3),
          .n_bytes = row.integer(4),
          .expires_s = row.integer(5)};
}

Result<CatalogStore> store_of_row(const DbStatement& row) {
  CatalogStore store{.id = std::string(row.text(0)),
                     .name = std::string(row.text(1)),
                     .description = std::string(row.text(2)),
                     .created_s = row.integer(4),
                     .active_s = row.integer(5),
                     .expires_days = row.integer(6),
                     .n_files = row.integer(7),
                     .n_bytes = row.integer(8)};
  store.metadata = TRY(parse_json(row.text(3), "metadata"));
  return store;
}

CatalogEntry entry_of(const DbStatement& row) {
  return {.file = std::string(row.text(0)),
          .name = std::string(row.text(1)),
          .created_s = row.integer(2),
          .n_bytes = row.integer(3),
          .chunk_tokens = row.integer(4),
          .overlap_tokens = row.integer(5)};
}

// The end of a query of a list whose rows are named by `id`; ?2, ?3 and ?4 are the page's.
std::string page_clause(const char* table, const char* id, const CatalogPage& page) {
  const auto place = [&](int parameter) {
    return fmt::format("(SELECT seq FROM {} AS at WHERE at.{} = ?{})", table, id, parameter);
  };
  std::string clause;
  const char* const later = page.ascending ? ">" : "<";
  const char* const earlier = page.ascending ? "<" : ">";
  if (!page.after.empty()) clause += fmt::format(" AND seq {} {}", later, place(2));
  if (!page.before.empty()) clause += fmt::format(" AND seq {} {}", earlier, place(3));
  return clause + fmt::format(" ORDER BY seq {} LIMIT ?4", page.ascending ? "ASC" : "DESC");
}

// An id that is not there compares as unknown, so that the list is empty.
void bind_page(DbStatement& statement, const CatalogPage& page) {
  if (!page.after.empty()) statement.bind(2, std::string_view(page.after));
  if (!page.before.empty()) statement.bind(3, std::string_view(page.before));
  statement.bind(4, page.limit);
}

// Whether a statement that gives the rows that it removes gave one; at its end they are gone.
Result<bool> was_removed(DbStatement& statement) {
  const bool removed = TRY(statement.step());
  if (removed) TRY(statement.step());
  return removed;
}

}  // namespace

Result<std::unique_ptr<MemoryCatalog>> MemoryCatalog::open(const std::string& path, bool syncs,
                                                           SharedStoreKeys keys) {
  Database database = TRY(Database::open(path, syncs, std::move(keys)));
  TRY(prepare_catalog(database, path));
  TRY(database.run(kExpiryIndex));
  TRY(database.run(kBatchTables));
  return std::unique_ptr<MemoryCatalog>(new MemoryCatalog(std::move(database)));
}

Result<int64_t> MemoryCatalog::tenant(std::string_view name) {
  const Lock held(using_);
  // Looked for, and once more when it was added.
  for (const bool is_new : {false, true}) {
    if (is_new) {
      DbStatement row = TRY(database_.prepare("INSERT INTO tenants(name) VALUES (?1)"));
      row.bind(1, name);
      TRY(row.run());
    }
    DbStatement statement = TRY(database_.prepare("SELECT id FROM tenants WHERE name = ?1"));
    statement.bind(1, name);
    if (TRY(statement.step())) return statement.integer(0);
  }
  return fail(Code::internal, "a tenant that was written is not there");
}

// The sum and the row are one step for other uploads, which would find the same room.
Result<bool> MemoryCatalog::add_file(int64_t tenant, const CatalogFile& file,
                                     std::string_view content, int64_t max_bytes) {
  const Lock held(using_);
  const int64_t n_bytes = TRY(database_.number(
      fmt::format("SELECT coalesce(sum(n_bytes), 0) FROM files WHERE tenant = {}", tenant)));
  if (file.n_bytes > max_bytes - n_bytes) return false;
  DbStatement row = TRY(database_.prepare(
      "INSERT INTO files(id, tenant, name, purpose, created_s, n_bytes, expires_s, content)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  row.bind(1, std::string_view(file.id));
  row.bind(2, tenant);
  row.bind(3, std::string_view(file.name));
  row.bind(4, std::string_view(file.purpose));
  row.bind(5, file.created_s);
  row.bind(6, file.n_bytes);
  row.bind(7, file.expires_s);
  row.bind(8, as_bytes(content));
  TRY(row.run());
  return true;
}

Result<std::optional<CatalogFile>> MemoryCatalog::file(int64_t tenant, std::string_view id) {
  const Lock held(using_);
  DbStatement statement = TRY(database_.prepare(
      fmt::format("SELECT {} FROM files WHERE tenant = ?1 AND id = ?2", kFileColumns)));
  statement.bind(1, tenant);
  statement.bind(2, id);
  if (!TRY(statement.step())) return std::optional<CatalogFile>();
  return std::optional<CatalogFile>(file_of(statement));
}

Result<std::string> MemoryCatalog::content(int64_t tenant, std::string_view id) {
  const Lock held(using_);
  DbStatement statement =
      TRY(database_.prepare("SELECT content FROM files WHERE tenant = ?1 AND id = ?2"));
  statement.bind(1, tenant);
  statement.bind(2, id);
  return TRY(statement.step()) ? std::string(statement.text(0)) : std::string();
}

Result<std::vector<CatalogFile>> MemoryCatalog::files(int64_t tenant, const CatalogPage& page,
                                                      std::string_view purpose) {
  const Lock held(using_);
  DbStatement statement = TRY(database_.prepare(
      fmt::format("SELECT {} FROM files WHERE tenant = ?1 AND (?5 = '' OR purpose = ?5){}",
                  kFileColumns, page_clause("files", "id", page))));
  statement.bind(1, tenant);
  statement.bind(5, purpose);
  bind_page(statement, page);
  std::vector<CatalogFile> files;
  while (TRY(statement.step())) files.push_back(file_of(statement));
  return files;
}

Result<std::vector<std::string>> MemoryCatalog::expired_files(int64_t tenant, int64_t now_s) {
  const Lock held(using_);
  DbStatement statement = TRY(database_.prepare(
      "SELECT id FROM files WHERE tenant = ?1 AND expires_s > 0 AND expires_s <= ?2"));
  statement.bind(1, tenant);
  statement.bind(2, now_s);
  std::vector<std::string> ids;
  while (TRY(statement.step())) ids.emplace_back(statement.text(0));
  return ids;
}

// Requires: using_ is held.
Result<bool> MemoryCatalog::remove(std::string_view statement, int64_t tenant,
                                   std::string_view id) {
  DbStatement row = TRY(database_.prepare(statement));
  row.bind(1, tenant);
  row.bind(2, id);
  return was_removed(row);
}

Result<bool> MemoryCatalog::remove_file(int64_t tenant, std::string_view id) {
  const Lock held(using_);
  return remove("DELETE FROM files WHERE tenant = ?1 AND id = ?2 RETURNING seq", tenant, id);
}

Status MemoryCatalog::add_store(int64_t tenant, const CatalogStore& store) {
  const std::string metadata = store.metadata.dump();
  const Lock held(using_);
  DbStatement row = TRY(database_.prepare(
      "INSERT INTO stores(id, tenant, name, description, metadata, created_s, active_s,"
      " expires_days) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  row.bind(1, std::string_view(store.id));
  row.bind(2, tenant);
  row.bind(3, std::string_view(store.name));
  row.bind(4, std::string_view(store.description));
  row.bind(5, std::string_view(metadata));
  row.bind(6, store.created_s);
  row.bind(7, store.active_s);
  row.bind(8, store.expires_days);
  return row.run();
}

Result<std::optional<CatalogStore>> MemoryCatalog::store(int64_t tenant, std::string_view id) {
  const Lock held(using_);
  DbStatement statement = TRY(database_.prepare(
      fmt::format("SELECT {} FROM stores WHERE tenant = ?1 AND id = ?2", kStoreColumns)));
  statement.bind(1, tenant);
  statement.bind(2, id);
  if (!TRY(statement.step())) return std::optional<CatalogStore>();
  return std::optional<CatalogStore>(TRY(store_of_row(statement)));
}

Result<std::vector<CatalogStore>> MemoryCatalog::stores(int64_t tenant, const CatalogPage& page) {
  const Lock held(using_);
  DbStatement statement =
      TRY(database_.prepare(fmt::format("SELECT {} FROM stores WHERE tenant = ?1{}", kStoreColumns,
                                        page_clause("stores", "id", page))));
  statement.bind(1, tenant);
  bind_page(statement, page);
  std::vector<CatalogStore> stores;
  while (TRY(statement.step())) stores.push_back(TRY(store_of_row(statement)));
  return stores;
}

Status MemoryCatalog::change_store(const CatalogStore& store) {
  const std::string metadata = store.metadata.dump();
  const Lock held(using_);
  DbStatement row = TRY(database_.prepare(
      "UPDATE stores SET name = ?2, description = ?3, metadata = ?4, active_s = ?5,"
      " expires_days = ?6 WHERE id = ?1"));
  row.bind(1, std::string_view(store.id));
  row.bind(2, std::string_view(store.name));
  row.bind(3, std::string_view(store.description));
  row.bind(4, std::string_view(metadata));
  row.bind(5, store.active_s);
  row.bind(6, store.expires_days);
  return row.run();
}

// An older time says nothing: another request was faster.
Status MemoryCatalog::touch_store(std::string_view id, int64_t now_s) {
  const Lock held(using_);
  DbStatement row =
      TRY(database_.prepare("UPDATE stores SET active_s = ?2 WHERE id = ?1 AND active_s < ?2"));
  row.bind(1, id);
  row.bind(2, now_s);
  return row.run();
}

// With its entries, or not at all.
Result<bool> MemoryCatalog::remove_store(int64_t tenant, std::string_view id) {
  const Lock held(using_);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  const bool was_there =
      TRY(remove("DELETE FROM stores WHERE tenant = ?1 AND id = ?2 RETURNING seq", tenant, id));
  if (!was_there) return false;
  for (const char* rest :
       {"DELETE FROM entries WHERE store = ?1",
        "DELETE FROM batch_files WHERE batch IN (SELECT id FROM batches WHERE store = ?1)",
        "DELETE FROM batches WHERE store = ?1"}) {
    DbStatement row = TRY(database_.prepare(rest));
    row.bind(1, id);
    TRY(row.run());
  }
  TRY(change.commit());
  return true;
}

// Requires: using_ is held.
Result<std::vector<std::string>> MemoryCatalog::texts(std::string_view query,
                                                      std::string_view parameter) {
  DbStatement statement = TRY(database_.prepare(query));
  if (!parameter.empty()) statement.bind(1, parameter);
  std::vector<std::string> all;
  while (TRY(statement.step())) all.emplace_back(statement.text(0));
  return all;
}

Result<std::vector<std::string>> MemoryCatalog::all_stores() {
  const Lock held(using_);
  return texts("SELECT id FROM stores", "");
}

// A store that was deleted meanwhile gets none.
Status MemoryCatalog::add_entry(std::string_view store, const CatalogEntry& entry) {
  const Lock held(using_);
  DbStatement row = TRY(database_.prepare(
      "INSERT INTO entries(store, file, name, created_s, n_bytes, chunk_tokens, overlap_tokens)"
      " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM stores WHERE id = ?1)"
      " ON CONFLICT(store, file) DO UPDATE SET n_bytes = ?5, chunk_tokens = ?6,"
      " overlap_tokens = ?7"));
  row.bind(1, store);
  row.bind(2, std::string_view(entry.file));
  row.bind(3, std::string_view(entry.name));
  row.bind(4, entry.created_s);
  row.bind(5, entry.n_bytes);
  row.bind(6, entry.chunk_tokens);
  row.bind(7, entry.overlap_tokens);
  return row.run();
}

Result<std::optional<CatalogEntry>> MemoryCatalog::entry(std::string_view store,
                                                         std::string_view file) {
  const Lock held(using_);
  DbStatement statement = TRY(database_.prepare(
      fmt::format("SELECT {} FROM entries WHERE store = ?1 AND file = ?2", kEntryColumns)));
  statement.bind(1, store);
  statement.bind(2, file);
  if (!TRY(statement.step())) return std::optional<CatalogEntry>();
  return std::optional<CatalogEntry>(entry_of(statement));
}

Result<std::vector<CatalogEntry>> MemoryCatalog::entries(std::string_view store,
                                                         const CatalogPage& page,
                                                         std::string_view batch) {
  const Lock held(using_);
  // An entry's place is that of its file in this store.
  const std::string clause = page_clause("entries", "store = ?1 AND at.file", page);
  DbStatement statement = TRY(database_.prepare(
      fmt::format("SELECT {} FROM entries WHERE store = ?1 AND"
                  " (?5 = '' OR file IN (SELECT file FROM batch_files WHERE batch = ?5)){}",
                  kEntryColumns, clause)));
  statement.bind(1, store);
  statement.bind(5, batch);
  bind_page(statement, page);
  std::vector<CatalogEntry> entries;
  while (TRY(statement.step())) entries.push_back(entry_of(statement));
  return entries;
}

Result<bool> MemoryCatalog::remove_entry(std::string_view store, std::string_view file) {
  const Lock held(using_);
  DbStatement row =
      TRY(database_.prepare("DELETE FROM entries WHERE store = ?1 AND file = ?2 RETURNING seq"));
  row.bind(1, store);
  row.bind(2, file);
  return was_removed(row);
}

Result<std::vector<std::string>> MemoryCatalog::stores_of(std::string_view file) {
  const Lock held(using_);
  return texts("SELECT store FROM entries WHERE file = ?1", file);
}

// A store that was deleted meanwhile gets none.
Status MemoryCatalog::add_batch(std::string_view store, const CatalogBatch& batch,
                                std::span<const std::string> files) {
  const Lock held(using_);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  DbStatement row = TRY(database_.prepare(
      "INSERT INTO batches(id, store, created_s, n_files)"
      " SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM stores WHERE id = ?2)"));
  row.bind(1, std::string_view(batch.id));
  row.bind(2, store);
  row.bind(3, batch.created_s);
  row.bind(4, batch.n_files);
  TRY(row.run());
  DbStatement one =
      TRY(database_.prepare("INSERT INTO batch_files(batch, file)"
                            " SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM batches WHERE id = ?1)"));
  for (const std::string& file : files) {
    one.bind(1, std::string_view(batch.id));
    one.bind(2, std::string_view(file));
    TRY(one.run());
  }
  return change.commit();
}

Result<std::optional<CatalogBatch>> MemoryCatalog::batch(std::string_view store,
                                                         std::string_view id) {
  const Lock held(using_);
  DbStatement row =
      TRY(database_.prepare("SELECT created_s, n_files FROM batches WHERE store = ?1 AND id = ?2"));
  row.bind(1, store);
  row.bind(2, id);
  if (!TRY(row.step())) return std::optional<CatalogBatch>();
  return std::optional(CatalogBatch{std::string(id), row.integer(0), row.integer(1)});
}

}  // namespace ruv
