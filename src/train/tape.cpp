#include "train/tape.h"

#include <algorithm>

namespace ruv {
namespace {

// A segment that finds no good end is at most this many times as long as asked for.
constexpr int64_t kLongest = 4;
// A block may be this many times as large as what it is taken for.
constexpr int64_t kRoomier = 2;
constexpr int64_t kLeastNumbers = 1024;

}  // namespace

// Sizes are rounded up to few, so that blocks fit steps that are nearly the same.
template <class T>
typename KeptMemory<T>::Block KeptMemory<T>::take(int64_t n) {
  int64_t step = kLeastNumbers;
  while (step * 16 < n) step *= 2;
  const int64_t rounded = (n + step - 1) / step * step;
  Block block;
  const auto found = free_.lower_bound(rounded);
  if (found != free_.end() && found->first <= kRoomier * rounded) {
    block = {std::move(found->second), found->first};
    free_bytes_ -= block.n * int64_t{sizeof(T)};
    free_.erase(found);
  } else {
    block = {std::make_unique_for_overwrite<T[]>(static_cast<size_t>(rounded)), rounded};
  }
  now_ += block.n * int64_t{sizeof(T)};
  peak_ = std::max(peak_, now_);
  return block;
}

template <class T>
void KeptMemory<T>::give(Block block) {
  now_ -= block.n * int64_t{sizeof(T)};
  free_bytes_ += block.n * int64_t{sizeof(T)};
  free_.emplace(block.n, std::move(block.numbers));
}

template <class T>
void KeptMemory<T>::begin_step() {
  if (now_ + free_bytes_ > kRoomier * peak_) {
    free_.clear();
    free_bytes_ = 0;
  }
  peak_ = now_;
}

// What an earlier step left is forgotten, and the peak counts from here.
template <class T>
void Tape<T>::record(int64_t n) {
  clear();
  is_recording_ = true;
  segment_ = n;
  kept_.begin_step();
}

template <class T>
void Tape<T>::clear() {
  entries_.clear();
  segments_.clear();
  known_.clear();
}

// A segment ends where little memory is in use, unless it has become too long.
template <class T>
void Tape<T>::run(std::unique_ptr<TapeEntry<T>> entry) {
  if (!is_recording_) return entry->run(false);
  if (segment_ == 0) {
    entry->run(true);
    entries_.push_back(std::move(entry));
    return;
  }
  const auto n =
      segments_.empty() ? 0 : std::ssize(entries_) - static_cast<int64_t>(segments_.back().begin);
  const bool ends = n >= segment_ && entries_.back()->ends_segment();
  if (segments_.empty() || ends || n >= kLongest * segment_) {
    segments_.push_back({entries_.size(), {}});
    known_.clear();
  }
  save_reads(*entry);
  entry->run(false);
  entries_.push_back(std::move(entry));
}

// Walks along each part that is read, from one known range to the next.
template <class T>
void Tape<T>::save_reads(const TapeEntry<T>& entry) {
  MemoryUse<T> use;
  entry.use(use);
  for (const auto& part : use.reads) {
    T* at = part.at;
    T* const end = part.at + part.n;
    while (at < end) {
      auto next = known_.upper_bound(at);
      if (next != known_.begin()) {
        const auto before = std::prev(next);
        if (before->second > at) {
          at = before->second;
          continue;
        }
      }
      T* const stop = next == known_.end() ? end : std::min(end, next->first);
      segments_.back().saved.push_back({at, {}});
      segments_.back().saved.back().numbers.keep(at, stop - at, kept_);
      add_known(at, stop);
      at = stop;
    }
  }
  for (const auto& part : use.writes) {
    if (part.n > 0) add_known(part.at, part.at + part.n);
  }
}

// Ranges that meet become one.
template <class T>
void Tape<T>::add_known(T* begin, T* end) {
  auto at = known_.upper_bound(begin);
  if (at != known_.begin() && std::prev(at)->second >= begin) {
    --at;
    begin = at->first;
  }
  while (at != known_.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = known_.erase(at);
  }
  known_.emplace(begin, end);
}

// What an entry kept is given back as soon as it was used.
template <class T>
void Tape<T>::walk(size_t begin, size_t end) {
  for (size_t i = end; i-- > begin;) {
    entries_[i]->backward();
    entries_[i]->forget();
  }
}

// Memory after a segment's entries ran again is as it was after the segment, which nothing before
// it needs: each segment puts back what it reads.
template <class T>
void Tape<T>::backward() {
  is_recording_ = false;
  size_t end = entries_.size();
  if (segment_ == 0) walk(0, end);
  for (; !segments_.empty(); segments_.pop_back()) {
    Segment& segment = segments_.back();
    for (Saved& saved : segment.saved) {
      std::copy_n(saved.numbers.get(), saved.numbers.size(), saved.at);
      saved.numbers.drop();
    }
    for (size_t i = segment.begin; i < end; ++i) entries_[i]->run(true);
    walk(segment.begin, end);
    end = segment.begin;
  }
  clear();
}

template class KeptMemory<float>;
template class KeptMemory<double>;
template class Tape<float>;
template class Tape<double>;

}  // namespace ruv
