// convert_to_folder: a GGUF file as a folder that transformers loads: config.json, safetensors, the
// tokenizer's files. What is written is read by this program's own readers before any weights are
// copied, and compared with the file key by key and tensor by tensor: what would not be the same
// model is refused, and nothing is written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace ruv {

// One tensor about to be written.
struct FolderStep {
  std::string_view tensor;
  int64_t index = 0;  // of n_tensors
  int64_t n_tensors = 0;
  uint64_t bytes_done = 0;  // before it
  uint64_t n_bytes = 0;     // of all tensors
};

struct FolderOptions {
  int n_threads = 0;  // 0: one per core
  // Above 0: the most that a file takes, unless one tensor is larger; else all are in one.
  uint64_t shard_bytes = 0;
  // The type of tensors whose numbers are in blocks: f32, f16 or bf16; nothing: they are refused.
  std::optional<DType> dequantized = {};
  // Allows replacing a folder at out_path that has a config.json.
  bool replace = false;
  // Called before each tensor; false stops with Code::cancelled.
  std::function<bool(const FolderStep&)> on_tensor = {};
};

struct WrittenFolder {
  std::string model_class;            // "LlamaForCausalLM"
  int64_t n_tensors = 0;              // of the folder
  uint64_t n_bytes = 0;               // that they take
  int64_t n_files = 0;                // that hold them
  std::vector<std::string> left_out;  // keys of the file that say nothing of what it computes
};

// Writes the GGUF file at in_path to a new folder, under the name "<out_path>.partial" until it is
// complete. Its memory grows with the largest row and the tables, not with the model. Fails:
// unsupported (a family whose folders are not written, a key or tensor without a place in one, a
// tokenizer that has no such files), invalid (the folder may not be replaced, numbers too large for
// their type), corrupt, cancelled, and as opening and writing files do.
Result<WrittenFolder> convert_to_folder(const std::string& in_path, const std::string& out_path,
                                        const FolderOptions& options = {});

}  // namespace ruv
