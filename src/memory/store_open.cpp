// Opening a store, and copying one.
#include <algorithm>

#include "base/folder.h"
#include "memory/store.h"
#include "memory/store_schema.h"

namespace ruv {
namespace {

Status put_about(Database& database, std::string_view key, std::string_view value) {
  DbStatement statement =
      TRY(database.prepare("INSERT OR REPLACE INTO about(key, value) VALUES (?1, ?2)"));
  statement.bind(1, key);
  statement.bind(2, value);
  return statement.run();
}

// Empty where there is none.
Result<std::string> get_about(const Database& database, std::string_view key) {
  DbStatement statement = TRY(database.prepare("SELECT value FROM about WHERE key = ?1"));
  statement.bind(1, key);
  return TRY(statement.step()) ? std::string(statement.text(0)) : std::string();
}

std::string database_path(const std::string& folder) { return folder + "/store.db"; }

Status copy_key_file(const std::string& from, const std::string& to) {
  const MappedFile read = TRY(MappedFile::open(from));
  FileWriter file = TRY(FileWriter::create(to, {.readers = FileReaders::owner}));
  TRY(file.write(read.bytes()));
  TRY(read.check_read());
  return file.commit();
}

std::string key_path(const std::string& folder) { return folder + "/store.key"; }

Result<SharedStoreKeys> keys_of(const std::string& folder, const std::optional<SealKey>& key) {
  const bool has_data = file_exists(database_path(folder)) || is_directory(folder + "/vectors");
  return open_store_keys(key_path(folder), key, has_data);
}

Result<VectorIndexOptions> index_options(const MemoryStoreOptions& options,
                                         const SharedStoreKeys& keys) {
  VectorIndexOptions index;
  index.folder = options.folder + "/vectors";
  index.graph = {.metric = Metric::cosine, .n_dims = options.n_dims};
  const std::optional<VectorCodes> known = TRY(VectorIndex::codes_of(index.folder, keys));
  index.graph.codes = options.codes.value_or(known.value_or(VectorCodes::int8));
  index.label = "memory store";
  index.syncs = options.syncs;
  index.removes_damaged = options.removes_damaged;
  index.keys = keys;
  return index;
}

}  // namespace

Result<MemoryStore::Kind> MemoryStore::kind_of(const std::string& folder,
                                               const std::optional<SealKey>& key) {
  if (!file_exists(database_path(folder))) {
    return fail(Code::not_found, "{}: no memory store", folder);
  }
  return kind_with(folder, TRY(keys_of(folder, key)));
}

Status MemoryStore::change_key(const std::string& folder, const SealKey& from, const SealKey& to) {
  return rewrap_store_key(key_path(folder), from, to);
}

Result<MemoryStore::Kind> MemoryStore::kind_with(const std::string& folder,
                                                 const SharedStoreKeys& keys) {
  const std::string path = database_path(folder);
  Database database = TRY(Database::open(path, false, keys));
  Kind kind;
  const Status schema = check_schema(database, path);
  if (schema.code() == Code::not_found) return kind;  // what a crash left when it was made
  TRY(Status(schema));
  kind.embedder = TRY(get_about(database, "embedder"));
  kind.n_dims = TRY(database.number("SELECT value FROM about WHERE key = 'n_dims'"));
  const std::string probe = TRY(get_about(database, "probe"));
  kind.probe.resize(probe.size() / sizeof(float));
  std::ranges::copy(as_bytes(probe).first(kind.probe.size() * sizeof(float)),
                    std::as_writable_bytes(std::span(kind.probe)).begin());
  return kind;
}

Status MemoryStore::check_kind(const MemoryStoreOptions& options, const SharedStoreKeys& keys) {
  if (!file_exists(database_path(options.folder))) return {};
  const Kind has = TRY(kind_with(options.folder, keys));
  if (has.n_dims == 0) return {};
  if (!is_same_model(has, {options.embedder, options.n_dims, options.probe})) {
    return fail(Code::invalid, "{}: its vectors are of another model: {}; this one is {}",
                options.folder, has.embedder, options.embedder);
  }
  if (has.n_dims != options.n_dims) {
    return fail(Code::invalid, "{}: its vectors have {} numbers, not {}", options.folder,
                has.n_dims, options.n_dims);
  }
  return {};
}

// The index is opened before the database, as its lock keeps other processes away.
Result<std::unique_ptr<MemoryStore>> MemoryStore::open(const MemoryStoreOptions& options,
                                                       WorkerPool& pool) {
  TRY(make_folder(options.folder));
  const SharedStoreKeys keys = TRY(keys_of(options.folder, options.key));
  TRY(check_kind(options, keys));
  auto index = TRY(DiskVectors::open(TRY(index_options(options, keys)), pool));
  const std::string path = database_path(options.folder);
  Database database = TRY(Database::open(path, options.syncs, keys));
  TRY(prepare_schema(database, path));
  std::unique_ptr<MemoryStore> store(
      new MemoryStore(options, std::move(database), std::move(index)));
  TRY(store->claim());
  TRY(store->reconcile(pool));
  TRY(store->link_older_chunks());
  return store;
}

// A store that was not closed may have vectors without chunks. From here on it counts as such.
Status MemoryStore::claim() {
  const std::string n_dims = std::to_string(options_.n_dims);
  if (TRY(get_about(database_, "n_dims")).empty()) {
    TRY(put_about(database_, "embedder", options_.embedder));
    if (!options_.probe.empty()) {
      TRY(put_about(database_, "probe", as_text(std::as_bytes(std::span(options_.probe)))));
    }
    TRY(put_about(database_, "n_dims", n_dims));
  }
  was_closed_ = TRY(get_about(database_, "closed")) == "yes";
  return put_about(database_, "closed", "no");
}

Status MemoryStore::reconcile(WorkerPool& pool) {
  if (was_closed_) return {};
  std::vector<int64_t> ids = index_->ids();
  std::sort(ids.begin(), ids.end());
  std::vector<int64_t> chunks, others;
  DbStatement statement = TRY(database_.prepare("SELECT id FROM chunks ORDER BY id"));
  while (TRY(statement.step())) chunks.push_back(statement.integer(0));
  std::ranges::set_difference(ids, chunks, std::back_inserter(others));
  TRY(index_->remove(others, pool));
  return {};
}

// Some at a time, so that what was done before a crash need not be done again.
Status MemoryStore::link_older_chunks() {
  constexpr int64_t kAtOnce = 256;
  const int64_t end = TRY(database_.number("SELECT value FROM about WHERE key = 'link_to'"));
  if (end == 0) return {};
  int64_t linked = TRY(database_.number("SELECT value FROM about WHERE key = 'linked'"));
  while (true) {
    DbTransaction change = TRY(DbTransaction::begin(database_));
    std::vector<int64_t> ids;
    {
      DbStatement statement = TRY(database_.prepare(
          "SELECT id FROM chunks WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3"));
      statement.bind(1, linked);
      statement.bind(2, end);
      statement.bind(3, kAtOnce);
      while (TRY(statement.step())) ids.push_back(statement.integer(0));
    }
    TRY(link_chunks(ids, false));
    if (ids.empty()) {
      TRY(database_.run("DELETE FROM about WHERE key IN ('link_to', 'linked')"));
      return change.commit();
    }
    linked = ids.back();
    TRY(put_about(database_, "linked", std::to_string(linked)));
    TRY(change.commit());
  }
}

// What fails here is done again when the store is opened the next time.
MemoryStore::~MemoryStore() {
  if (is_clean_ && index_->checkpoint().ok()) (void)put_about(database_, "closed", "yes");
}

Status MemoryStore::backup(const std::string& folder) const {
  if (is_directory(folder) || file_exists(folder)) {
    return fail(Code::invalid, "{}: exists", folder);
  }
  TRY(make_folder(folder));
  const Lock held(using_);
  if (options_.key) TRY(copy_key_file(key_path(options_.folder), key_path(folder)));
  TRY(database_.copy_to(database_path(folder)));
  TRY(index_->copy_to(folder + "/vectors"));
  return sync_folder(folder);
}

}  // namespace ruv
