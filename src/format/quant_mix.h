// QuantType: the name that a user gives when quantising a model ("q4_k_m"), and the format that
// each tensor then gets. Tensors that matter more for their size get more bits. The mixes and
// fallbacks are those of llama.cpp, so that files of one name have the same quality everywhere.
#pragma once

#include <span>
#include <string_view>

#include "tensor/format.h"

namespace ruv {

enum class MixSize : uint8_t { none, tiny, small, medium, large };

struct QuantType {
  const char* name;
  DType base;
  MixSize mix;
  uint32_t file_type;  // the number of general.file_type
};

// Every type that quantize_model can write. The names of K types with a size are also accepted
// without it, meaning _m, and mxfp4_moe as mxfp4.
std::span<const QuantType> quant_types();
// Null for unknown names.
const QuantType* find_quant_type(std::string_view name);

// The facts that the mixes depend on besides a tensor's name.
struct MixFacts {
  int64_t n_layers = 0;
  int64_t n_experts = 0;
  int64_t heads_per_kv_head = 1;
  bool tied_embeddings = false;  // no "output.weight": the token embedding is also the output
  bool has_importance = false;   // columns have an importance (an "imatrix")
};

// True for matrices that a multiplication reads row by row. Norms, biases, positions, filters and
// the expert gate stay float32. `n_dims` counts the dimensions of the tensor.
bool is_quantizable(std::string_view name, size_t n_dims);

// The format of a quantisable tensor whose rows have `n_columns` numbers.
DType mixed_format(const QuantType& type, std::string_view name, int64_t n_columns,
                   const MixFacts& facts);

// True where a tensor of so few bits is too bad to be written without knowing which columns matter:
// formats below three bits and IQ3_XXS, but for the token embedding and the output.
bool needs_importance(const QuantType& type, std::string_view name, DType dtype);

}  // namespace ruv
