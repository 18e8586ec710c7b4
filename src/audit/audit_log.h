// AuditLog: finished requests, and notes on them, on their way into a store. Adding one takes the
// caller microseconds: a thread of its own makes entries of them and writes them in batches. What
// it cannot keep up with is counted, and the log says how many are missing.
#pragma once

#include <deque>
#include <map>
#include <variant>

#include "audit/audit_seal.h"
#include "audit/audit_store.h"
#include "audit/file_digests.h"
#include "base/thread.h"

namespace ruv {

struct AuditLogOptions {
  AuditContents contents = AuditContents::hashed;
  // What kept contents are sealed with; unset: anyone who can read the file can read them.
  std::optional<AuditSeal> seal = {};
  // Requests that may wait, and their memory; further ones are lost, and counted.
  size_t max_waiting = 10'000;
  int64_t max_waiting_bytes = int64_t{256} << 20;
  // A batch is written when it has this many entries, or is this old. Larger batches cost less for
  // each entry; what waits is lost when the process is killed.
  size_t batch = 100;
  int64_t batch_ms = 1000;
  // Entries older than this are removed, once an hour; 0: never.
  int64_t keep_days = 0;
};

class AuditLog {
 public:
  // Fails: out_of_memory (no thread).
  static Result<std::unique_ptr<AuditLog>> start(AuditStore store, const AuditLogOptions& options);
  // Writes what waits.
  ~AuditLog();

  // Any thread; none waits for the disk. What the queue cannot take is counted.
  void add(FinishedRequest finished);
  void add(AnswerRating rating) { add_note(std::move(rating)); }
  void add(MemoryRetrieval retrieval) { add_note(std::move(retrieval)); }
  // Returns when all that was added before is on disk, or could not be written. Fails: as the last
  // write.
  Status flush();

  struct Stats {
    int64_t n_written = 0;  // entries
    int64_t n_waiting = 0;
    int64_t n_lost = 0;
    std::string failure = {};  // of the last write; empty: it worked
  };
  Stats stats() const;
  // Where the log is: any thread may AuditStore::read() it meanwhile.
  const std::string& folder() const { return store_.folder(); }

 private:
  AuditLog(AuditStore store, const AuditLogOptions& options)
      : options_(options), store_(std::move(store)) {}

  struct Note {
    int64_t unix_ms = 0;
    std::variant<AnswerRating, MemoryRetrieval> what;
  };
  using Waiting = std::variant<FinishedRequest, Note>;

  static int64_t bytes_of(const Waiting& one);
  void add_note(std::variant<AnswerRating, MemoryRetrieval> what);
  void add_waiting(Waiting one);
  void work();
  bool write(std::vector<Waiting>& batch, int64_t n_lost);
  AuditEntry note_entry(const Note& note) const;
  void remove_old();
  std::vector<AnsweringAdapter> adapters_of(const FinishedRequest& finished);

  const AuditLogOptions options_;
  AuditStore store_;  // used by the thread
  WorkerPool pool_{1};
  std::map<const LoadedAdapter*, std::pair<std::weak_ptr<const LoadedAdapter>, std::string>>
      adapter_digests_;  // used by the thread
  int64_t removed_ms_ = 0;

  mutable Mutex mutex_;  // guards all below
  Condition wake_, written_;
  std::deque<Waiting> waiting_;
  int64_t waiting_bytes_ = 0;
  int64_t n_unnoted_ = 0;  // lost, and not yet in the log
  uint64_t n_added_ = 0, n_done_ = 0, n_wanted_ = 0;
  Stats stats_;
  bool stopping_ = false;
  Thread thread_;
};

// Milliseconds since 1970, UTC.
int64_t unix_milliseconds();

}  // namespace ruv
