// Database: a file of SQLite, with errors as values. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "memory/sealed_vfs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ruv {

// A prepared statement. Move-only; must not outlive its Database.
class DbStatement {
 public:
  DbStatement(DbStatement&& other) noexcept;
  DbStatement& operator=(DbStatement&&) = delete;
  ~DbStatement();

  // Values of the parameters ?1, ?2 and on. Texts and bytes must live until the statement is reset.
  void bind(int parameter, int64_t number);
  void bind(int parameter, std::string_view text);
  void bind(int parameter, Bytes bytes);
  void bind_real(int parameter, double number);
  // The next row. False: there is none. Fails: as Database::run.
  Result<bool> step();
  // Columns of the row, from 0. Texts are valid until the next step.
  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  // Ends the statement, which may be bound and stepped anew.
  void reset();
  // Steps through all rows of a statement that gives none, and resets it.
  Status run();

 private:
  friend class Database;
  explicit DbStatement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // Makes the file, for its owner alone, where it is missing. Changes survive the end of the
  // process; with `syncs` a loss of power, too. With keys its files are encrypted, and no other
  // connection has it open at the same time. Fails: as run().
  static Result<Database> open(const std::string& path, bool syncs, SharedStoreKeys keys = nullptr);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Statements without parameters, whose rows are dropped. Fails: unavailable (another process
  // writes), corrupt, out_of_memory (or a full disk), invalid (what the schema forbids), internal;
  // SQLite's own message is quoted.
  Status run(std::string_view statements);
  Result<DbStatement> prepare(std::string_view statement) const;
  // The one number that a query gives; 0 where it gives no row.
  Result<int64_t> number(std::string_view query) const;
  // The number of the row that was inserted last.
  int64_t last_id() const;
  // Writes a copy, which is whole whatever is written meanwhile, with the same keys. Fails: invalid
  // (the file exists), as run().
  Status copy_to(const std::string& path);

 private:
  Database(std::unique_ptr<SealedVfs> files, sqlite3* connection)
      : files_(std::move(files)), connection_(connection) {}
  Status encrypt();

  std::unique_ptr<SealedVfs> files_;  // null: not encrypted; must outlive the connection
  sqlite3* connection_;
};

// Begins a change and takes it back unless commit() returned ok.
class DbTransaction {
 public:
  static Result<DbTransaction> begin(Database& database);
  DbTransaction(DbTransaction&& other) noexcept;
  DbTransaction& operator=(DbTransaction&&) = delete;
  ~DbTransaction();
  Status commit();

 private:
  explicit DbTransaction(Database* database) : database_(database) {}
  Database* database_;  // null: it has ended
};

}  // namespace ruv
