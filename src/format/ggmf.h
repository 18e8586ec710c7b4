// Files of rwkv.cpp, the container "ggmf": the weights of RWKV models under the names they were
// trained with, in ggml's types. One file is parsed from a span of bytes.
//
//   "fmgg" u32 version (100, 101) | u32 n_vocab | u32 n_embd | u32 n_layers | u32 type | tensors
//   tensor: u32 n_dims, u32 name length, u32 type, u32 dims[n_dims] innermost first, name, data
//
// There is neither a table of tensors nor padding: the next one begins where the data ends.
#pragma once

#include "format/model_file.h"

namespace ruv {

struct GgmfContents {
  uint32_t version = 0;
  int64_t n_vocab = 0;
  int64_t n_embd = 0;
  int64_t n_layers = 0;
  std::vector<TensorInfo> tensors;  // with the names of the file; bytes point into the span
};

// Whether the first bytes are those of such a file.
bool looks_like_ggmf(Bytes bytes);

// Allocates at most a small multiple of the number of tensors. `source` is quoted in errors. Fails:
// corrupt, unsupported (another version, a type that is no longer one).
Result<GgmfContents> parse_ggmf(Bytes bytes, const std::string& source);

// As ModelFile::open for one such file; its tokenizer is what lies in the same folder. Fails also:
// unsupported (generations of RWKV whose tensors we do not know).
Result<std::unique_ptr<ModelFile>> open_ggmf(const std::string& path,
                                             const ModelFileOptions& options);

}  // namespace ruv
