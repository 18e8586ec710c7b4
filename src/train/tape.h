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

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "train/train_memory.h"

namespace ruv {

// Memory of the copies that a tape keeps. What is given back is taken again: steps keep what the
// steps before them kept, and pages that the system gives anew cost more than the copies.
template <class T>
class KeptMemory {
 public:
  struct Block {
    std::unique_ptr<T[]> numbers;
    int64_t n = 0;  // that have room
  };

  // Room for n numbers, of any value. Throws std::bad_alloc.
  Block take(int64_t n);
  void give(Block block);
  // Bytes in use, and the most that were since the last call of begin_step().
  int64_t now() const { return now_; }
  int64_t peak() const { return peak_; }
  // Lets go of memory where much more is held than the step before needed.
  void begin_step();

 private:
  std::multimap<int64_t, std::unique_ptr<T[]>> free_;  // by their numbers
  int64_t now_ = 0;
  int64_t peak_ = 0;
  int64_t free_bytes_ = 0;
};

template <class T>
struct TrainTeam;

// A copy of numbers, while it is needed. What all copies of a tape take is counted, since it is
// most of the memory of training.
template <class T>
class KeptNumbers {
 public:
  KeptNumbers() = default;
  ~KeptNumbers() { drop(); }
  KeptNumbers(KeptNumbers&& other) noexcept
      : block_(std::move(other.block_)),
        n_(std::exchange(other.n_, 0)),
        memory_(std::exchange(other.memory_, nullptr)) {}
  KeptNumbers& operator=(KeptNumbers&&) = delete;

  void keep(const T* from, int64_t n, KeptMemory<T>& memory) {
    std::copy_n(from, n, take(n, memory));
  }
  // The same by all threads.
  void keep(const T* from, int64_t n, TrainTeam<T>& team);
  void drop() {
    if (memory_ != nullptr) memory_->give(std::move(block_));
    memory_ = nullptr;
    n_ = 0;
  }
  // Room for n numbers, of any value.
  T* take(int64_t n, KeptMemory<T>& memory) {
    drop();
    block_ = memory.take(n);
    n_ = n;
    memory_ = &memory;
    return block_.numbers.get();
  }
  const T* get() const { return block_.numbers.get(); }
  int64_t size() const { return n_; }

 private:
  typename KeptMemory<T>::Block block_;
  int64_t n_ = 0;
  KeptMemory<T>* memory_ = nullptr;
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
  KeptMemory<T>& kept() { return kept_; }

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
  KeptMemory<T> kept_;  // outlives what entries and segments keep
  std::vector<std::unique_ptr<TapeEntry<T>>> entries_;
  std::vector<Segment> segments_;
  std::map<T*, T*> known_;  // ranges of the last segment, from begin to end, that do not meet
};

}  // namespace ruv
