// RowChecks: hashes of an index's rows, and which rows are known to be what was hashed. A row of a
// file is compared with its hash when it is first read, so that opening an index reads none, and no
// damage is missed.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "memory/vector_rows.h"

namespace ruv {

class RowChecks {
 public:
  // Requires: `rows` lives as long.
  explicit RowChecks(const VectorRows& rows) : rows_(rows) {}

  // Makes room for rows below n. No thread may use others at that time; nor for set().
  void resize(size_t n);
  size_t size() const { return hashes_.size(); }
  // A row that was written or compared just now.
  void set(uint32_t row, uint64_t hash);
  // A row that is to be compared when it is read.
  void expect(uint32_t row, uint64_t hash);
  const std::vector<uint64_t>& hashes() const { return hashes_; }
  uint64_t hash_of(uint32_t row) const;

  // Whether the row has its hash, and numbers that a vector may have. Any thread.
  bool is_sound(uint32_t row) const;
  // Whether all that are used were compared, so that is_sound() need not be asked.
  bool are_all_known() const { return are_all_known_.load(std::memory_order_relaxed); }
  void know_all() { are_all_known_ = true; }

 private:
  const VectorRows& rows_;
  std::vector<uint64_t> hashes_;
  size_t room_ = 0;
  std::unique_ptr<std::atomic<uint8_t>[]> known_;  // 1: compared, and sound
  std::atomic<bool> are_all_known_ = true;
};

}  // namespace ruv
