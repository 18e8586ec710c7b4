#include "audit/audit_store.h"

#include <cstring>

#include "audit/merkle.h"
#include "base/file.h"
#include "base/folder.h"

namespace ruv {
namespace {

constexpr int64_t kVersion = 1;

// Columns after the body repeat what the body says (entry_columns), for queries.
constexpr std::string_view kSchema = R"(
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY,
  body TEXT NOT NULL,
  kind TEXT NOT NULL, request_id TEXT NOT NULL, tenant TEXT NOT NULL, model TEXT NOT NULL,
  finish TEXT NOT NULL, time_ms INTEGER NOT NULL, total_us INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_time ON entries (time_ms);
CREATE INDEX IF NOT EXISTS entries_by_id ON entries (request_id);
CREATE TABLE IF NOT EXISTS contents (
  number INTEGER PRIMARY KEY,
  salt BLOB NOT NULL, prompt BLOB NOT NULL, answer BLOB NOT NULL, text BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS sealed (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS heads (
  number INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
  unix_ms INTEGER NOT NULL, root BLOB NOT NULL, previous BLOB NOT NULL,
  signature BLOB NOT NULL, leaves BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS heads_by_last ON heads (last);
)";

// Ratings are few among many answers. Logs of earlier programs had no such index.
constexpr std::string_view kRatingIndex =
    "CREATE INDEX IF NOT EXISTS ratings ON entries (number) WHERE kind = 'rating'";

std::string file_of(const std::string& folder) { return folder + "/audit.db"; }

// A blob of a length that is known. Rows may hold any bytes where someone has changed the file.
template <size_t n>
Status fill(std::array<std::byte, n>& made, std::string_view bytes, std::string_view what) {
  if (bytes.size() != n) {
    return fail(Code::corrupt, "audit log: {} has {} bytes, not {}", what, bytes.size(), n);
  }
  std::memcpy(made.data(), bytes.data(), n);
  return {};
}

// The fact of this name; empty: none.
Result<std::string> fact(const Database& database, std::string_view name) {
  DbStatement row = TRY(database.prepare("SELECT value FROM facts WHERE name = ?1"));
  row.bind(1, name);
  return TRY(row.step()) ? std::string(row.text(0)) : std::string();
}

Status add_fact(const Database& database, std::string_view name, Bytes value) {
  DbStatement row = TRY(database.prepare("INSERT INTO facts VALUES (?1, ?2)"));
  row.bind(1, name);
  row.bind(2, value);
  return row.run();
}

// Fails: unsupported (made by a newer version), corrupt.
Result<PublicKey> public_key_in(const Database& database) {
  PublicKey key;
  const int64_t version = TRY(database.number("PRAGMA user_version"));
  if (version != kVersion)
    return fail(Code::unsupported, "audit log: of version {}, not {}", version, kVersion);
  TRY(fill(key, TRY(fact(database, "public_key")), "the public key"));
  return key;
}

// Two processes may find no log at the same time: whichever is first makes it, and the other sees
// the version when its transaction begins.
//
// The tables and the key of a new log; a log that exists keeps its own.
Status prepare(Database& database, const PublicKey& key) {
  DbTransaction change = TRY(DbTransaction::begin(database));
  if (TRY(database.number("PRAGMA user_version")) != 0) return {};
  TRY(database.run(kSchema));
  TRY(add_fact(database, "public_key", key));
  TRY(database.run(fmt::format("PRAGMA user_version = {}", kVersion)));
  return change.commit();
}

Digest first_previous(const PublicKey& key) { return digest_of("ruvllm audit log", {key}); }

}  // namespace

Digest AuditHead::digest() const {
  const auto bytes = [](int64_t number) { return number_bytes(static_cast<uint64_t>(number)); };
  return digest_of("ruvllm audit head",
                   {bytes(number), bytes(first), bytes(last), bytes(unix_ms), root, previous});
}

Digest entry_digest(int64_t number, std::string_view body) {
  return digest_of("ruvllm audit entry",
                   {number_bytes(static_cast<uint64_t>(number)), as_bytes(body)});
}

EntryColumns columns_in_row(const DbStatement& row, int first) {
  return {.kind = std::string(row.text(first)),
          .request_id = std::string(row.text(first + 1)),
          .tenant = std::string(row.text(first + 2)),
          .model = std::string(row.text(first + 3)),
          .finish = std::string(row.text(first + 4)),
          .time_ms = row.integer(first + 5),
          .total_us = row.integer(first + 6)};
}

Result<AuditHead> head_in_row(const DbStatement& row) {
  AuditHead head{.number = row.integer(0),
                 .first = row.integer(1),
                 .last = row.integer(2),
                 .unix_ms = row.integer(3)};
  const std::string what = fmt::format("head {}", head.number);
  TRY(fill(head.root, row.text(4), what));
  TRY(fill(head.previous, row.text(5), what));
  TRY(fill(head.signature, row.text(6), what));
  return head;
}

Result<AuditStore> AuditStore::open(const AuditStoreOptions& options) {
  TRY(make_folder(options.folder));
  const std::string key_file =
      options.key_file.empty() ? options.folder + "/audit.key" : options.key_file;
  if (file_exists(file_of(options.folder)) && !file_exists(key_file)) {
    return fail(Code::not_found, "{}: the key of the log in {} is not there: say where it is",
                key_file, options.folder);
  }
  AuditKey key = TRY(AuditKey::open(key_file));
  Database database = TRY(Database::open(file_of(options.folder), options.syncs));
  TRY(prepare(database, key.public_key()));
  TRY(database.run(kRatingIndex));
  const PublicKey open = TRY(public_key_in(database));
  if (open != key.public_key())
    return fail(Code::invalid, "{} is not the key of the log in {}", key_file, options.folder);
  return AuditStore(options.folder, std::move(database), std::move(key), open);
}

Result<AuditStore> AuditStore::read(const std::string& folder) {
  if (!file_exists(file_of(folder)))
    return fail(Code::not_found, "{}: there is no audit log", folder);
  Database database = TRY(Database::open(file_of(folder), false));
  const PublicKey open = TRY(public_key_in(database));
  return AuditStore(folder, std::move(database), std::nullopt, open);
}

Result<std::optional<AuditHead>> AuditStore::last_head() const {
  DbStatement row = TRY(database_.prepare(
      fmt::format("SELECT {} FROM heads ORDER BY number DESC LIMIT 1", kHeadColumns)));
  if (!TRY(row.step())) return std::optional<AuditHead>();
  return std::optional(TRY(head_in_row(row)));
}

// The columns repeat the body for queries, and are compared with it when the log is verified.
Status AuditStore::check_signed(const AuditHead& head) const {
  if (is_signed(head.digest(), head.signature, public_key_)) return {};
  return fail(Code::corrupt,
              "audit log: head {} is not as it was signed; `ruvllm audit verify` shows what was "
              "changed",
              head.number);
}

Status AuditStore::insert(int64_t number, const AuditEntry& entry, std::string_view body) {
  const EntryColumns columns = entry_columns(entry.body);
  DbStatement row = TRY(database_.prepare(fmt::format(
      "INSERT INTO entries (number, body, {}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
      kEntryColumns)));
  row.bind(1, number);
  row.bind(2, body);
  row.bind(3, columns.kind);
  row.bind(4, columns.request_id);
  row.bind(5, columns.tenant);
  row.bind(6, columns.model);
  row.bind(7, columns.finish);
  row.bind(8, columns.time_ms);
  row.bind(9, columns.total_us);
  TRY(row.run());
  if (!entry.sealed.empty()) {
    DbStatement closed = TRY(database_.prepare("INSERT INTO sealed VALUES (?1, ?2)"));
    closed.bind(1, number);
    closed.bind(2, as_bytes(entry.sealed));
    TRY(closed.run());
  }
  if (!entry.contents) return {};
  DbStatement kept = TRY(database_.prepare("INSERT INTO contents VALUES (?1, ?2, ?3, ?4, ?5)"));
  kept.bind(1, number);
  kept.bind(2, Bytes(entry.contents->salt));
  kept.bind(3, as_bytes(entry.contents->prompt));
  kept.bind(4, as_bytes(entry.contents->answer));
  kept.bind(5, as_bytes(entry.contents->text));
  return kept.run();
}

Status AuditStore::insert_head(const AuditHead& head, std::span<const Digest> leaves) {
  DbStatement row =
      TRY(database_.prepare("INSERT INTO heads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  row.bind(1, head.number);
  row.bind(2, head.first);
  row.bind(3, head.last);
  row.bind(4, head.unix_ms);
  row.bind(5, Bytes(head.root));
  row.bind(6, Bytes(head.previous));
  row.bind(7, Bytes(head.signature));
  row.bind(8, std::as_bytes(leaves));
  return row.run();
}

// Entries, contents and head are one transaction. The head before is read inside of it, so that
// another process that adds to the log meanwhile is either before or after.
Result<AuditHead> AuditStore::append(size_t n, int64_t unix_ms, const MakeEntry& entry) {
  CHECK(key_ && n > 0);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  const std::optional<AuditHead> before = TRY(last_head());
  if (before) TRY(check_signed(*before));
  AuditHead head{.number = before ? before->number + 1 : 1,
                 .first = before ? before->last + 1 : 1,
                 .unix_ms = unix_ms,
                 .previous = before ? before->digest() : first_previous(public_key_)};
  head.last = head.first + static_cast<int64_t>(n) - 1;
  std::vector<Digest> leaves;
  for (size_t i = 0; i < n; ++i) {
    const int64_t number = head.first + static_cast<int64_t>(i);
    const AuditEntry made = entry(i, number);
    const std::string body = made.body.dump();
    leaves.push_back(entry_digest(number, body));
    TRY(insert(number, made, body));
  }
  head.root = merkle_root(leaves);
  head.signature = key_->sign(head.digest());
  TRY(insert_head(head, leaves));
  TRY(change.commit());
  return head;
}

// The removal is an entry itself, so that entries that are missing without one are noticed.
Result<int64_t> AuditStore::remove_before(int64_t unix_ms, int64_t now_ms) {
  int64_t last = 0;
  {
    DbStatement find = TRY(database_.prepare(fmt::format(
        "SELECT {} FROM heads WHERE unix_ms < ?1 ORDER BY last DESC LIMIT 1", kHeadColumns)));
    find.bind(1, unix_ms);
    if (!TRY(find.step())) return 0;
    const AuditHead head = TRY(head_in_row(find));
    TRY(check_signed(head));
    last = head.last;
  }
  const int64_t n =
      TRY(database_.number(fmt::format("SELECT count(*) FROM entries WHERE number <= {}", last)));
  if (n == 0) return 0;
  TRY(append(1, now_ms, [&](size_t, int64_t) { return removal_entry(last, now_ms); }));
  DbTransaction change = TRY(DbTransaction::begin(database_));
  TRY(database_.run(fmt::format(
      "DELETE FROM contents WHERE number <= {0}; DELETE FROM sealed WHERE number <= {0};"
      "DELETE FROM entries WHERE number <= {0}",
      last)));
  TRY(change.commit());
  return n;
}

// Leaves no note: the entries keep their digests, so that what is missing is seen, and nothing can
// be put in its place.
Result<int64_t> AuditStore::remove_contents_before(int64_t unix_ms) {
  DbTransaction change = TRY(DbTransaction::begin(database_));
  int64_t n = 0;
  for (const char* const table : {"contents", "sealed"}) {
    DbStatement row = TRY(database_.prepare(fmt::format(
        "DELETE FROM {} WHERE number IN (SELECT number FROM entries WHERE time_ms < ?1)", table)));
    row.bind(1, unix_ms);
    TRY(row.run());
    n += TRY(database_.number("SELECT changes()"));
  }
  TRY(change.commit());
  return n;
}

// Heads stay when their entries are removed, so an entry's number has a head for good.
Result<AuditHead> AuditStore::head_of(int64_t entry) const {
  DbStatement row = TRY(database_.prepare(
      fmt::format("SELECT {} FROM heads WHERE last >= ?1 ORDER BY last LIMIT 1", kHeadColumns)));
  row.bind(1, entry);
  if (entry < 1 || !TRY(row.step())) return fail(Code::not_found, "there is no entry {}", entry);
  return head_in_row(row);
}

Result<std::string> AuditStore::body(int64_t entry) const {
  DbStatement row = TRY(database_.prepare("SELECT body FROM entries WHERE number = ?1"));
  row.bind(1, entry);
  if (!TRY(row.step())) return fail(Code::not_found, "there is no entry {}", entry);
  return std::string(row.text(0));
}

Result<std::optional<EntryContents>> AuditStore::contents(int64_t entry) const {
  DbStatement row =
      TRY(database_.prepare("SELECT salt, prompt, answer, text FROM contents WHERE number = ?1"));
  row.bind(1, entry);
  if (!TRY(row.step())) {
    if (!seal_key_) return std::optional<EntryContents>();
    const std::optional<std::string> closed = TRY(sealed(entry));
    if (!closed) return std::optional<EntryContents>();
    return std::optional(TRY(seal_key_->open(*closed)));
  }
  EntryContents contents;
  TRY(fill(contents.salt, row.text(0), fmt::format("the salt of entry {}", entry)));
  contents.prompt = row.text(1);
  contents.answer = row.text(2);
  contents.text = row.text(3);
  return std::optional(std::move(contents));
}

Result<std::optional<std::string>> AuditStore::sealed(int64_t entry) const {
  DbStatement row = TRY(database_.prepare("SELECT bytes FROM sealed WHERE number = ?1"));
  row.bind(1, entry);
  if (!TRY(row.step())) return std::optional<std::string>();
  return std::optional(std::string(row.text(0)));
}

Result<std::vector<Digest>> AuditStore::leaves(const AuditHead& head) const {
  DbStatement row = TRY(database_.prepare("SELECT leaves FROM heads WHERE number = ?1"));
  row.bind(1, head.number);
  if (!TRY(row.step())) return fail(Code::not_found, "there is no head {}", head.number);
  const std::string_view bytes = row.text(0);
  const uint64_t n = static_cast<uint64_t>(head.last) - static_cast<uint64_t>(head.first) + 1;
  if (head.last < head.first || bytes.size() % sizeof(Digest) != 0 ||
      bytes.size() / sizeof(Digest) != n)
    return fail(Code::corrupt, "head {}: not one digest for each of its entries", head.number);
  std::vector<Digest> leaves(n);
  std::memcpy(leaves.data(), bytes.data(), bytes.size());
  return leaves;
}

}  // namespace ruv
