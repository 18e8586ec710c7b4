// TensorNames: which name of a HuggingFace checkpoint is which name of a GGUF file, so that
// everything above sees GGUF names only. Most families share the usual names of transformers; a
// record says which of them it has, and may add its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "family/family.h"

namespace ruv {

struct MappedName {
  std::string gguf = {};   // as given when no row of the table fits
  std::string other = {};  // of the rows of another role in it; empty: there are none
  TensorName form = {};    // the row that fits
  bool mapped = false;
};

class TensorNames {
 public:
  // Null: the names that every family has.
  explicit TensorNames(const FamilyRecord* family, bool has_experts = true);

  // "model.layers.3.mlp.up_proj.weight" is "blk.3.ffn_up.weight". Wrappers ("language_model.",
  // "transformer.") are taken off first.
  MappedName gguf_of(std::string_view hf_name) const;
  // The inverse, without wrappers; nothing when no row fits.
  std::optional<std::string> hf_of(std::string_view gguf_name) const;

 private:
  std::vector<TensorName> names_;
  std::string_view prefix_, head_prefixes_;  // that names of a class without a head lack
};

// Whether files of the family may have layers that predict tokens further ahead, after the others.
bool may_predict_ahead(const FamilyRecord& family);
// The name that a tensor of such a layer of a checkpoint has where it is one of all layers, of
// which n_layers are before it; other names as they are.
std::string name_of_ahead(std::string_view hf_name, int64_t n_layers);

// Tensors of checkpoints that no decoder needs: rotary frequencies, causal masks, vision parts.
bool is_ignored_hf_tensor(std::string_view hf_name);

// A name from a file made safe to quote in an error: valid UTF-8 without control characters, at
// most about 100 bytes.
std::string quoted_name(std::string_view name);

}  // namespace ruv
