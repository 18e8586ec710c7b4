// ResponseStore: answers of the Responses API that later requests may continue. All are in memory,
// within limits: the oldest go first. With a folder each is a file as well, of the form that
// sessions have, so that they outlive the process. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"

namespace ruv {

class SessionKeeper;

// JSON texts; short to keep, and parsed where they are needed.
struct StoredResponse {
  std::string response;  // as clients get it
  std::string input;     // the request's items
  // The conversation up to and with the answer, as a chat request has it; "[]": nothing continues a
  // response that did not come to its end.
  std::string messages;
  int64_t created = 0;         // unix seconds
  bool is_unfinished = false;  // it was generated when this was written
  std::string owner = {};      // name of the key that asked for it; no other key's requests see it
};

// A response whose process ended before it did, as clients get it. Requires: an object in JSON.
std::string interrupted_response(std::string_view response);

class ResponseStore {
 public:
  // Raising the limits lets clients continue older answers, at the cost of memory and disk.
  explicit ResponseStore(uint64_t max_bytes = 64 << 20, size_t max_responses = 4096)
      : max_bytes_(max_bytes), max_responses_(max_responses) {}

  // Reads the answers in the keeper's folder, the newest as far as there is room; the files of the
  // others are removed. Damaged ones are passed to `note` and stay where they are. From now on
  // answers are written there, those of more than 1 MiB excepted, of which `note` hears as well, on
  // any thread. Before any other call; the keeper must live until the last one.
  void keep_in(SessionKeeper& files, std::function<void(std::string_view)> note);

  // Replaces a response of the same id. Drops the oldest where there is no room; one that is larger
  // than all room is not kept. `kept` is called when the answer is on disk or cannot be: from the
  // keeper's thread, or from within where there is no folder.
  void put(
      const std::string& id, StoredResponse response, std::function<void()> kept = [] {});
  std::optional<StoredResponse> find(const std::string& id) const;
  // `erased` is called as `kept` is, when the answer's file is gone. Fails: not_found, internal
  // (the file cannot be removed).
  void erase(const std::string& id, std::function<void(Status)> erased);
  uint64_t n_bytes() const;

 private:
  struct Entry {
    std::string id;
    StoredResponse response;
    uint64_t n_bytes() const;
  };
  void write(const std::string& id, const std::string& owner) const;
  // The functions in this group require the mutex.
  void remove(std::list<Entry>::iterator entry);
  // Its file goes, too.
  void drop(std::list<Entry>::iterator entry);
  bool add(Entry entry);
  bool has_room(uint64_t n_bytes) const;

  const uint64_t max_bytes_;
  const size_t max_responses_;
  SessionKeeper* files_ = nullptr;  // null: in memory only
  std::function<void(std::string_view)> note_;
  mutable std::mutex mutex_;  // guards all below
  std::list<Entry> entries_;  // the oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
