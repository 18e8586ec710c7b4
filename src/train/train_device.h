// TrainDevice: a device on which a model is trained. It computes on the CPU, in T, and records what
// it computes (docs/adr/0035-training-by-adjoints.md).
#pragma once

#include "device/packing.h"
#include "train/factor_packer.h"
#include "train/tape.h"
#include "train/train_matrix.h"

namespace ruv {

// Matrices stay rows of the file: what is trained is decoded once, what is not as it is used.
class PlainPacking final : public Packing {
 public:
  std::string_view name() const override { return "train"; }
  Weight shape_of(DType dtype, int64_t n_in, int64_t n_out) const override;
  void pack(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
            std::byte* to, WorkerPool& pool) const override;
  std::vector<uint64_t> fingerprint() const override { return {1}; }
};

// Loading, batches and the decoder know it as a Device; what trains has it as it is, to record
// steps and to read gradients. Nothing in it is safe to use from two threads but the functions of
// memory.
template <class T>
class TrainDevice final : public Device {
 public:
  TrainDevice(const Kernels& kernels, FactorPrecision precision)
      : kernels_(&kernels), precision_(precision) {}

  Result<DeviceMemory> allocate(int64_t n_bytes) override;
  // Numbers of vectors, of which it keeps a copy that may be trained. Requires: the bytes are
  // float32.
  Result<DeviceMemory> take(SharedBytes bytes) override;
  // The rows themselves, as host memory.
  Result<PlainRows> take_rows(std::span<const std::byte* const> rows, int64_t row_bytes) override;
  void upload(Address to, Bytes from) override;
  void download(Address from, std::span<std::byte> to) override;
  void copy(Address to, Address from, int64_t n_bytes) override;
  void zero(Address at, int64_t n_bytes) override;
  HostRows rows(View view, std::span<float> staging) override;
  Status failure() const override { return failure_; }
  int64_t memory_bytes() const override;
  bool shares_memory() const override { return false; }
  const Packing& packing() const override { return packing_; }
  // The pages are not read: what is trained are whole sequences.
  Result<std::unique_ptr<Ops>> make_ops(WorkerPool& threads, KvPages& pages,
                                        const OpsLimits& limits) override;
  // The same without pages, which a trainer need not have.
  std::unique_ptr<Ops> make_ops(WorkerPool& threads);

  // What operations and the trainer reach beside the interface of all devices.
  TrainMemory<T>& memory() { return memory_; }
  TrainMatrices<T>& matrices() { return matrices_; }
  Tape<T>& tape() { return tape_; }
  // What an operation refused, the first time; ok: nothing.
  void refuse(Status why) {
    if (failure_.ok()) failure_ = std::move(why);
  }
  // A new step may try again.
  void forgive() { failure_ = {}; }

 private:
  const Kernels* kernels_;
  FactorPrecision precision_;
  PlainPacking packing_;
  TrainMemory<T> memory_;
  TrainMatrices<T> matrices_;
  Tape<T> tape_;
  Status failure_;
};

// With kernels that compute the same bytes on every machine, unless factors are rounded.
template <class T>
std::shared_ptr<TrainDevice<T>> make_train_device(FactorPrecision precision = FactorPrecision::f32);

}  // namespace ruv
