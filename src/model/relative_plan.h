// RelativePlan: which distances of query and key share a number, a key or a query of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

// Distances are counted from the query: its position less that of the key. They fall into columns:
// each of the small ones into its own, greater ones by their logarithm, and all beyond a reach into
// the last.
struct RelativePlan {
  Distances kind = Distances::none;
  int64_t n_columns = 0;
  std::vector<int32_t> columns = {};  // DistanceScores::columns
  // Distances::products: queries are multiplied by keys of distances, keys by queries of them; and
  // these are made by the layer's own matrices for keys and queries.
  bool by_query = false, by_key = false;
  bool shares_matrices = false;
  bool norms_rows = false;  // the rows that they are made of are normalised

  bool exists() const { return n_columns > 0; }
};

// Buckets of T5 (Raffel et al., 2020) for both directions: half of them for keys after the query,
// and of each half one half for single distances, the others up to `most`. Requires: n of 4 or
// more.
int64_t t5_bucket(int64_t distance, int64_t n_buckets, int64_t most);
// The same where no key is after the query: one half of all buckets for single distances.
int64_t t5_bucket_before(int64_t distance, int64_t n_buckets, int64_t most);
// Buckets of DeBERTa (He et al., 2021), from -span to span: single distances below half of it, then
// by the logarithm, so that `most` - 1 has about the last one.
int64_t log_bucket(int64_t distance, int64_t span, int64_t most);

// `causal`: no row sees a key after it. Fails: unsupported, corrupt (numbers out of range), naming
// the key.
Result<RelativePlan> read_relative(const ModelFile& file, const FamilyRecord& family, bool causal);

}  // namespace ruv
