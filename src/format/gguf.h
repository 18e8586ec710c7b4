// GGUF reader, versions 2 and 3, little-endian (ggml docs/gguf.md). One file is parsed from a span
// of bytes, so tests and fuzzers need no file; open_gguf maps the file and its splits.
//
//   "GGUF" u32 version | u64 n_tensors | u64 n_entries | entries | tensor infos | padding | data
//   entry:       string key, u32 type, value          string: u64 length, bytes
//   array value: u32 element type, u64 n, elements
//   tensor info: string name, u32 n_dims, u64 dims[n_dims] innermost first, u32 type, u64 offset
#pragma once

#include "format/model_file.h"

namespace ruv {

struct GgufContents {
  uint32_t version = 0;
  uint64_t alignment = 32;
  MetaMap metadata;
  std::vector<TensorInfo> tensors;  // their bytes point into the parsed span
  // Tensors of a type that is not read, by name, with the reason (unsupported).
  std::map<std::string, Status, std::less<>> unread;
};

// Checks and reads everything except tensor data. Allocates at most a small multiple of the
// header's size. `source` is quoted in errors. Fails: corrupt, unsupported (version 1, big-endian,
// nested arrays).
Result<GgufContents> parse_gguf(Bytes bytes, const std::string& source);

// As ModelFile::open for one GGUF file, or the first of splits.
Result<std::unique_ptr<ModelFile>> open_gguf(const std::string& path,
                                             const ModelFileOptions& options);

}  // namespace ruv
