// quantize_model: converts a model file to a GGUF file of another type, tensor by tensor, so that
// memory use does not grow with the model.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "format/importance.h"
#include "format/model_file.h"
#include "format/tensor_rules.h"
#include "tensor/encoder_version.h"

namespace ruv {

// One tensor about to be written.
struct QuantizeStep {
  std::string_view tensor;
  DType from;
  DType to;
  int64_t index = 0;  // of n_tensors
  int64_t n_tensors = 0;
  uint64_t bytes_in = 0;  // of this tensor
  uint64_t bytes_out = 0;
};

// What a tensor lost: errors over numbers, as root mean squares.
struct QuantizeLoss {
  std::string_view tensor;
  DType to;
  double relative = 0;  // every number counts the same
  double weighted = 0;  // numbers count by the importance of their columns
};

struct QuantizeOptions {
  int n_threads = 0;  // 0: one per core
  // What an error at a column counts; null: not known. Must outlive the call.
  const Importance* importance = nullptr;
  std::string importance_path = {};  // is written into the result's metadata
  // What tensors get in place of the type's mix; the first rule that fits a name holds.
  std::vector<TensorRule> rules = {};
  // Above 0: formats are chosen so that all tensors take at most this many bytes and the loss that
  // is expected is small (format/quant_budget.h), in place of the type's mix. Rules hold first.
  uint64_t tensor_bytes = 0;
  // Allows decoding and quantising tensors that are quantised already, which adds both errors.
  bool requantize = false;
  // Allows replacing a regular file at out_path, unless it is part of the input.
  bool replace = false;
  // What was written before a crash or Code::cancelled stays as "<out_path>.partial", and the same
  // call continues from there (FileTarget::resumable). Any other failure removes it. What another
  // call left is begun anew: of another model, type or importance, or of other encoders.
  bool resumable = false;
  // Called once where what was left is begun anew.
  std::function<void()> on_begun_anew = {};
  // Is written into the result's metadata. Another one than the program's is for tests.
  uint32_t encoder_version = kEncoderVersion;
  // Called before each tensor; false stops with Code::cancelled.
  std::function<bool(const QuantizeStep&)> on_tensor = {};
  // Called after each quantised tensor; measuring decodes what was written, a few percent of the
  // time.
  std::function<void(const QuantizeLoss&)> on_loss = {};
  // Called with the name of each quantised tensor that `importance` says nothing of.
  std::function<void(std::string_view)> on_missing = {};
};

// What the tensors of a file would take, without reading their numbers.
struct QuantizeSizes {
  int64_t n_tensors = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  int64_t n_weights = 0;  // numbers of all tensors
};
// Fails: as quantize_model does before it writes.
Result<QuantizeSizes> quantized_sizes(const ModelFile& in, std::string_view type_name,
                                      const QuantizeOptions& options);

// Writes `in` to out_path with weights of type `type_name` (quant_types() lists them; quant_mix.h
// says what each tensor gets). The result is complete, with metadata, tokenizer and chat template,
// and its bytes do not depend on n_threads. Fails: invalid (unknown type; a tensor is quantised
// already; a rule fits no tensor, or its format not the rows; importance is of another size, or
// lacks a tensor of a type that needs it; the budget is too small; numbers too large for the type;
// the file at out_path may not be overwritten), corrupt (a tensor holds infinities or NaN),
// cancelled, and as opening and writing files do.
Status quantize_model(const ModelFile& in, std::string_view type_name, const std::string& out_path,
                      const QuantizeOptions& options = {});

}  // namespace ruv
