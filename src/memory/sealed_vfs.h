// SealedVfs: files of SQLite with every page encrypted, as a layer over the system's files (a "VFS"
// of SQLite), so that no text, word or row is on disk in clear.
//
// SQLite leaves the last 40 bytes of each page free: there the nonce and the tag of the page lie.
//
//   database   page after page, each bound to its number
//   log (WAL)  the header of 32 bytes and the first 16 of a frame's 24 bytes of header in clear;
//   the
//              checksum of the content that SQLite puts into the rest is masked; the page is bound
//              to its place, its number and the salts of the log
//   journal    only its header is ever written: SQLite needs one while a database is made, which
//              has nothing before that is to be kept. Content is refused
//
// A page that does not open is SQLITE_CORRUPT. In the log, a frame that does not open ends what is
// recovered, as one whose checksum does not fit does without encryption.
#pragma once

#include <memory>
#include <string>

#include "memory/sealed_pages.h"

struct sqlite3_vfs;

namespace ruv {

class SealedVfs {
 public:
  static constexpr int kPageBytes = static_cast<int>(SealedPages::kPageBytes);
  static constexpr int kReservedBytes = static_cast<int>(kSealedExtraBytes);

  // Makes it known to SQLite under a name of its own, until it is destroyed. Requires: the
  // connections that use it are closed before; their pages have kPageBytes, kReservedBytes of them
  // reserved, and they need no index in shared memory (locking_mode = EXCLUSIVE).
  // Fails: internal, out_of_memory.
  static Result<std::unique_ptr<SealedVfs>> create(SharedStoreKeys keys);
  ~SealedVfs();
  SealedVfs(const SealedVfs&) = delete;
  SealedVfs& operator=(const SealedVfs&) = delete;

  const char* name() const { return name_.c_str(); }
  const SealedPages& pages() const { return pages_; }
  sqlite3_vfs* system() const { return system_; }

 private:
  explicit SealedVfs(SharedStoreKeys keys);

  SharedStoreKeys keys_;
  SealedPages pages_;
  sqlite3_vfs* system_;  // the files below
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace ruv
