// PostgresWire: a connection to a server of PostgreSQL through libpq, with errors as values. Values
// reach the server as parameters alone. Neither errors nor URLs that are shown have a password.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct pg_conn;
struct pg_result;

namespace ruv {

// As a URL is shown. Fails: invalid.
Result<std::string> url_without_secrets(const std::string& url);

// What a statement's $1, $2 and on are.
class PostgresValues {
 public:
  // Each returns the parameter as the statement names it: "$3".
  std::string text(std::string_view value);
  std::string number(int64_t value);
  // In the form that pgvector reads. The statement casts it: "$3::vector".
  std::string vector(std::span<const float> numbers);

 private:
  friend class PostgresWire;
  std::string add(std::string value, unsigned type, int format);
  std::vector<std::string> values_;
  std::vector<unsigned> types_;
  std::vector<int> formats_;  // 1: bytes that the server checks, NUL included; 0: C strings
};

class PostgresRows {
 public:
  PostgresRows(PostgresRows&& other) noexcept;
  PostgresRows& operator=(PostgresRows&&) = delete;
  ~PostgresRows();
  int64_t size() const;
  // Rows and columns from 0. Valid while this lives.
  std::string_view text(int64_t row, int column) const;
  // Fails: corrupt (not a number).
  Result<int64_t> integer(int64_t row, int column) const;
  Result<double> real(int64_t row, int column) const;
  // The numbers of a column that the statement has as vector_send(...) with binary results. Fails:
  // corrupt (not n_dims numbers).
  Status append_vector(int64_t row, int column, int64_t n_dims, std::vector<float>& out) const;

 private:
  friend class PostgresWire;
  explicit PostgresRows(pg_result* result) : result_(result) {}
  pg_result* result_;
};

// One thread at a time.
class PostgresWire {
 public:
  // A statement of the session ends after a minute, a connection that is not made after 10 seconds,
  // unless the URL says otherwise (options=-cstatement_timeout=..., connect_timeout). Fails:
  // invalid (the URL), unavailable (no server, or it refuses), as ask().
  static Result<std::unique_ptr<PostgresWire>> open(const std::string& url);
  ~PostgresWire();
  PostgresWire(const PostgresWire&) = delete;
  PostgresWire& operator=(const PostgresWire&) = delete;

  // Fails: unavailable (the connection broke, or another change was in the way), deadline, invalid
  // (what the server does not take as a value), out_of_memory (the server's), unsupported (beyond
  // the server's limits, or it lacks a function), internal; the server's own message is quoted.
  Result<PostgresRows> ask(const std::string& statement, const PostgresValues& values = {},
                           bool binary_results = false);
  // Without parameters and rows; several with ';' between them.
  Status run(const std::string& statements);
  // "postgresql://user@host:port/database"
  const std::string& shown_url() const { return shown_url_; }

 private:
  PostgresWire(pg_conn* connection, std::string shown_url)
      : connection_(connection), shown_url_(std::move(shown_url)) {}
  Result<PostgresRows> taken(pg_result* result);
  pg_conn* connection_;
  std::string shown_url_;
};

// Begins a change, or a view of one moment, and takes it back unless commit() returned ok.
class PostgresTransaction {
 public:
  static Result<PostgresTransaction> begin(PostgresWire& wire);
  // What is read in it is of one moment.
  static Result<PostgresTransaction> begin_view(PostgresWire& wire);
  PostgresTransaction(PostgresTransaction&& other) noexcept;
  PostgresTransaction& operator=(PostgresTransaction&&) = delete;
  ~PostgresTransaction();
  Status commit();

 private:
  explicit PostgresTransaction(PostgresWire* wire) : wire_(wire) {}
  PostgresWire* wire_;  // null: it has ended
};

}  // namespace ruv
