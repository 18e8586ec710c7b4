// FactorPacker: brings factors of a product of float32 into the forms that a kernel reads, as they
// are or rounded to bf16. Where the processor has no products of bf16 pairs, rounded numbers are
// multiplied as float32: the same accuracy at the speed of float32.
#pragma once

#include "kernels/kernels.h"

namespace ruv {

// What the large products of training do with their factors. Sums are float32 either way.
enum class FactorPrecision : uint8_t {
  f32,  // nothing: the same bytes on every machine
  // 8 bits of mantissa remain. Up to twice as fast where pairs of bf16 are multiplied at twice the
  // rate of float32, slower where they are not. Machines of one kind agree to the byte.
  bf16,
};

class FactorPacker {
 public:
  // `exact`: the kernels for float32, the same bytes on every machine.
  FactorPacker(const Kernels& exact, FactorPrecision precision);

  const GemmKernel& kernel() const { return *kernel_; }
  int64_t group_rows() const { return kernel_->mr; }
  int64_t group_bytes(int64_t k) const { return kernel_->group_bytes(k); }
  // Whether the kernel reads rows of the other factor as they are.
  bool takes_rows() const { return to_bf16_ == nullptr; }
  // Bytes of a row of k numbers in the kernel's form: a multiple of 4.
  int64_t row_bytes(int64_t k) const;
  // Numbers [begin, begin + n) of a row of k. Requires: begin is even.
  void write_row(std::byte* row, int64_t begin, int64_t n, const float* from, int64_t k) const;
  // Up to group_rows() rows of k numbers, `row_step` apart, as a group; missing rows are 0.
  // Requires: `scratch` has scratch_bytes(k).
  void pack_rows(std::byte* group, const float* from, int64_t row_step, int64_t n_rows, int64_t k,
                 std::byte* scratch) const;
  // The same of rows whose numbers are `col_step` apart and which follow each other.
  void pack_columns(std::byte* group, const float* from, int64_t col_step, int64_t n_rows,
                    int64_t k) const;
  int64_t scratch_bytes(int64_t k) const { return group_rows() * row_bytes(k); }

 private:
  bool has_pairs() const { return kernel_->act == ActFormat::bf16; }
  void round(float* numbers, int64_t n) const;

  const GemmKernel* kernel_;
  void (*to_bf16_)(const float* x, uint16_t* out, int64_t n) = nullptr;  // null: nothing is rounded
};

}  // namespace ruv
