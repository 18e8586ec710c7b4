// Matmul on AVX-VNNI for codebooks, ternary digits and four-bit floats.
#include "kernels/generic/codebooks.inc.h"
#include "kernels/isa.h"
#include "kernels/x86/avxvnni.inc.h"

namespace ruv {
namespace {

constexpr auto kRows = codebook_rows<AvxVnni>();

}  // namespace

constinit const GemmTable kAvxVnniCodebooks = {kRows.data(), kCodebookRows};

}  // namespace ruv
