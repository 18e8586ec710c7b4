// Logarithms are rounded to float32 where the published models round them: a bucket that begins a
// distance earlier or later would change every score there.
#include "model/relative_plan.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "model/hparams.h"

namespace ruv {
namespace {

constexpr int64_t kT5Distance = 128;  // from here on the last bucket counts
constexpr int64_t kMaxSpan = 1 << 15;
constexpr int64_t kMaxReach = 1 << 17;  // above the rows of any text

float rounded_log(double x) { return static_cast<float>(exact_log(x)); }

// The columns of all distances up to the reach, beyond which both ends stay as they are.
template <class ColumnOf>
std::vector<int32_t> columns_of(int64_t reach, const ColumnOf& column_of) {
  std::vector<int32_t> columns;
  columns.reserve(static_cast<size_t>(2 * reach + 1));
  for (int64_t distance = -reach; distance <= reach; ++distance) {
    columns.push_back(static_cast<int32_t>(column_of(distance)));
  }
  return columns;
}

Result<RelativePlan> read_numbers(const ModelFile& file, bool causal) {
  constexpr std::string_view kCount = "attention.relative_buckets_count";
  constexpr std::string_view kReach = "attention.relative_max_distance";
  RelativePlan plan{.kind = Distances::numbers, .n_columns = 32};
  if (file.find(kCount) != nullptr) plan.n_columns = TRY(read_dimension(file, kCount));
  int64_t reach = kT5Distance;
  if (file.find(kReach) != nullptr) reach = TRY(read_dimension(file, kReach));
  if (plan.n_columns < 4 || plan.n_columns > kMaxSpan || plan.n_columns % 2 != 0) {
    return fail(Code::unsupported, "{}: '{}' = {}; an even number from 4 to {} is supported",
                file.path(), file.shown_key(kCount), plan.n_columns, kMaxSpan);
  }
  // Single distances take half of the buckets of a decoder.
  if (reach <= plan.n_columns / 2 || reach > kMaxSpan) {
    return fail(Code::unsupported, "{}: '{}' = {} of {} buckets is out of range", file.path(),
                file.shown_key(kReach), reach, plan.n_columns);
  }
  plan.columns = columns_of(reach, [&](int64_t distance) {
    return causal ? t5_bucket_before(distance, plan.n_columns, reach)
                  : t5_bucket(distance, plan.n_columns, reach);
  });
  return plan;
}

Result<RelativePlan> read_products(const ModelFile& file) {
  constexpr std::string_view kReach = "attention.relative_positions";
  constexpr std::string_view kBuckets = "attention.relative_buckets_count";
  RelativePlan plan{.kind = Distances::products,
                    .by_query = TRY(truth_or(file, "attention.content_to_position", false)),
                    .by_key = TRY(truth_or(file, "attention.position_to_content", false)),
                    .shares_matrices = TRY(truth_or(file, "attention.shared_positions", false)),
                    .norms_rows = TRY(truth_or(file, "attention.normed_positions", false))};
  const bool has_buckets = file.find(kBuckets) != nullptr;
  const int64_t most = TRY(read_dimension(file, kReach));
  const int64_t span = has_buckets ? TRY(read_dimension(file, kBuckets)) : most;
  if (span > kMaxSpan || (has_buckets && (most - 1 <= span / 2 || span < 2))) {
    return fail(Code::unsupported, "{}: '{}' = {} is out of range for {} positions", file.path(),
                file.shown_key(has_buckets ? kBuckets : kReach), span, most);
  }
  plan.n_columns = 2 * span;
  const auto column_of = [&](int64_t distance) {
    const int64_t bucket = has_buckets ? log_bucket(distance, span, most) : distance;
    return std::clamp<int64_t>(bucket + span, 0, 2 * span - 1);
  };
  int64_t reach = span;
  while (reach < kMaxReach && (column_of(reach) < 2 * span - 1 || column_of(-reach) > 0)) ++reach;
  plan.columns = columns_of(reach, column_of);
  return plan;
}

}  // namespace

int64_t t5_bucket_before(int64_t n, int64_t n_buckets, int64_t most) {
  const int64_t n_single = n_buckets / 2;
  if (n < n_single) return std::max<int64_t>(n, 0);
  const auto ratio = static_cast<float>(n) / static_cast<float>(n_single);
  const auto all =
      static_cast<float>(exact_log(static_cast<double>(most) / static_cast<double>(n_single)));
  const float share = rounded_log(double{ratio}) / all;
  const auto above = static_cast<int64_t>(share * static_cast<float>(n_buckets - n_single));
  return std::min(n_single + above, n_buckets - 1);
}

int64_t t5_bucket(int64_t distance, int64_t n_buckets, int64_t most) {
  const int64_t half = n_buckets / 2;
  return distance < 0 ? half + t5_bucket_before(-distance, half, most)
                      : t5_bucket_before(distance, half, most);
}

int64_t log_bucket(int64_t distance, int64_t span, int64_t most) {
  const int64_t middle = span / 2;
  const int64_t n = distance < 0 ? -distance : distance;
  if (n <= middle) return distance;
  const auto unit = static_cast<float>(middle);
  const auto all = static_cast<float>(static_cast<double>(most - 1) / static_cast<double>(middle));
  const float share = rounded_log(double{static_cast<float>(n) / unit}) / rounded_log(double{all});
  const auto bucket =
      static_cast<int64_t>(std::ceil(share * static_cast<float>(middle - 1)) + unit);
  return distance < 0 ? -bucket : bucket;
}

Result<RelativePlan> read_relative(const ModelFile& file, const FamilyRecord& family, bool causal) {
  switch (family.block.distances) {
    case Distances::none:
      break;
    case Distances::numbers:
      return read_numbers(file, causal);
    case Distances::products:
      if (!TRY(truth_or(file, "attention.relative", true))) break;
      return read_products(file);
  }
  return RelativePlan();
}

}  // namespace ruv
