// MatrixMemoryPlan: the sizes of a layer with a matrix memory (mLSTM), which has in the place of
// attention
//   q, k, v, gate, i, f of h;  i and f capped;  x = norm(matrix_memory(q, k, v, i, f))
//   out of σ(gate) · x
// where the norm is a layer norm of each head, with weights of its own.
#pragma once

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

struct MatrixMemoryPlan {
  int64_t n_heads = 0;  // 0: there is none
  int64_t key_dim = 0;  // of a head
  int64_t value_dim = 0;
  float gate_cap = 0;  // i and f are cap · tanh(x / cap)
  float eps = 0;       // added to what a head's result is divided by

  bool exists() const { return n_heads > 0; }
  int64_t n_keys() const { return n_heads * key_dim; }
  int64_t n_inner() const { return n_heads * value_dim; }
  // Numbers that a layer keeps.
  int64_t n_state() const { return n_heads * (key_dim * value_dim + key_dim + 1); }
};

// Nothing for families without one. Fails: not_found, corrupt, naming the key.
Result<MatrixMemoryPlan> read_matrix_memory(const ModelFile& file, const FamilyRecord& family);

}  // namespace ruv
