// ResponseStore: answers of the Responses API that later requests may continue. In memory, within
// limits: the oldest go first. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace ruv {

// JSON texts; short to keep, and parsed where they are needed.
struct StoredResponse {
  std::string response;  // as clients get it
  std::string input;     // the request's items
  std::string messages;  // the conversation up to and with the answer, as a chat request has it
};

class ResponseStore {
 public:
  // Raising the limits lets clients continue older answers, at the cost of memory.
  explicit ResponseStore(uint64_t max_bytes = 64 << 20, size_t max_responses = 4096)
      : max_bytes_(max_bytes), max_responses_(max_responses) {}

  // Drops the oldest where there is no room; one that is larger than all room is not kept.
  void put(const std::string& id, StoredResponse response);
  std::optional<StoredResponse> find(const std::string& id) const;
  // False: there is none.
  bool erase(const std::string& id);
  uint64_t n_bytes() const;

 private:
  struct Entry {
    std::string id;
    StoredResponse response;
    uint64_t n_bytes() const;
  };
  void drop(std::list<Entry>::iterator entry);

  const uint64_t max_bytes_;
  const size_t max_responses_;
  mutable std::mutex mutex_;  // guards all below
  std::list<Entry> entries_;  // the oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
