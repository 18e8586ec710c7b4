// DeltaHeads: the heads of a layer of linear attention by the gated delta rule, which several
// layers of a model have alike.
#pragma once

#include "format/model_file.h"

namespace ruv {

struct DeltaHeads {
  int64_t n_keys = 0;    // heads of queries and keys
  int64_t n_values = 0;  // heads of values, a multiple of it
  int64_t key_dim = 0;   // of a head
  int64_t value_dim = 0;
  float beta_scale = 1;
  bool tiled = false;  // value head h has key head h mod n_keys; else neighbours share one

  // Numbers of a row's queries, keys and values together.
  int64_t n_qkv() const { return 2 * n_keys * key_dim + n_inner(); }
  int64_t n_inner() const { return n_values * value_dim; }
  // Numbers in the matrices that a layer keeps.
  int64_t n_state() const { return n_values * key_dim * value_dim; }
};

// Fails: not_found, corrupt (out of range, or counts that do not divide each other), naming keys.
Result<DeltaHeads> read_delta_heads(const ModelFile& file);

}  // namespace ruv
