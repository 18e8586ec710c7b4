// StreamPlan: residual streams beside each other (AltUp, arXiv 2301.13310), of which each layer
// computes with one and corrects all. With c and d made of the active stream's row by a router,
//   predict  p_j = s_j + Σ_i c_ji s_i;  the layer reads p_active and makes y of it
//   correct  s_j = p_j + (1 + d_j) (y - p_active)
// and the layer's own input is added to all but the first. Beside attention is a product of low
// rank (LAuReL, arXiv 2411.07501), and the sum of both and the stream is divided by √2.
#pragma once

#include <cstdint>
#include <vector>

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

struct StreamPlan {
  int64_t n = 0;         // 0: one stream, without any of this
  int64_t active = 0;    // the one that layers compute with
  int64_t low_rank = 0;  // of the product beside attention
  // What makes a layer's own input is the active stream times weights of the layer.
  bool scales_active = true;

  bool exists() const { return n > 0; }
};

// Nothing for families without. Fails: not_found, corrupt, naming keys.
Result<StreamPlan> read_streams(const ModelFile& file, const FamilyRecord& family);
// By layer, where its feed-forward's gates are cut (Ops::cut_below), in standard deviations from
// their mean; -infinity: they are not. Requires: the family has streams. Fails: as above.
Result<std::vector<float>> read_gate_cuts(const ModelFile& file, int64_t n_layers);

}  // namespace ruv
