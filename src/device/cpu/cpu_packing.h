// CpuPacking: matrices in groups of rows as a table of kernels multiplies them. Weight::form is the
// GemmKernel. A format for which the table has none stays plain.
#pragma once

#include "device/packing.h"
#include "kernels/kernels.h"

namespace ruv {

class CpuPacking final : public Packing {
 public:
  explicit CpuPacking(const Kernels& kernels) : kernels_(&kernels) {}

  std::string_view name() const override { return kernels_->isa; }
  Weight shape_of(DType dtype, int64_t n_in, int64_t n_out) const override;
  void pack(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
            std::byte* to, WorkerPool& pool) const override;
  // What each packer makes of a fixed probe.
  std::vector<uint64_t> fingerprint() const override;

 private:
  const Kernels* kernels_;
};

// Null: plain.
inline const GemmKernel* kernel_of(const Weight& weight) {
  return static_cast<const GemmKernel*>(weight.form);
}

}  // namespace ruv
