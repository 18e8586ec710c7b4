// CpuDevice: the CPU, one table of kernels, and the host's memory. Addresses are pointers plus a
// constant, 0 but in tests: any other makes each use of an address by the host a fault.
#pragma once

#include <array>
#include <atomic>

#include "device/cpu/cpu_packing.h"

namespace ruv {

class ProductWatcher;

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const Kernels& kernels, uint64_t shift = 0);

  Result<DeviceMemory> allocate(int64_t n_bytes) override;
  Result<DeviceMemory> take(SharedBytes bytes) override;
  Result<PlainRows> take_rows(std::span<const std::byte* const> rows, int64_t row_bytes) override;
  void upload(Address to, Bytes from) override;
  void download(Address from, std::span<std::byte> to) override;
  void copy(Address to, Address from, int64_t n_bytes) override;
  void zero(Address at, int64_t n_bytes) override;
  HostRows rows(View view, std::span<float> staging) override;
  int64_t memory_bytes() const override;
  bool shares_memory() const override { return shift_ == 0; }
  const Packing& packing() const override { return packing_; }
  std::vector<ReadAhead> find_read_ahead(std::span<const Weight> weights, int64_t min_bytes,
                                         WorkerPool& threads) const override;
  void use_read_ahead(std::span<const ReadAhead> distances) override;
  uint64_t processor_id() const override;
  Result<std::unique_ptr<Ops>> make_ops(WorkerPool& threads, KvPages& pages,
                                        const OpsLimits& limits) override;

  const Kernels& kernel_table() const { return *kernels_; }
  // GemmArgs::ahead of products with packed weights of a format.
  int64_t ahead(DType weight) const {
    return ahead_[static_cast<size_t>(weight)].load(std::memory_order_relaxed);
  }
  // Operations that are made from now on show the inputs of all products to it, which must outlive
  // them; null: they do not.
  void watch(ProductWatcher* watcher) { watcher_ = watcher; }
  ProductWatcher* watcher() const { return watcher_; }

  std::byte* pointer(Address address) const {
    return reinterpret_cast<std::byte*>(address.bits() - shift_);
  }
  float* numbers(Address address) const { return reinterpret_cast<float*>(pointer(address)); }
  Address address(const void* pointer) const {
    return Address(reinterpret_cast<uint64_t>(pointer) + shift_);
  }

 private:
  const Kernels* kernels_;
  CpuPacking packing_;
  uint64_t shift_;
  ProductWatcher* watcher_ = nullptr;
  std::array<std::atomic<uint32_t>, 256> ahead_ = {};  // by DType
};

// The CPU with a table of kernels. Test programs have one of their own, with shifted addresses.
std::shared_ptr<Device> new_device(const Kernels& kernels);

}  // namespace ruv
