// Address: a place in the memory of a device. The host cannot look there: only the device's own
// code turns an address into a pointer.
#pragma once

#include <cstdint>
#include <memory>

namespace ruv {

class Address {
 public:
  constexpr Address() = default;
  explicit constexpr Address(uint64_t bits) : bits_(bits) {}

  constexpr uint64_t bits() const { return bits_; }
  // The place n_bytes further on.
  constexpr Address operator+(int64_t n_bytes) const {
    return Address(bits_ + static_cast<uint64_t>(n_bytes));
  }
  bool operator==(const Address&) const = default;

 private:
  uint64_t bits_ = 0;
};

// A block of a device's memory and what keeps it. Copies share the block, which is given back with
// the last of them.
struct DeviceMemory {
  Address start;
  int64_t n_bytes = 0;
  std::shared_ptr<const void> owner = nullptr;
};

}  // namespace ruv
