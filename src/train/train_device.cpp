#include "train/train_device.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/machine.h"
#include "kernels/kernels.h"
#include "train/train_ops.h"

namespace ruv {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

}  // namespace

Weight PlainPacking::shape_of(DType dtype, int64_t n_in, int64_t n_out) const {
  Weight weight;
  weight.n_out = n_out;
  weight.n_in = n_in;
  weight.dtype = dtype;
  return weight;
}

void PlainPacking::pack(const Weight& /*weight*/, std::span<const std::byte* const> /*rows*/,
                        Range /*groups*/, std::byte* /*to*/, WorkerPool& /*pool*/) const {
  CHECK(false);  // no weight is packed
}

// Sizes are those of float32, whatever T is.
template <class T>
Result<DeviceMemory> TrainDevice<T>::allocate(int64_t n_bytes) {
  return memory_.allocate((n_bytes + kFloatBytes - 1) / kFloatBytes);
}

// A copy: training changes it.
template <class T>
Result<DeviceMemory> TrainDevice<T>::take(SharedBytes bytes) {
  DeviceMemory memory = TRY(allocate(bytes.n_bytes()));
  upload(memory.start, bytes.bytes());
  return memory;
}

// A row's address is the host's, so that it says where in the file the row lies.
template <class T>
Result<PlainRows> TrainDevice<T>::take_rows(std::span<const std::byte* const> rows,
                                            int64_t /*row_bytes*/) {
  PlainRows taken;
  taken.rows.reserve(rows.size());
  for (const std::byte* const row : rows) {
    taken.rows.push_back(Address(reinterpret_cast<uint64_t>(row)));
  }
  return taken;
}

// Bytes of the host are float32 at any alignment.
template <class T>
void TrainDevice<T>::upload(Address to, Bytes from) {
  const auto n = static_cast<int64_t>(from.size()) / kFloatBytes;
  T* const values = memory_.values(to, n);
  for (int64_t i = 0; i < n; ++i) {
    float number;
    std::memcpy(&number, from.data() + i * kFloatBytes, sizeof number);
    values[i] = static_cast<T>(number);
  }
}

// In double, numbers are rounded to what the host reads.
template <class T>
void TrainDevice<T>::download(Address from, std::span<std::byte> to) {
  const auto n = static_cast<int64_t>(to.size()) / kFloatBytes;
  const T* const values = memory_.values(from, n);
  for (int64_t i = 0; i < n; ++i) {
    const auto number = static_cast<float>(values[i]);
    std::memcpy(to.data() + i * kFloatBytes, &number, sizeof number);
  }
}

template <class T>
void TrainDevice<T>::copy(Address to, Address from, int64_t n_bytes) {
  const int64_t n = n_bytes / kFloatBytes;
  std::copy_n(memory_.values(from, n), n, memory_.values(to, n));
}

template <class T>
void TrainDevice<T>::zero(Address at, int64_t n_bytes) {
  const int64_t n = n_bytes / kFloatBytes;
  std::fill_n(memory_.values(at, n), n, T{0});
}

// Always a copy: the host cannot read the memory.
template <class T>
HostRows TrainDevice<T>::rows(View view, std::span<float> staging) {
  download(view.start, std::as_writable_bytes(staging).first(static_cast<size_t>(view.n_bytes())));
  return {staging.data(), view.n_rows, view.n_cols};
}

template <class T>
int64_t TrainDevice<T>::memory_bytes() const {
  return machine_memory_bytes();
}

template <class T>
Result<std::unique_ptr<Ops>> TrainDevice<T>::make_ops(WorkerPool& threads, KvPages& /*pages*/,
                                                      const OpsLimits& /*limits*/) {
  return make_ops(threads);
}

template <class T>
std::unique_ptr<Ops> TrainDevice<T>::make_ops(WorkerPool& threads) {
  return std::make_unique<TrainOps<T>>(*this, threads, *kernels_, precision_);
}

template <class T>
std::shared_ptr<TrainDevice<T>> make_train_device(FactorPrecision precision) {
  return std::make_shared<TrainDevice<T>>(portable_kernels(), precision);
}

template class TrainDevice<float>;
template class TrainDevice<double>;
template std::shared_ptr<TrainDevice<float>> make_train_device(FactorPrecision);
template std::shared_ptr<TrainDevice<double>> make_train_device(FactorPrecision);

}  // namespace ruv
