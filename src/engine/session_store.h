// SessionStore: named conversations in one folder, one file each. Names are indexed in memory; a
// file is read when its session is used; a session that save() acknowledged outlives the process.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/append_file.h"
#include "base/thread.h"
#include "cache/session_file.h"
#include "ruv/conversation.h"

namespace ruv {

struct Session {
  SessionInfo info;
  std::string messages = "[]";  // a JSON array, as a chat request's
};

// Fails: corrupt.
Result<std::vector<Message>> read_session_messages(const Session& session);
// Both update info.n_messages; bytes that are not UTF-8 become U+FFFD. Adding writes only what is
// new.
void set_session_messages(Session& session, std::span<const Message> messages);
void add_session_messages(Session& session, std::span<const Message> messages);

// Thread-safe.
class SessionStore {
 public:
  struct Options {
    std::string folder;                               // made when absent, for the user alone
    std::optional<std::array<uint8_t, 32>> key = {};  // encrypts the files
    bool read_only = false;                           // beside a process that writes; no lock
    size_t max_sessions = 100'000;
    // Receives the paths of files that cannot be read or written, and why. Errors do not contain
    // paths, since clients that name a session need not know the folder. Called on any thread.
    std::function<void(std::string_view)> note = {};
  };
  // Fails: unavailable (another process has the folder), invalid, internal.
  static Result<std::unique_ptr<SessionStore>> open(Options options);

  // The right to change one session, until it is destroyed. Must not outlive the store.
  class Hold {
   public:
    Hold(Hold&& other) noexcept
        : store_(std::exchange(other.store_, nullptr)), key_(std::move(other.key_)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class SessionStore;
    Hold(SessionStore* store, std::string key) : store_(store), key_(std::move(key)) {}
    SessionStore* store_;
    std::string key_;
  };
  // Fails: invalid (the name), unavailable (held by another), unsupported (opened to read only),
  // out_of_memory (a new one, and there are max_sessions).
  Result<Hold> hold(const std::string& user, const std::string& name);

  // Fails: invalid (the name), not_found (also where it is another user's), corrupt (its file is
  // damaged and stays where it is), internal (it cannot be read), out_of_memory.
  Result<Session> load(const std::string& user, const std::string& name) const;
  // Returns when the session's file is on disk. Requires: the hold is of this user and name.
  // Fails: invalid (too long), corrupt (a damaged file has its place), out_of_memory, internal.
  Status save(const Hold& hold, const Session& session);
  // A damaged file goes too. Fails: not_found, internal.
  Status erase(const Hold& hold);

  // Removes sessions that nothing changed since this time, but for those that are held, and calls
  // `removed` for each. One whose file cannot be removed stays, and is noted.
  void erase_before(int64_t unix_s, const std::function<void(const SessionInfo&)>& removed);

  // What a list says of one session; nothing where there is none.
  std::optional<SessionInfo> find(const std::string& user, std::string_view name) const;
  // Whether the files are encrypted.
  bool is_sealed() const { return options_.key.has_value(); }

  // Which sessions a list has.
  struct Which {
    std::string after = {};    // the name before the first
    size_t limit = SIZE_MAX;   // how many at most
    std::string model = {};    // of those that it answered last; empty: any
    std::string adapter = {};  // of those that have it, or whose `model` it is; empty: any
    // Those that changed in these seconds, the last one not included.
    int64_t since_s = 0, until_s = INT64_MAX;
  };
  // The sessions of one user, sorted by name.
  std::vector<SessionInfo> list(const std::string& user, const Which& which) const;
  // The sessions of all users, for the owner of the folder.
  std::vector<SessionInfo> list_all() const;

  struct Stats {
    size_t n_sessions = 0;
    size_t n_ignored = 0;  // files that could not be read at open
  };
  Stats stats() const;

 private:
  struct Entry {
    const std::string* model;
    int64_t created;
    int64_t updated;
    int64_t n_messages;
    int64_t n_tokens;
    std::vector<SessionAdapter> adapters;
  };
  static SessionInfo info_of(std::string_view key, const Entry& entry);
  SessionStore(Options options, SessionCodec codec)
      : options_(std::move(options)), codec_(std::move(codec)) {}
  void index_files();
  void index(const SessionInfo& info);
  void ignore(const std::string& reason);
  std::string path_of(std::string_view key) const;
  Result<Session> read(std::span<const std::byte> bytes, const std::string& path) const;
  Status write(const std::string& path, std::span<const std::byte> bytes) const;
  // Notes what happened to the session's file; returns the status for the client.
  Status told(std::string_view name, const Status& status, std::string_view what) const;

  Options options_;
  SessionCodec codec_;
  std::optional<FileLock> lock_;
  mutable Mutex mutex_;  // guards all below
  // Keyed by user, NUL and name.
  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::string, std::less<>> models_;  // names that entries point to
  std::set<std::string, std::less<>> held_;
  size_t n_ignored_ = 0;
};

}  // namespace ruv
