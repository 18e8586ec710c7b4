// SQLite with its defences on: no extensions, no schema that runs functions, checked pages.
#include "memory/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/append_file.h"
#include "base/file.h"

namespace ruv {
namespace {

// How long a writer of another process is waited for.
constexpr int kPatienceMs = 5000;

Code code_of(int result) {
  switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::unavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_NOMEM:
    case SQLITE_FULL:
      return Code::out_of_memory;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return Code::invalid;
    default:
      return Code::internal;
  }
}

tl::unexpected<Status> failure_of(sqlite3* connection) {
  const char* const path = sqlite3_db_filename(connection, "main");
  return fail(code_of(sqlite3_errcode(connection)), "{}: {}", path != nullptr ? path : "database",
              sqlite3_errmsg(connection));
}

}  // namespace

DbStatement::DbStatement(DbStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

DbStatement::~DbStatement() { sqlite3_finalize(statement_); }

void DbStatement::bind(int parameter, int64_t number) {
  sqlite3_bind_int64(statement_, parameter, number);
}

// An empty text is not null.
void DbStatement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_, parameter, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void DbStatement::bind(int parameter, Bytes bytes) {
  sqlite3_bind_blob64(statement_, parameter, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void DbStatement::bind_real(int parameter, double number) {
  sqlite3_bind_double(statement_, parameter, number);
}

Result<bool> DbStatement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return failure_of(sqlite3_db_handle(statement_));
}

int64_t DbStatement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double DbStatement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view DbStatement::text(int column) const {
  const auto* const bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

void DbStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Status DbStatement::run() {
  Result<bool> has_row = true;
  while (has_row && *has_row) has_row = step();
  reset();
  return has_row ? Status() : Status(has_row.error());
}

// Pages of our size with room for what seals them, no files but those that are sealed, and no index
// of the log in shared memory, which has checksums of the content.
Status Database::encrypt() {
  TRY(
      run(fmt::format("PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                      "PRAGMA main.locking_mode = EXCLUSIVE; PRAGMA page_size = {};",
                      SealedVfs::kPageBytes)));
  int n_reserved = SealedVfs::kReservedBytes;
  const int result =
      sqlite3_file_control(connection_, "main", SQLITE_FCNTL_RESERVE_BYTES, &n_reserved);
  if (result != SQLITE_OK) return failure_of(connection_);
  // A new file, and a copy, become one with a log by a change of their first page, of which a
  // journal would keep the content.
  DbStatement mode = TRY(prepare("PRAGMA journal_mode"));
  const bool has_log = TRY(mode.step()) && mode.text(0) == "wal";
  mode.reset();
  return has_log ? Status() : run("PRAGMA journal_mode = MEMORY");
}

Result<Database> Database::open(const std::string& path, bool syncs, SharedStoreKeys keys) {
  // SQLite gives its other files the mode of the first.
  if (!file_exists(path)) TRY(AppendFile::create(path));
  sqlite3* connection = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                         SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  std::unique_ptr<SealedVfs> files;
  if (keys != nullptr) files = TRY(SealedVfs::create(std::move(keys)));
  const char* const vfs = files != nullptr ? files->name() : nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &connection, kFlags, vfs);
  Database database(std::move(files), connection);
  if (connection == nullptr) return fail(Code::out_of_memory, "{}: no memory to open it", path);
  if (result != SQLITE_OK) return failure_of(connection);
  sqlite3_busy_timeout(connection, kPatienceMs);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  if (database.files_ != nullptr) TRY(database.encrypt());
  TRY(
      database.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                   "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
                   "PRAGMA secure_delete = FAST;"));
  TRY(database.run(syncs ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  return database;
}

Database::Database(Database&& other) noexcept
    : files_(std::move(other.files_)), connection_(std::exchange(other.connection_, nullptr)) {}

Database::~Database() { sqlite3_close_v2(connection_); }

Status Database::run(std::string_view statements) {
  const std::string text(statements);
  const int result = sqlite3_exec(connection_, text.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status() : Status(failure_of(connection_));
}

Result<DbStatement> Database::prepare(std::string_view statement) const {
  sqlite3_stmt* made = nullptr;
  const int result = sqlite3_prepare_v2(connection_, statement.data(),
                                        static_cast<int>(statement.size()), &made, nullptr);
  if (result != SQLITE_OK) return failure_of(connection_);
  return DbStatement(made);
}

Result<int64_t> Database::number(std::string_view query) const {
  DbStatement statement = TRY(prepare(query));
  return TRY(statement.step()) ? statement.integer(0) : 0;
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(connection_); }

Status Database::copy_to(const std::string& path) {
  if (file_exists(path)) return fail(Code::invalid, "{}: exists", path);
  DbStatement statement = TRY(prepare("VACUUM INTO ?1"));
  statement.bind(1, path);
  return statement.run();
}

Result<DbTransaction> DbTransaction::begin(Database& database) {
  TRY(database.run("BEGIN IMMEDIATE"));
  return DbTransaction(&database);
}

DbTransaction::DbTransaction(DbTransaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

// What cannot be taken back ends with the connection.
DbTransaction::~DbTransaction() {
  if (database_ != nullptr) (void)database_->run("ROLLBACK");
}

Status DbTransaction::commit() {
  TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace ruv
