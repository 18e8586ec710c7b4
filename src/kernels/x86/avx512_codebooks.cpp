// Matmul on AVX-512 for codebooks, ternary digits and four-bit floats.
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512.inc.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<Avx512>();

}  // namespace

constinit const GemmTable kAvx512Codebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
