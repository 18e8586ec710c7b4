// CodedMatrix: what the quantised matrices of all tools have in common. A number is made of its own
// code and of the scale (and zero) of its group, which are neighbours in a row. Each scheme says
// where codes, scales and zeros lie; here they become blocks that hold exactly the same numbers:
//
//   integers, f16 scale    q4_0 where code − zero fits its levels, else a4, else q8_0
//   integers, otherwise    a4_f32, a8_f32
//   nf4, fp4               nf4, fp4
//   e2m1                   mxfp4 or nvfp4 where the scales are theirs, else e2m1
//   e4m3, e5m2             e4m3, e5m2
//   no whole groups in a block: f32 rows, which are right and take 4 bytes for each number
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "format/safetensors.h"

namespace ruv {

// The meaning of a code: integers are scale · (code − zero), the others scale · level.
enum class CodeKind : uint8_t { integer, nf4, fp4, e2m1, e4m3, e5m2 };

struct ZeroRange {
  int least = 0;
  int greatest = 0;
};

struct CodedMatrix {
  CodeKind kind = CodeKind::integer;
  int n_bits = 4;  // of integers: codes are below 2^n_bits, at most 8
  int64_t n_out = 0;
  int64_t n_in = 0;
  int64_t group = 0;  // columns under one scale; the last group of a row may be shorter
  // The group of each column, where groups are not neighbours; empty: column / group.
  std::vector<int32_t> group_of = {};
  int64_t n_groups = 0;  // of a row
  // What is known of all scales and zeros without reading them, so that blocks are chosen sooner.
  bool has_f16_scales = false;             // each scale is a number that f16 holds
  std::optional<ZeroRange> zeros_in = {};  // each zero is an integer in this range
  // Each writes what one row has: n_in codes, n_groups scales, n_groups zeros (integers only). They
  // are called from any number of threads; what they read outlives the matrix.
  std::function<void(int64_t row, uint8_t* to)> codes = {};
  std::function<void(int64_t row, float* to)> scales = {};
  std::function<void(int64_t row, float* to)> zeros = {};
};

// The format of blocks that hold the matrix; f32 where there is none. Reads scales and zeros row by
// row until no further one can change the choice. Safe to call from any thread.
DType blocks_for(const CodedMatrix& matrix);

// A tensor of the checkpoint made of the matrix. `codes`: the tensor that has the codes; `dtype`:
// blocks_for(matrix).
SafetensorsTensor tensor_of_codes(std::string name, const SafetensorsTensor& codes,
                                  CodedMatrix matrix, DType dtype);

}  // namespace ruv
