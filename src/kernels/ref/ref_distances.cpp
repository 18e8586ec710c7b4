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

void dot_int4(const int8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  each_vector(rows, n_rows, n / 2, [&](const uint8_t* row, int64_t i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const uint8_t both = row[j / 64 * 32 + j % 32];
      sum += query[j] * ((j % 64 < 32 ? both & 15 : both >> 4) - 8);
    }
    out[i] = sum;
  });
}

}  // namespace

constinit const DistanceKernels kRefDistances = [] {
  DistanceKernels table = distance_table<Plain>("ref");
  table.dot_int8 = dot_int8;
  table.dot_int4 = dot_int4;
  return table;
}();

}  // namespace ruv
