// What ruv_bench_ablation measures of one weight format on one instruction set.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace ruv {

// A kernel's row and the same row with work left out. All take what GemmKernel::run takes.
struct AblationRow {
  GemmKernel kernel;
  void (*read)(const GemmArgs& args);    // only loads the packed weights
  void (*unpack)(const GemmArgs& args);  // loads and unpacks them, without products
  // The products of one panel of weights, unpacked beforehand, with args.n_rows rows, `rounds`
  // times: all of it in the first-level cache. Returns the multiply-adds; 0: there are no panels.
  int64_t (*multiply_panel)(const GemmArgs& args, int64_t rounds);
};

struct AblationTable {
  const AblationRow* rows;
  int n;
};

extern const AblationTable kAvx2Ablation, kAvx512Ablation;

}  // namespace ruv
