#include "device/cpu/cpu_device.h"

#include <cstring>

#include "base/machine.h"
#include "device/cpu/ahead_search.h"
#include "device/cpu/cpu_ops.h"
#include "kernels/processor.h"

namespace ruv {

CpuDevice::CpuDevice(const Kernels& kernels, uint64_t shift)
    : kernels_(&kernels), packing_(kernels), shift_(shift) {
  for (const GemmKernel& kernel : kernels.gemm) {
    ahead_[static_cast<size_t>(kernel.weight)] = static_cast<uint32_t>(kernel.ahead);
  }
}

std::vector<ReadAhead> CpuDevice::find_read_ahead(std::span<const Weight> weights,
                                                  int64_t min_bytes, WorkerPool& threads) const {
  std::vector<PackedGroups> packed;
  for (const Weight& weight : weights) {
    if (!weight.is_packed() || weight.packed.n_bytes == 0) continue;
    packed.push_back(
        {kernel_of(weight), weight.n_in, weight.n_groups(), pointer(weight.packed.start)});
  }
  std::vector<ReadAhead> found;
  for (const AheadSamples& samples : ahead_samples(packed, min_bytes, threads.n_threads())) {
    found.push_back({samples.kernel->weight,
                     static_cast<uint32_t>(search_ahead(samples, threads, SteadyClock()))});
  }
  return found;
}

void CpuDevice::use_read_ahead(std::span<const ReadAhead> distances) {
  for (const ReadAhead& distance : distances) {
    ahead_[static_cast<size_t>(distance.dtype)] = distance.n_bytes;
  }
}

uint64_t CpuDevice::processor_id() const { return ruv::processor_id(); }

Result<DeviceMemory> CpuDevice::allocate(int64_t n_bytes) {
  auto owner = std::make_shared<const Buffer>(TRY(Buffer::allocate(n_bytes)));
  return DeviceMemory{address(owner->get()), n_bytes, owner};
}

// With shifted addresses a copy, so that the host's own bytes are of no use to the device.
Result<DeviceMemory> CpuDevice::take(SharedBytes bytes) {
  if (shift_ == 0) {
    const auto owner = std::make_shared<const SharedBytes>(std::move(bytes));
    return DeviceMemory{address(owner->get()), owner->n_bytes(), owner};
  }
  DeviceMemory memory = TRY(allocate(bytes.n_bytes()));
  upload(memory.start, bytes.bytes());
  return memory;
}

Result<PlainRows> CpuDevice::take_rows(std::span<const std::byte* const> rows, int64_t row_bytes) {
  PlainRows taken;
  taken.rows.reserve(rows.size());
  if (shift_ == 0) {
    for (const std::byte* const row : rows) taken.rows.push_back(address(row));
    return taken;
  }
  taken.memory = TRY(allocate(std::ssize(rows) * row_bytes));
  Address to = taken.memory.start;
  for (const std::byte* const row : rows) {
    upload(to, {row, static_cast<size_t>(row_bytes)});
    taken.rows.push_back(to);
    to = to + row_bytes;
  }
  return taken;
}

void CpuDevice::upload(Address to, Bytes from) {
  std::memcpy(pointer(to), from.data(), from.size());
}

void CpuDevice::download(Address from, std::span<std::byte> to) {
  std::memcpy(to.data(), pointer(from), to.size());
}

void CpuDevice::copy(Address to, Address from, int64_t n_bytes) {
  std::memcpy(pointer(to), pointer(from), static_cast<size_t>(n_bytes));
}

void CpuDevice::zero(Address at, int64_t n_bytes) {
  std::memset(pointer(at), 0, static_cast<size_t>(n_bytes));
}

Result<std::unique_ptr<Ops>> CpuDevice::make_ops(WorkerPool& threads, KvPages& pages,
                                                 const OpsLimits& limits) {
  return TRY(CpuOps::create(*kernels_, threads, pages, limits));
}

int64_t CpuDevice::memory_bytes() const { return machine_memory_bytes(); }

HostRows CpuDevice::rows(View view, std::span<float> staging) {
  if (shift_ == 0) return {numbers(view.start), view.n_rows, view.n_cols};
  download(view.start, std::as_writable_bytes(staging).first(static_cast<size_t>(view.n_bytes())));
  return {staging.data(), view.n_rows, view.n_cols};
}

}  // namespace ruv
