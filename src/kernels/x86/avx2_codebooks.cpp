// Matmul on AVX2 for codebooks, ternary digits and four-bit floats.
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx2.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<Avx2>();

}  // namespace

constinit const GemmTable kAvx2Codebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
