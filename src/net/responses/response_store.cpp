#include "net/responses/response_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/json.h"
#include "net/openai/sessions.h"
#include "net/responses/response_file.h"

namespace ruv {

std::string interrupted_response(std::string_view response) {
  Json json = *parse_json(response, "kept response");
  json["status"] = "failed";
  json["error"] = {{"code", "server_stopped"},
                   {"message", "the server ended before the response did"}};
  return json.dump();
}

// With what the containers take.
uint64_t ResponseStore::Entry::n_bytes() const {
  constexpr uint64_t kOverhead = 256;
  return kOverhead + 2 * id.size() + response.response.size() + response.input.size() +
         response.messages.size() + response.owner.size();
}

// The newest first, so that what does not fit is never read.
void ResponseStore::keep_in(SessionKeeper& files, std::function<void(std::string_view)> note) {
  const std::lock_guard lock(mutex_);
  files_ = &files;
  note_ = std::move(note);
  std::vector<SessionInfo> infos = files.store().list_all();
  std::ranges::stable_sort(infos, std::ranges::greater(), &SessionInfo::created);
  bool is_full = false;
  for (const SessionInfo& info : infos) {
    if (!is_full) {
      Result<StoredResponse> response = load_response(files.store(), info);
      if (!response) {
        note_(fmt::format("{}; the kept response is ignored", response.error().message()));
        continue;
      }
      Entry entry{info.name, std::move(*response)};
      const uint64_t n_added = entry.n_bytes();
      is_full = !has_room(n_added);
      if (!is_full) {
        entries_.push_front(std::move(entry));
        by_id_[info.name] = entries_.begin();
        n_bytes_ += n_added;
        continue;
      }
    }
    const Status status = erase_response(files.store(), info.user, info.name);
    if (!status.ok()) note_(status.message());
  }
}

bool ResponseStore::has_room(uint64_t n_bytes) const {
  return n_bytes_ + n_bytes <= max_bytes_ && entries_.size() < max_responses_;
}

void ResponseStore::remove(std::list<Entry>::iterator entry) {
  n_bytes_ -= entry->n_bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

// The file goes later, but before any file that is written after this call.
void ResponseStore::drop(std::list<Entry>::iterator entry) {
  if (files_ != nullptr) {
    files_->post([this, id = entry->id, owner = entry->response.owner] {
      const Status status = erase_response(files_->store(), owner, id);
      if (!status.ok() && status.code() != Code::not_found) note_(status.message());
    });
  }
  remove(entry);
}

// An answer of the same name is replaced, and its file when this one is written.
bool ResponseStore::add(Entry entry) {
  const uint64_t n_added = entry.n_bytes();
  const bool fits = n_added <= max_bytes_;
  if (const auto found = by_id_.find(entry.id); found != by_id_.end()) {
    fits ? remove(found->second) : drop(found->second);
  }
  if (!fits) return false;
  while (!has_room(n_added)) drop(entries_.begin());
  entries_.push_back(std::move(entry));
  by_id_[entries_.back().id] = std::prev(entries_.end());
  n_bytes_ += n_added;
  return true;
}

// The job is posted under the mutex, so that files are changed in the order of the entries.
void ResponseStore::put(const std::string& id, StoredResponse response,
                        std::function<void()> kept) {
  {
    const std::string owner = response.owner;
    const std::lock_guard lock(mutex_);
    if (add({id, std::move(response)}) && files_ != nullptr) {
      files_->post([this, id, owner, kept = std::move(kept)] {
        write(id, owner);
        kept();
      });
      return;
    }
  }
  kept();
}

// On the keeper's thread, which must survive running out of memory. A file that says what was
// before is worse than none.
void ResponseStore::write(const std::string& id, const std::string& owner) const {
  Status status;
  try {
    const std::optional<StoredResponse> response = find(id);
    if (!response) return;  // dropped already
    status = save_response(files_->store(), id, *response);
  } catch (const std::bad_alloc&) {
    status = Status(Code::out_of_memory, "no memory left to write a response");
  }
  if (!status.ok()) {
    const Status gone = erase_response(files_->store(), owner, id);
    if (!gone.ok() && gone.code() != Code::not_found) note_(gone.message());
    note_(fmt::format("{}; response '{}' is kept in memory only", status.message(), id));
  }
}

// A copy: the entry may be dropped at any time.
std::optional<StoredResponse> ResponseStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second->response;
}

// One that is in memory only, as it was too long for a file, has nothing to remove.
void ResponseStore::erase(const std::string& id, std::function<void(Status)> erased) {
  Status status;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
      status = Status(Code::not_found, fmt::format("no response '{}' is kept here", id));
    } else {
      const std::string owner = found->second->response.owner;
      remove(found->second);
      if (files_ != nullptr) {
        files_->post([this, id, owner, erased = std::move(erased)] {
          const Status gone = erase_response(files_->store(), owner, id);
          erased(gone.code() == Code::not_found ? Status() : gone);
        });
        return;
      }
    }
  }
  erased(status);
}

uint64_t ResponseStore::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

}  // namespace ruv
