// TrainMemory: the memory of a training device, as blocks of numbers T. T is float where a model is
// trained and double where derivatives are checked. Beside each number lies its
// adjoint, the derivative of the loss by it. Addresses count as if numbers were float32, as the
// decoder believes, and lie where no program has memory: what uses one as a pointer fails.
#pragma once

#include <map>
#include <memory>

#include "base/buffer.h"
#include "base/thread.h"
#include "device/device.h"

namespace ruv {

// Numbers of a view, or of a vector as one row. Adjoints are null where nothing is recorded.
template <class T>
struct Adjoined {
  T* values = nullptr;
  T* adjoints = nullptr;
  int64_t n_rows = 0;
  int64_t n_cols = 0;

  bool empty() const { return n_rows * n_cols == 0; }
  int64_t size() const { return n_rows * n_cols; }
  // Where row i begins, in both.
  T* row(int64_t i) const { return values + i * n_cols; }
  T* adjoint(int64_t i) const { return adjoints + i * n_cols; }
};

// Blocks are found by address, in logarithmic time, and live as long as the DeviceMemory that
// allocate() gave. Pointers to their numbers stay valid until then: blocks never move.
template <class T>
class TrainMemory {
 public:
  TrainMemory() : table_(std::make_shared<Table>()) {}

  // Zeroed. Fails: out_of_memory.
  Result<DeviceMemory> allocate(int64_t n_numbers);
  // Requires: `n` numbers from here on lie in one block.
  T* values(Address at, int64_t n) const;
  // The same of adjoints, which are there from the first call for the block on. Null: there is no
  // memory for them.
  T* adjoints(Address at, int64_t n) const;
  Adjoined<T> numbers(View view, bool with_adjoints) const;
  // A vector as one row, with adjoints if it has some: it is trained.
  Adjoined<T> numbers(const Vector& vector) const;
  // All blocks together, adjoints included.
  int64_t n_bytes() const;

 private:
  struct Block {
    int64_t n = 0;
    Buffer values, adjoints;
  };
  // Any thread may allocate and give back while another computes.
  struct Table {
    Mutex mutex;
    std::map<uint64_t, Block> blocks;  // by address
    uint64_t next = uint64_t{1} << 53;
  };
  // Where `n` numbers from `at` on are in their block; null: n is 0.
  static Block* find(Table& table, Address at, int64_t n, int64_t& offset);

  std::shared_ptr<Table> table_;  // blocks may outlive the memory
};

}  // namespace ruv
