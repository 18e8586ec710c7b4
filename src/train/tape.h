// Tape: the operations of a step in their order, to be walked backwards. An entry has resolved its
// arguments to numbers; when it is run it may keep copies of those inputs that its derivative
// needs, so that memory may be reused and changed in place by the entries after it.
//
// Adjoints: an entry that writes `out` takes g = adjoint(out), sets adjoint(out) to 0 and adds what
// g means for its inputs to theirs. After a walk all adjoints of what entries wrote are 0 again.
//
// Checkpoints: with segments of some entries each, entries keep nothing when they are first run. A
// segment keeps what it read of memory that it had not written; the walk puts that back, runs the
// segment's entries again, and walks them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "train/train_memory.h"

namespace ruv {

// Bytes that a tape keeps.
struct KeptBytes {
  int64_t now = 0;
  int64_t peak = 0;

  void add(int64_t n) {
    now += n;
    peak = now > peak ? now : peak;
  }
};

// A copy of numbers, while it is needed. What all copies of a tape take is counted, since it is
// most of the memory of training.
template <class T>
class KeptNumbers {
 public:
  KeptNumbers() = default;
  ~KeptNumbers() { drop(); }
  KeptNumbers(KeptNumbers&& other) noexcept
      : numbers_(std::move(other.numbers_)), bytes_(std::exchange(other.bytes_, nullptr)) {}
  KeptNumbers& operator=(KeptNumbers&&) = delete;

  void keep(const T* from, int64_t n, KeptBytes& bytes) {
    drop();
    numbers_.assign(from, from + n);
    bytes_ = &bytes;
    bytes_->add(n_bytes());
  }
  void drop() {
    if (bytes_ != nullptr) bytes_->add(-n_bytes());
    bytes_ = nullptr;
    numbers_ = {};
  }
  const T* get() const { return numbers_.data(); }
  int64_t size() const { return std::ssize(numbers_); }

 private:
  int64_t n_bytes() const { return std::ssize(numbers_) * int64_t{sizeof(T)}; }

  std::vector<T> numbers_;
  KeptBytes* bytes_ = nullptr;
};

// Memory that an entry reads and writes, in the order of both.
template <class T>
struct MemoryUse {
  struct Part {
    T* at = nullptr;
    int64_t n = 0;
  };
  std::vector<Part> reads, writes;

  void read(const Adjoined<T>& x) { reads.push_back({x.values, x.size()}); }
  void write(const Adjoined<T>& x) { writes.push_back({x.values, x.size()}); }
  // In place.
  void change(const Adjoined<T>& x) {
    read(x);
    write(x);
  }
};

template <class T>
class TapeEntry {
 public:
  virtual ~TapeEntry() = default;
  // Computes; `keeps`: keeps what backward() needs.
  virtual void run(bool keeps) = 0;
  // Adds to adjoints and gradients. Requires: run(true) was the last call.
  virtual void backward() = 0;
  // Gives back what run(true) kept.
  virtual void forget() = 0;
  // Adds what a run reads and writes of the decoder's memory; parameters are not counted.
  virtual void use(MemoryUse<T>& use) const = 0;
  // Whether little memory is in use after it, so that a segment had better end here.
  virtual bool ends_segment() const { return false; }
};

template <class T>
class Tape {
 public:
  // Entries from now on are recorded, in segments of about `n` entries; 0: without checkpoints.
  void record(int64_t n);
  void stop() { is_recording_ = false; }
  bool is_recording() const { return is_recording_; }
  // Runs an entry, and records it. Without recording it is forgotten at once, which is how a loss
  // is computed alone.
  void run(std::unique_ptr<TapeEntry<T>> entry);
  // Walks backwards what was recorded, from the adjoints that the caller has set, and forgets it.
  void backward();
  void clear();

  // Entries that were recorded, and bytes that they keep.
  int64_t n_entries() const { return std::ssize(entries_); }
  KeptBytes& kept() { return kept_; }

 private:
  // Numbers as they were before the segment.
  struct Saved {
    T* at;
    KeptNumbers<T> numbers;
  };
  // Entries from `begin` to the next segment.
  struct Segment {
    size_t begin = 0;
    std::vector<Saved> saved;
  };
  // Saves what the entry reads and the segment has neither written nor saved.
  void save_reads(const TapeEntry<T>& entry);
  // The segment has written or saved these numbers.
  void add_known(T* begin, T* end);
  // Back over entries [begin, end).
  void walk(size_t begin, size_t end);

  bool is_recording_ = false;
  int64_t segment_ = 0;
  KeptBytes kept_;
  std::vector<std::unique_ptr<TapeEntry<T>>> entries_;
  std::vector<Segment> segments_;
  std::map<T*, T*> known_;  // ranges of the last segment, from begin to end, that do not meet
};

}  // namespace ruv
