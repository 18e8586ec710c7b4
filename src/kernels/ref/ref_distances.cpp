// The meaning of distances, with no instruction set.
#include "kernels/distance_tables.h"
#include "kernels/generic/distances.inc.h"
#include "kernels/ref/plain.inc.h"

namespace ruv {
namespace {

void dot_int8(const int8_t* query, const int8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  each_vector(rows, n_rows, n, [&](const int8_t* row, int64_t i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += query[j] * row[j];
    out[i] = sum;
  });
}

}  // namespace

constinit const DistanceKernels kRefDistances = [] {
  DistanceKernels table = distance_table<Plain>("ref");
  table.dot_int8 = dot_int8;
  return table;
}();

}  // namespace ruv
