#include "audit/audit_log.h"

#include <chrono>

#include "format/adapter_file.h"
#include "model/adapter.h"

namespace ruv {
namespace {

// Between two tries to write what could not be written.
constexpr auto kRetry = std::chrono::seconds(1);
constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kDayMs = 24 * kHourMs;

}  // namespace

int64_t unix_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<std::unique_ptr<AuditLog>> AuditLog::start(AuditStore store,
                                                  const AuditLogOptions& options) {
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(store), options));
  if (!start_thread(log->thread_, [raw = log.get()] { raw->work(); }))
    return fail(Code::out_of_memory, "no thread for the audit log");
  return log;
}

AuditLog::~AuditLog() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// Roughly, of memory.
int64_t AuditLog::bytes_of(const Waiting& one) {
  if (const auto* finished = std::get_if<FinishedRequest>(&one)) return finished->n_bytes();
  int64_t n = sizeof(Waiting);
  if (const auto* found = std::get_if<MemoryRetrieval>(&std::get<Note>(one).what)) {
    for (const MemoryRetrieval::Chunk& chunk : found->chunks) {
      n += static_cast<int64_t>(sizeof chunk + chunk.document.size());
    }
  }
  return n;
}

void AuditLog::add(FinishedRequest finished) { add_waiting(std::move(finished)); }

void AuditLog::add_note(std::variant<AnswerRating, MemoryRetrieval> what) {
  add_waiting(Note{unix_milliseconds(), std::move(what)});
}

// On an engine's thread, where all answers wait: a move and a notification, no allocation but the
// queue's own.
void AuditLog::add_waiting(Waiting one) {
  const int64_t n_bytes = bytes_of(one);
  const Lock lock(mutex_);
  if (waiting_.size() >= options_.max_waiting ||
      waiting_bytes_ + n_bytes > options_.max_waiting_bytes) {
    ++stats_.n_lost;
    ++n_unnoted_;
    return;
  }
  waiting_bytes_ += n_bytes;
  waiting_.push_back(std::move(one));
  ++n_added_;
  ++stats_.n_waiting;
  if (waiting_.size() == 1 || waiting_.size() == options_.batch) wake_.notify_all();
}

// Writers that fail try again each second; a caller that waits is not kept for that.
Status AuditLog::flush() {
  Lock lock(mutex_);
  const uint64_t wanted = n_added_;
  n_wanted_ = std::max(n_wanted_, wanted);
  wake_.notify_all();
  written_.wait(lock, [&] { return n_done_ >= wanted || !stats_.failure.empty(); });
  if (n_done_ >= wanted) return {};
  return Status(Code::unavailable, stats_.failure);
}

AuditLog::Stats AuditLog::stats() const {
  const Lock lock(mutex_);
  return stats_;
}

// An adapter is hashed when it is first used. Its files may have been replaced since it was loaded:
// then nothing says what it was.
std::vector<AnsweringAdapter> AuditLog::adapters_of(const FinishedRequest& finished) {
  std::erase_if(adapter_digests_, [](const auto& known) { return known.second.first.expired(); });
  std::vector<AnsweringAdapter> adapters;
  for (const AdapterUse& use : finished.adapters) {
    auto known = adapter_digests_.find(use.adapter.get());
    if (known == adapter_digests_.end()) {
      const std::string& path = use.adapter->info.path;
      const auto digest = files_digest(path, pool_);
      const auto now = open_adapter(path);
      const bool is_same = digest && now && now->stamps == use.adapter->stamps;
      known = adapter_digests_
                  .emplace(use.adapter.get(), std::pair(std::weak_ptr(use.adapter),
                                                        is_same ? hex_of(*digest) : std::string()))
                  .first;
    }
    adapters.push_back({use.adapter->info.path, known->second.second, use.scale});
  }
  return adapters;
}

AuditEntry AuditLog::note_entry(const Note& note) const {
  if (const auto* rating = std::get_if<AnswerRating>(&note.what)) {
    return rating_entry(*rating, note.unix_ms);
  }
  return retrieval_entry(std::get<MemoryRetrieval>(note.what), note.unix_ms, options_.contents);
}

// The number of lost answers comes first, as they ended before these.
bool AuditLog::write(std::vector<Waiting>& batch, int64_t n_lost) {
  const size_t n_gaps = n_lost > 0 ? 1 : 0;
  std::vector<std::vector<AnsweringAdapter>> adapters;
  for (const Waiting& one : batch) {
    const auto* finished = std::get_if<FinishedRequest>(&one);
    adapters.push_back(finished == nullptr ? std::vector<AnsweringAdapter>()
                                           : adapters_of(*finished));
  }
  const int64_t now = unix_milliseconds();
  const auto head =
      store_.append(batch.size() + n_gaps, now, [&](size_t i, int64_t number) -> AuditEntry {
        if (i < n_gaps) return gap_entry(n_lost, now);
        const auto* finished = std::get_if<FinishedRequest>(&batch[i - n_gaps]);
        if (finished == nullptr) return note_entry(std::get<Note>(batch[i - n_gaps]));
        return answer_entry(*finished, static_cast<uint64_t>(number), options_.contents,
                            adapters[i - n_gaps], store_.key(),
                            options_.seal ? &*options_.seal : nullptr);
      });
  const Lock lock(mutex_);
  stats_.failure = head ? "" : head.error().message();
  if (head) {
    stats_.n_written += std::ssize(batch) + static_cast<int64_t>(n_gaps);
    n_unnoted_ -= n_lost;
    n_done_ += batch.size();
    stats_.n_waiting -= std::ssize(batch);
  }
  written_.notify_all();
  return head.has_value();
}

// Once an hour is often enough for days, and rare enough that the search for old heads costs
// nothing.
void AuditLog::remove_old() {
  const int64_t now = unix_milliseconds();
  if (options_.keep_days == 0 || now - removed_ms_ < kHourMs) return;
  removed_ms_ = now;
  const auto removed = store_.remove_before(now - options_.keep_days * kDayMs, now);
  const Lock lock(mutex_);
  if (!removed) stats_.failure = removed.error().message();
}

// A batch that could not be written stays in memory and is tried again, while the queue fills.
void AuditLog::work() {
  std::vector<Waiting> batch;
  Lock lock(mutex_);
  while (true) {
    const auto has_work = [&] { return stopping_ || !waiting_.empty() || n_unnoted_ > 0; };
    if (batch.empty()) wake_.wait(lock, has_work);
    const auto is_due = [&] {
      return stopping_ || waiting_.size() >= options_.batch || n_wanted_ > n_done_;
    };
    if (batch.empty()) wake_.wait_for(lock, std::chrono::milliseconds(options_.batch_ms), is_due);
    while (batch.size() < options_.batch && !waiting_.empty()) {
      waiting_bytes_ -= bytes_of(waiting_.front());
      batch.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    const int64_t n_lost = n_unnoted_;
    if (batch.empty() && n_lost == 0) {
      if (stopping_) return;
      continue;
    }
    lock.unlock();
    const bool is_written = write(batch, n_lost);
    if (is_written) {
      batch.clear();
      remove_old();
    }
    lock.lock();
    if (is_written) continue;
    if (stopping_) return;
    wake_.wait_for(lock, kRetry, [&] { return stopping_; });
  }
}

}  // namespace ruv
