// The tables of the instruction sets, before dispatch merges them. Each object file built with
// special compiler flags defines exactly one of these symbols and nothing else the linker could
// hand to the rest of the program (tools/check_isa_symbols).
#pragma once

#include "kernels/kernels.h"

namespace ruv {

struct GemmTable {
  const GemmKernel* rows;
  int n;
};

// Together complete but for `gemm`, which comes from ref_gemm().
extern const Kernels kRefVectors, kRefBytes;

// Kernels in floats, and attention over pages of integers; `gemm` is empty, and what both leave
// null is inherited from the reference. AVX-512 with VNNI and without differ in integers only.
extern const Kernels kAvx2Vectors, kAvx2Bytes;
extern const Kernels kAvx512Vectors, kAvx512BwBytes, kAvx512Bytes;
extern const Kernels kNeonVectors, kNeonBytes;

// AVX-VNNI takes the rest of its table from AVX2, I8MM from NEON.
struct NamedPeak {
  const char* isa;
  int64_t (*int8_peak)(int64_t rounds, int32_t* sink);
};
extern const NamedPeak kAvxVnniPeak, kNeonI8mmPeak;

// What AVX512-BF16 changes of the table of AVX-512.
struct Bf16Pairs {
  GemmTable gemm;
  void (*to_bf16)(const float* x, uint16_t* out, int64_t n);
  int64_t (*bf16_peak)(int64_t rounds, float* sink);
};
extern const Bf16Pairs kAvx512Bf16;

// Matmul kernels by family: float weights, 32-number blocks, 256-number super-blocks, codebooks.
extern const GemmTable kAvx2Floats, kAvx2Blocks, kAvx2Superblocks, kAvx2Codebooks;
extern const GemmTable kAvxVnniBlocks, kAvxVnniSuperblocks, kAvxVnniCodebooks;
extern const GemmTable kAvx512BwBlocks, kAvx512BwSuperblocks, kAvx512BwCodebooks;
extern const GemmTable kAvx512Floats, kAvx512Blocks, kAvx512Superblocks, kAvx512Codebooks;
extern const GemmTable kNeonFloats, kNeonBlocks, kNeonSuperblocks, kNeonCodebooks;
extern const GemmTable kNeonI8mmBlocks, kNeonI8mmSuperblocks, kNeonI8mmCodebooks;

}  // namespace ruv
