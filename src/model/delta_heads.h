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
  // Each channel of a key decays by itself. Decays and the gate, whose sigmoid counts, are made of
  // rows as narrow as a head.
  bool by_channel = false;

  // Numbers of a row's queries, keys and values together.
  int64_t n_qkv() const { return 2 * n_keys * key_dim + n_inner(); }
  int64_t n_inner() const { return n_values * value_dim; }
  // Decays of a row.
  int64_t n_decays() const { return by_channel ? n_values * key_dim : n_values; }
  // Numbers in the matrices that a layer keeps.
  int64_t n_state() const { return n_values * key_dim * value_dim; }
};

// Fails: not_found, corrupt (out of range, or counts that do not divide each other), naming keys.
Result<DeltaHeads> read_delta_heads(const ModelFile& file);

}  // namespace ruv
