// AuditStore: the file of an audit log, and what makes it one that cannot be changed unseen.
//
//   audit.db   SQLite: entries, their contents, heads
//   audit.key  what signs, unless it is elsewhere
//
// Entries are written in batches. Each batch has a head: the digests of its entries, their Merkle
// root, and the digest of the head before it, signed. So the entries are a chain, a batch's
// signature covers all that came before it, and a changed entry is found by its own digest, which
// is signed as well. What nothing in the file can show is that heads are missing at its end: for
// that a head is kept elsewhere, and looked for (verify_audit).
#pragma once

#include <functional>
#include <memory>

#include "audit/audit_seal.h"
#include "memory/database.h"

namespace ruv {

// A batch's end. Numbers of entries and heads begin at 1, without gaps.
struct AuditHead {
  int64_t number = 0;
  int64_t first = 0, last = 0;  // entries
  int64_t unix_ms = 0;
  Digest root = {};      // of the Merkle tree over the digests of its entries
  Digest previous = {};  // of the head before it; of the first: of the public key
  Signature signature = {};

  // What is signed, and what the next head has.
  Digest digest() const;
};

// The digest of an entry, a leaf of its head's tree.
Digest entry_digest(int64_t number, std::string_view body);

struct AuditStoreOptions {
  std::string folder;         // made where it is missing
  std::string key_file = {};  // empty: audit.key in the folder
  // A batch survives a loss of power when it was written; costs a write of the disk for each.
  bool syncs = false;
};

class AuditStore {
 public:
  // Makes a log, or opens it to add to it. Fails: invalid (the key is another log's; no key),
  // corrupt, unavailable, as files.
  static Result<AuditStore> open(const AuditStoreOptions& options);
  // To read it, without the key. Fails: not_found (there is no log), corrupt.
  static Result<AuditStore> read(const std::string& folder);

  // Sealed contents are opened with this key from now on.
  void open_contents_with(AuditSealKey key) { seal_key_.emplace(std::move(key)); }
  const std::string& folder() const { return folder_; }
  const PublicKey& public_key() const { return public_key_; }
  // Requires: opened with open().
  const AuditKey& key() const { return *key_; }

  // Writes a batch: `entry` is called for each of n numbers. All or none are there afterwards, also
  // when the process ends meanwhile. Other processes may add to the log, too. Returns its head.
  // Requires: opened with open(), n > 0. Fails: as Database::run, corrupt (the last head was
  // changed, which what follows it would confirm); nothing was written then.
  using MakeEntry = std::function<AuditEntry(size_t i, int64_t number)>;
  Result<AuditHead> append(size_t n, int64_t unix_ms, const MakeEntry& entry);
  // Nothing where the log is empty.
  Result<std::optional<AuditHead>> last_head() const;
  // Removes entries of whole batches that are older, and notes it in the log. Returns how many.
  // Fails: as append.
  Result<int64_t> remove_before(int64_t unix_ms, int64_t now_ms);
  // Removes the contents of older entries, which stay. Returns how many.
  Result<int64_t> remove_contents_before(int64_t unix_ms);

  // The head that covers an entry. Fails: not_found.
  Result<AuditHead> head_of(int64_t entry) const;
  // Fails: not_found (no such entry, or removed), corrupt.
  Result<std::string> body(int64_t entry) const;
  // Nothing where the log does not have them, or has them sealed and no key is there to open them.
  // Fails: corrupt, as AuditSealKey::open.
  Result<std::optional<EntryContents>> contents(int64_t entry) const;
  // Sealed contents as they are; nothing where there are none.
  Result<std::optional<std::string>> sealed(int64_t entry) const;
  // The digests of a head's entries.
  Result<std::vector<Digest>> leaves(const AuditHead& head) const;

  const Database& database() const { return database_; }

 private:
  AuditStore(std::string folder, Database database, std::optional<AuditKey> key,
             const PublicKey& public_key)
      : folder_(std::move(folder)),
        database_(std::move(database)),
        key_(std::move(key)),
        public_key_(public_key) {}

  // A head on which more is built. Fails: corrupt (its signature is not by the log's key).
  Status check_signed(const AuditHead& head) const;
  Status insert(int64_t number, const AuditEntry& entry, std::string_view body);
  Status insert_head(const AuditHead& head, std::span<const Digest> leaves);

  std::string folder_;
  mutable Database database_;
  std::optional<AuditKey> key_;
  std::optional<AuditSealKey> seal_key_;
  PublicKey public_key_;
};

// The columns of table entries that repeat its body, and what a row has of them from column `first`
// on.
inline constexpr std::string_view kEntryColumns =
    "kind, request_id, tenant, model, finish, time_ms, total_us";
EntryColumns columns_in_row(const DbStatement& row, int first);

// The columns of table heads as a statement's row has them: number, first, last, unix_ms, root,
// previous, signature. Fails: corrupt.
inline constexpr std::string_view kHeadColumns =
    "number, first, last, unix_ms, root, previous, signature";
Result<AuditHead> head_in_row(const DbStatement& row);

}  // namespace ruv
