#ifdef RUV_HAS_LIBPQ
#include "memory/postgres_wire.h"

#include <libpq-fe.h>

#include <bit>
#include <charconv>

#include "base/number_text.h"

namespace ruv {
namespace {

// Numbers of types, which PostgreSQL does not change.
constexpr unsigned kText = 25, kInt8 = 20, kUnknown = 0;
constexpr const char* kUrlForm = "postgresql://USER@HOST:PORT/DATABASE";

struct OptionsFree {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// Classes of SQLSTATE: 08 the connection, 40 a conflict of transactions, 55 locks, 57 the server's
// operator, 22 and 23 values, 28 passwords, 42 rights and names, 53 resources, 54 limits.
Code code_of_state(std::string_view state) {
  const std::string_view kind = state.substr(0, std::min<size_t>(2, state.size()));
  if (state == "57014") return Code::deadline;
  if (kind == "08" || kind == "40" || kind == "55" || kind == "57") return Code::unavailable;
  if (kind == "22" || kind == "23" || kind == "28" || kind == "42") return Code::invalid;
  if (kind == "53") return Code::out_of_memory;
  if (kind == "54" || kind == "0A") return Code::unsupported;
  return Code::internal;
}

// On one line.
std::string trimmed(const char* message) {
  std::string text;
  for (const char c : std::string_view(message == nullptr ? "" : message)) {
    const bool is_blank = c == '\n' || c == '\t' || c == ' ';
    if (!is_blank) text += c;
    if (is_blank && !text.empty() && text.back() != ' ') text += ' ';
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

uint32_t big_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

// libpq's own message may quote a part of the URL, and so of a password.
Result<std::string> url_without_secrets(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, OptionsFree> options(
      PQconninfoParse(url.c_str(), &message));
  PQfreemem(message);
  if (!options) return fail(Code::invalid, "the store's URL cannot be read: give {}", kUrlForm);
  std::string user, host, port, database;
  for (const PQconninfoOption* one = options.get(); one->keyword != nullptr; ++one) {
    if (one->val == nullptr) continue;
    const std::string_view keyword = one->keyword;
    if (keyword == "user") user = std::string(one->val) + "@";
    if (keyword == "host") host = one->val;
    if (keyword == "port") port = std::string(":") + one->val;
    if (keyword == "dbname") database = one->val;
  }
  return fmt::format("postgresql://{}{}{}/{}", user, host, port, database);
}

std::string PostgresValues::add(std::string value, unsigned type, int format) {
  values_.push_back(std::move(value));
  types_.push_back(type);
  formats_.push_back(format);
  return fmt::format("${}", values_.size());
}

std::string PostgresValues::text(std::string_view value) {
  return add(std::string(value), kText, 1);
}

std::string PostgresValues::number(int64_t value) { return add(std::to_string(value), kInt8, 0); }

// The shortest digits that give the same bits again.
std::string PostgresValues::vector(std::span<const float> numbers) {
  std::string text = "[";
  for (const float number : numbers) {
    if (text.size() > 1) text += ',';
    fmt::format_to(std::back_inserter(text), "{}", number);
  }
  return add(text + "]", kUnknown, 0);
}

PostgresRows::PostgresRows(PostgresRows&& other) noexcept
    : result_(std::exchange(other.result_, nullptr)) {}
PostgresRows::~PostgresRows() { PQclear(result_); }
int64_t PostgresRows::size() const { return PQntuples(result_); }

std::string_view PostgresRows::text(int64_t row, int column) const {
  const int at = static_cast<int>(row);
  return {PQgetvalue(result_, at, column), static_cast<size_t>(PQgetlength(result_, at, column))};
}

Result<int64_t> PostgresRows::integer(int64_t row, int column) const {
  const std::string_view digits = text(row, column);
  int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) return number;
  return fail(Code::corrupt, "PostgreSQL gave '{}' in place of a number", digits);
}

Result<double> PostgresRows::real(int64_t row, int column) const {
  const std::string_view digits = text(row, column);
  double number = 0;
  const auto read = read_number(digits, number);
  if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) return number;
  return fail(Code::corrupt, "PostgreSQL gave '{}' in place of a number", digits);
}

// Two lengths of 16 bits, then the numbers, all big-endian.
Status PostgresRows::append_vector(int64_t row, int column, int64_t n_dims,
                                   std::vector<float>& out) const {
  const std::string_view bytes = text(row, column);
  const bool fits = std::ssize(bytes) == 4 + 4 * n_dims;
  if (!fits || big_endian(bytes.substr(0, 2)) != static_cast<uint32_t>(n_dims)) {
    return fail(Code::corrupt, "PostgreSQL gave a vector of {} bytes, not {} numbers", bytes.size(),
                n_dims);
  }
  for (size_t at = 4; at < bytes.size(); at += 4) {
    out.push_back(std::bit_cast<float>(big_endian(bytes.substr(at, 4))));
  }
  return {};
}

Result<std::unique_ptr<PostgresWire>> PostgresWire::open(const std::string& url) {
  std::string shown = TRY(url_without_secrets(url));
  // What comes later counts: the URL's own time to connect does, but not its encoding.
  const char* const keywords[] = {"connect_timeout", "application_name", "dbname",
                                  "client_encoding", nullptr};
  const char* const values[] = {"10", "ruvllm", url.c_str(), "UTF8", nullptr};
  std::unique_ptr<PostgresWire> wire(
      new PostgresWire(PQconnectdbParams(keywords, values, 1), std::move(shown)));
  if (wire->connection_ == nullptr) return fail(Code::out_of_memory, "no memory for libpq");
  if (PQstatus(wire->connection_) != CONNECTION_OK) {
    return fail(Code::unavailable,
                "{}: {}; the server must run, and take this user and password (PGPASSWORD or "
                "~/.pgpass has it)",
                wire->shown_url_, trimmed(PQerrorMessage(wire->connection_)));
  }
  PQsetNoticeProcessor(
      wire->connection_, [](void*, const char*) {}, nullptr);
  TRY(
      wire->ask("SELECT set_config('statement_timeout', '60s', false)"
                " WHERE current_setting('statement_timeout') = '0'"));
  return wire;
}

PostgresWire::~PostgresWire() { PQfinish(connection_); }

Result<PostgresRows> PostgresWire::taken(pg_result* result) {
  PostgresRows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
  if (PQstatus(connection_) != CONNECTION_OK) {
    return fail(Code::unavailable, "{}: the connection broke: {}; try again", shown_url_,
                trimmed(PQerrorMessage(connection_)));
  }
  const char* state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr || message == nullptr) {
    return fail(Code::internal, "{}: {}", shown_url_, trimmed(PQerrorMessage(connection_)));
  }
  const std::string_view way_out =
      code_of_state(state) == Code::deadline
          ? "; another change may hold it up: try again, or give the URL "
            "options=-cstatement_timeout%3D300000, of milliseconds"
          : "";
  return fail(code_of_state(state), "{}: PostgreSQL: {} (SQLSTATE {}){}", shown_url_, message,
              state, way_out);
}

Result<PostgresRows> PostgresWire::ask(const std::string& statement, const PostgresValues& values,
                                       bool binary_results) {
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  for (const std::string& value : values.values_) {
    if (value.size() > INT32_MAX / 2) {
      return fail(Code::unsupported, "{}: a value of {} bytes", shown_url_, value.size());
    }
    pointers.push_back(value.c_str());
    lengths.push_back(static_cast<int>(value.size()));
  }
  return taken(PQexecParams(connection_, statement.c_str(), static_cast<int>(pointers.size()),
                            values.types_.data(), pointers.data(), lengths.data(),
                            values.formats_.data(), binary_results ? 1 : 0));
}

Status PostgresWire::run(const std::string& statements) {
  TRY(taken(PQexec(connection_, statements.c_str())));
  return {};
}

Result<PostgresTransaction> PostgresTransaction::begin(PostgresWire& wire) {
  TRY(wire.run("BEGIN"));
  return PostgresTransaction(&wire);
}

Result<PostgresTransaction> PostgresTransaction::begin_view(PostgresWire& wire) {
  TRY(wire.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  return PostgresTransaction(&wire);
}

PostgresTransaction::PostgresTransaction(PostgresTransaction&& other) noexcept
    : wire_(std::exchange(other.wire_, nullptr)) {}

PostgresTransaction::~PostgresTransaction() {
  if (wire_ != nullptr) (void)wire_->run("ROLLBACK");
}

Status PostgresTransaction::commit() {
  TRY(wire_->run("COMMIT"));
  wire_ = nullptr;
  return {};
}

}  // namespace ruv
#endif
