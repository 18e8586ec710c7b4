#include "memory/row_checks.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "memory/metric.h"

namespace ruv {

void RowChecks::resize(size_t n) {
  if (n > room_) {
    const size_t room = n + n / 2;
    auto known = std::make_unique<std::atomic<uint8_t>[]>(room);
    for (size_t i = 0; i < hashes_.size(); ++i) known[i] = known_[i].load();
    known_ = std::move(known);
    room_ = room;
  }
  hashes_.resize(n);
}

void RowChecks::set(uint32_t row, uint64_t hash) {
  hashes_[row] = hash;
  known_[row] = 1;
}

void RowChecks::expect(uint32_t row, uint64_t hash) {
  hashes_[row] = hash;
  known_[row] = 0;
  are_all_known_ = false;
}

uint64_t RowChecks::hash_of(uint32_t row) const {
  const std::span<const float> numbers(rows_.row(row), static_cast<size_t>(rows_.step()));
  return hash_bytes(std::as_bytes(numbers));
}

// Two threads may compare the same row; both find the same.
bool RowChecks::is_sound(uint32_t row) const {
  if (known_[row].load(std::memory_order_relaxed) != 0) return true;
  if (hash_of(row) != hashes_[row]) return false;
  const std::span<const float> numbers(rows_.row(row), static_cast<size_t>(rows_.step()));
  const auto is_number = [](float x) { return std::fabs(x) <= kMostNumber; };
  if (!std::ranges::all_of(numbers, is_number)) return false;
  known_[row].store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace ruv
