// Safetensors reader: the container of HuggingFace checkpoints, one file or shards named by an
// index (huggingface.co/docs/safetensors). One file is parsed from a span of bytes.
//
//   u64 header length | header, JSON: {"name": {"dtype", "shape", "data_offsets": [begin, end]}} |
//   data, without holes
#pragma once

#include "format/model_file.h"

namespace ruv {

struct SafetensorsTensor {
  std::string name;             // as in the file
  std::string_view dtype_name;  // static text: "BF16", …
  std::optional<DType> dtype;  // nothing for types the engine has no numbers for: "BOOL", "U8", …
  std::vector<int64_t> shape;  // rows first; empty for a scalar, lengths may be 0
  Bytes bytes;                 // inside the parsed span, of any alignment
  // Not null: its rows are made by this (TensorInfo::maker).
  std::shared_ptr<const RowMaker> maker = {};
};

// The tensors of one file in the order of their bytes. Fails: corrupt, unsupported (a dtype that is
// not in the format). Allocates a small multiple of the header's size, which is at most 100 MB.
Result<std::vector<SafetensorsTensor>> parse_safetensors(Bytes bytes, const std::string& source);

// Reads model.safetensors.index.json: a map from tensor name to the name of the file, in the same
// folder, that has it. Fails: corrupt, also for a file name that leaves the folder.
Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& source);

// A folder with config.json and model.safetensors, or shards and their index, as a ModelFile.
Result<std::unique_ptr<ModelFile>> open_safetensors(const std::string& folder,
                                                    const ModelFileOptions& options);

}  // namespace ruv
