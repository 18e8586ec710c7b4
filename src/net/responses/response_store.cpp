#include "net/responses/response_store.h"

namespace ruv {

// With what the containers take.
uint64_t ResponseStore::Entry::n_bytes() const {
  constexpr uint64_t kOverhead = 256;
  return kOverhead + 2 * id.size() + response.response.size() + response.input.size() +
         response.messages.size();
}

void ResponseStore::drop(std::list<Entry>::iterator entry) {
  n_bytes_ -= entry->n_bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

// An answer of the same name is replaced.
void ResponseStore::put(const std::string& id, StoredResponse response) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) drop(found->second);
  Entry entry{id, std::move(response)};
  const uint64_t n_added = entry.n_bytes();
  if (n_added > max_bytes_) return;
  while (n_bytes_ + n_added > max_bytes_ || entries_.size() >= max_responses_) {
    drop(entries_.begin());
  }
  entries_.push_back(std::move(entry));
  by_id_[id] = std::prev(entries_.end());
  n_bytes_ += n_added;
}

// A copy: the entry may be dropped at any time.
std::optional<StoredResponse> ResponseStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second->response;
}

bool ResponseStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  drop(found->second);
  return true;
}

uint64_t ResponseStore::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

}  // namespace ruv
