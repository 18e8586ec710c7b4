// A model's file written again as GGUF with some of its rows changed: tensor by tensor and some
// rows at a time, so that memory does not grow with the model.
#pragma once

#include <functional>
#include <span>

#include "format/gguf_export.h"

namespace ruv {

// A tensor with the format it gets.
struct WrittenTensor {
  ExportTensor tensor;
  DType from, to;
};
// The format that a tensor gets: `dtype` for a matrix that changes. Other matrices and integers
// keep theirs, norms and biases become float32, as quantize_model() has them.
WrittenTensor written_tensor(ExportTensor tensor, bool changes, DType dtype);

// What becomes of rows, by where the file has their bytes.
class RowChanges {
 public:
  virtual ~RowChanges() = default;
  virtual bool changes(const std::byte* row) const = 0;
  // Requires: changes(row); `numbers` are the row's.
  virtual Status apply(const std::byte* row, std::span<float> numbers) const = 0;
};

struct RewriteOptions {
  const RowChanges* rows = nullptr;  // null: none changes
  // A vector that comes last, and its name; empty: none.
  std::string_view last_name = {};
  std::span<const float> last = {};
  FileTarget target = {};
  // Called before each tensor with the share that is done; false stops with Code::cancelled.
  std::function<bool(double)> go_on = {};
};

// Writes metadata and tensors of `file` to `path`. Parts of the plan's tensors may have been
// replaced. Fails: invalid (a number that the format cannot hold), unsupported (a format that is
// not written), cancelled, and as export_metadata and FileWriter.
Status rewrite_model(const ModelFile& file, std::span<const WrittenTensor> plan,
                     const std::string& path, RewriteOptions options);

}  // namespace ruv
