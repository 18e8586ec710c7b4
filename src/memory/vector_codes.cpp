// Names as headers of indexes and users have them, and which codes fit which distances.
#include "memory/vector_codes.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

constexpr std::array<std::string_view, 6> kCodeNames = {"none", "int8",   "f16",
                                                        "int4", "binary", "product"};
constexpr std::array<std::string_view, 4> kMetricNames = {"l2", "cosine", "dot", "manhattan"};

// Fewer signs cannot tell vectors from each other.
constexpr int64_t kLeastSigns = 64;

}  // namespace

std::string_view name_of(VectorCodes codes) { return kCodeNames[static_cast<size_t>(codes)]; }

Result<VectorCodes> vector_codes_of(std::string_view name) {
  const auto found = std::ranges::find(kCodeNames, name);
  if (found != kCodeNames.end()) return static_cast<VectorCodes>(found - kCodeNames.begin());
  return fail(Code::invalid,
              "there are no codes \"{}\"; there are none, int8, f16, int4, binary and product",
              name);
}

Status check(VectorCodes codes, Metric metric, int64_t n_dims) {
  const bool has_products = codes == VectorCodes::int8 || codes == VectorCodes::int4;
  if (metric == Metric::manhattan && (has_products || codes == VectorCodes::binary)) {
    return fail(Code::unsupported,
                "distances by manhattan cannot be had of {} codes; f16 and product have them",
                name_of(codes));
  }
  if (codes == VectorCodes::binary && n_dims < kLeastSigns) {
    return fail(Code::unsupported, "binary codes of {} numbers tell too little; {} at least",
                n_dims, kLeastSigns);
  }
  return {};
}

std::string_view name_of(Metric metric) { return kMetricNames[static_cast<size_t>(metric)]; }

Result<Metric> metric_of(std::string_view name) {
  const auto found = std::ranges::find(kMetricNames, name);
  if (found != kMetricNames.end()) return static_cast<Metric>(found - kMetricNames.begin());
  return fail(Code::invalid, "there is no metric \"{}\"; there are l2, cosine, dot and manhattan",
              name);
}

}  // namespace ruv
