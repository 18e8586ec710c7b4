// Matmul on NEON with matrix instructions for codebooks, ternary digits and four-bit floats.
#include "kernels/arm/neon_i8mm.inc.h"
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<NeonI8mm>();

}  // namespace

constinit const GemmTable kNeonI8mmCodebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
