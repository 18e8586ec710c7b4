// The second device of the tests, a mirror: the CPU computes on it, but its memory is no memory of
// the host. Addresses lie in a part of the address space that no program has, and what the host
// gives is copied. Programs that link this file compute on it in place of the CPU: whoever uses an
// address as a pointer, or changes bytes that a device has taken, fails there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "device/cpu/cpu_device.h"

namespace ruv {
namespace {

constexpr uint64_t kShift = uint64_t{1} << 53;

}  // namespace

std::shared_ptr<Device> new_device(const Kernels& kernels) {
  return std::make_shared<CpuDevice>(kernels, kShift);
}

TEST(MirrorDeathTest, TheHostCannotReadADevicesMemory) {
  const std::shared_ptr<Device> device = default_device();
  const DeviceMemory memory = *device->allocate(64);
  const auto* const pointer = reinterpret_cast<const volatile char*>(memory.start.bits());
  EXPECT_DEATH(std::exit(*pointer), "");
}

TEST(Mirror, WhatWasTakenIsACopy) {
  const std::shared_ptr<Device> device = default_device();
  auto numbers = std::make_shared<std::vector<std::byte>>(8, std::byte{7});
  const DeviceMemory memory = *device->take(SharedBytes(Bytes(*numbers), numbers));
  std::ranges::fill(*numbers, std::byte{9});
  std::vector<std::byte> read(8);
  device->download(memory.start, read);
  EXPECT_EQ(read, std::vector<std::byte>(8, std::byte{7}));
}

}  // namespace ruv
