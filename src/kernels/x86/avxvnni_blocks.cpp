// AVX-VNNI matmul for the 32-number formats.
#include "kernels/generic/blocks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avxvnni.inc.h"

namespace ruv {
namespace {

// q8_0 with every number stored as value + 128.
void pack_q8_0_offset(std::byte* group, const std::byte* const* rows, int64_t k) {
  constexpr int64_t kBlockBytes = PackedQ8_0::kBlockVectors * 4 * AvxVnni::kLanes;
  constexpr int64_t kHeaderBytes = PackedQ8_0::kHeaderVectors * 4 * AvxVnni::kLanes;
  pack_group<DType::q8_0, AvxVnni::kLanes>(group, rows, k);
  for (int64_t block = 0; block < k / 32; ++block) {
    if (block % PackedQ8_0::kBlocksPerChunk == 0) group += kHeaderBytes;
    for (int64_t i = 0; i < kBlockBytes; ++i) group[i] ^= std::byte{0x80};
    group += kBlockBytes;
  }
}

constexpr GemmKernel kRows[] = {
    block_row<AvxVnni, Q4_0<AvxVnni>>(),
    block_row<AvxVnni, Q4_1<AvxVnni>>(),
    block_row<AvxVnni, Q5_0<AvxVnni>>(),
    block_row<AvxVnni, Q5_1<AvxVnni>>(),
    block_row_packed_by<AvxVnni, Q8_0<AvxVnni>>(pack_q8_0_offset),
    block_row<AvxVnni, Iq4Nl<AvxVnni>>(),
    block_row<AvxVnni, A4<AvxVnni>>(),
    block_row<AvxVnni, A4F32<AvxVnni>>(),
    block_row_packed_by<AvxVnni, A8F32<AvxVnni>>(pack_unsigned_a8_f32<AvxVnni::kLanes>),
};

}  // namespace

constinit const GemmTable kAvxVnniBlocks = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace ruv
