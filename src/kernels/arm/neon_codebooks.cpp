// Matmul on NEON for codebooks, ternary digits and four-bit floats.
#include "kernels/arm/neon.inc.h"
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<Neon>();

}  // namespace

constinit const GemmTable kNeonCodebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
