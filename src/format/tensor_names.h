// Tensor names: one table says which name of a HuggingFace checkpoint is which name of a GGUF file,
// so that everything above sees GGUF names only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruv {

struct MappedName {
  std::string gguf;     // as given when no row of the table fits
  bool conv1d = false;  // stored (n_in, n_out) when it is a matrix: GPT-2's Conv1D
  bool mapped = false;
};

// The GGUF name of a HuggingFace tensor, for a GGUF architecture:
// "model.layers.3.mlp.up_proj.weight" is "blk.3.ffn_up.weight". Wrappers ("language_model.",
// "transformer.") are taken off first.
MappedName gguf_name_of(std::string_view hf_name, std::string_view architecture);
// The inverse, without wrappers; nothing when no row fits.
std::optional<std::string> hf_name_of(std::string_view gguf_name, std::string_view architecture);
// Tensors of checkpoints that no decoder needs: rotary frequencies, causal masks, vision parts.
bool is_ignored_hf_tensor(std::string_view hf_name);

// A name from a file made safe to quote in an error: valid UTF-8 without control characters, at
// most about 100 bytes.
std::string quoted_name(std::string_view name);

}  // namespace ruv
