// IdTable: finds the number of an interned thing by its hash. Numbers and hashes lie in one array,
// so a look-up mostly touches one cache line; the things themselves lie with their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ruv {

class IdTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Has room for `capacity` numbers before it grows.
  explicit IdTable(size_t capacity) {
    size_t size = 16;
    while (size < capacity * 2) size *= 2;
    slots_.resize(size);
  }

  // The number with this hash for which is_same(number) holds, else kNone.
  template <class IsSame>
  uint32_t find(uint64_t hash, IsSame&& is_same) const {
    const uint32_t tag = tag_of(hash);
    for (size_t at = place(tag_of(hash)); slots_[at].id != kNone; at = next(at)) {
      if (slots_[at].tag == tag && is_same(slots_[at].id)) return slots_[at].id;
    }
    return kNone;
  }
  void insert(uint64_t hash, uint32_t id) {
    if (++n_ * 2 > slots_.size()) grow();
    put(tag_of(hash), id);
  }
  // Requires: the numbers that came after this one were erased.
  void erase_last(uint64_t hash, uint32_t id) {
    size_t at = place(tag_of(hash));
    while (slots_[at].id != id) at = next(at);
    slots_[at].id = kNone;
    --n_;
  }

 private:
  struct Slot {
    uint32_t id = kNone;
    uint32_t tag = 0;
  };
  // Decides everything, so that slots can be moved without their hashes.
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash ^ hash >> 32); }
  size_t place(uint32_t tag) const {
    return static_cast<size_t>(uint64_t{tag} * 0x9E3779B97F4A7C15 >> 20) & (slots_.size() - 1);
  }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(uint32_t tag, uint32_t id) {
    size_t at = place(tag);
    while (slots_[at].id != kNone) at = next(at);
    slots_[at] = {id, tag};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id != kNone) put(slot.tag, slot.id);
    }
  }

  std::vector<Slot> slots_;
  size_t n_ = 0;
};

}  // namespace ruv
