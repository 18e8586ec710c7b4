// GatedRecurrencePlan: the sizes of a layer with a gated linear recurrence (RG-LRU), which has in
// the place of attention
//   y, x of h;  x = conv(x);  gates of x, each head with a matrix of its own;
//   x = gated_recurrence(x, gates);  out of act(y) · x
#pragma once

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

struct GatedRecurrencePlan {
  int64_t n_columns = 0;  // of x and y; 0: there is none
  int64_t n_heads = 0;    // of the gates' matrices
  Act act = Act::gelu_tanh;

  bool exists() const { return n_columns > 0; }
  int64_t head_dim() const { return n_columns / n_heads; }
};

// Nothing for families without one. Fails: not_found, corrupt, naming the key.
Result<GatedRecurrencePlan> read_gated_recurrence(const ModelFile& file,
                                                  const FamilyRecord& family);

}  // namespace ruv
