// CpuDevice: the CPU and the host's memory. Addresses are pointers plus a constant, 0 but in tests:
// any other makes each use of an address by the host a fault.
#pragma once

#include "device/device.h"

namespace ruv {

class CpuDevice : public Device {
 public:
  CpuDevice() = default;
  explicit CpuDevice(uint64_t shift) : shift_(shift) {}

  Result<DeviceMemory> allocate(int64_t n_bytes) override;
  Result<DeviceMemory> take(SharedBytes bytes) override;
  Result<PlainRows> take_rows(std::span<const std::byte* const> rows, int64_t row_bytes) override;
  void upload(Address to, Bytes from) override;
  void download(Address from, std::span<std::byte> to) override;
  void copy(Address to, Address from, int64_t n_bytes) override;
  void zero(Address at, int64_t n_bytes) override;
  HostRows rows(View view, std::span<float> staging) override;
  bool shares_memory() const override { return shift_ == 0; }
  Result<std::unique_ptr<Ops>> make_ops(const Kernels& kernels, WorkerPool& threads, KvPages& pages,
                                        const OpsLimits& limits) override;

  std::byte* pointer(Address address) const {
    return reinterpret_cast<std::byte*>(address.bits() - shift_);
  }
  float* numbers(Address address) const { return reinterpret_cast<float*>(pointer(address)); }
  Address address(const void* pointer) const {
    return Address(reinterpret_cast<uint64_t>(pointer) + shift_);
  }

 private:
  uint64_t shift_ = 0;
};

}  // namespace ruv
