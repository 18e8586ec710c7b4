// Matmul on AVX-512 without VNNI for codebooks, ternary digits and four-bit floats.
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avx512bw.inc.h"
#include "kernels/x86/pair_panel.inc.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<Avx512Bw>();

}  // namespace

constinit const GemmTable kAvx512BwCodebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
