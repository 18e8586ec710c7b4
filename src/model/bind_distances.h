// Weights of RelativePlan: what scores have added for distances.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

// The rows that keys and queries of distances are made of, (n_columns, n_embd), normalised where
// the plan says so. Without numbers where only shapes are wanted.
struct DistanceRows {
  std::vector<float> numbers;
  bool has_numbers = false;
};

// Numbers of each head for the distances of `plan`, from a table (at least n_columns, heads).
// Fails: as WeightSource::vector.
Result<Vector> bind_distance_table(const Model& model, const LayerPlan& plan,
                                   const std::string& name, WeightSource& source);
// Fails: as WeightSource::matrix.
Result<DistanceRows> read_distance_rows(const Model& model, WeightSource& source);
// The keys and queries of a layer. Costs n_columns · n_embd² products for each. Fails: as
// WeightSource::matrix.
Status bind_distances(const Model& model, int64_t layer, const DistanceRows& rows,
                      WeightSource& source, LayerWeights& weights);

}  // namespace ruv
