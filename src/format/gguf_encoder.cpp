// Readers of GGUF files expect the row of the first position first, and count token types under a
// key of the tokenizer.
#include "format/gguf_encoder.h"

#include <algorithm>

namespace ruv {

Status adapt_encoder_tensor(const ModelFile& model, ExportTensor& tensor) {
  constexpr std::string_view kOffset = "position_offset";
  if (tensor.name != "position_embd.weight" || model.find(kOffset) == nullptr) return {};
  const int64_t first = TRY(model.integer(kOffset));
  if (tensor.shape.size() != 2 || first < 0 || first >= tensor.shape[0]) {
    return fail(Code::corrupt, "{}: tensor '{}' has no more than {} rows", model.path(),
                model.shown_tensor(tensor.name), first);
  }
  // The rows before the first position belong to padding and are left out.
  for (int64_t row = first; row < tensor.shape[0]; ++row) tensor.row_order.push_back(row);
  tensor.shape[0] -= first;
  return {};
}

bool is_said_by_tables(const ModelFile& model, std::string_view key) {
  if (key.ends_with(".context_length")) return model.find("position_offset") != nullptr;
  return key.ends_with(".position_offset") || key.ends_with(".token_type_count");
}

Status add_context_length(const ModelFile& model, GgufWriter& out) {
  constexpr std::string_view kLength = "context_length";
  if (model.find("position_offset") == nullptr) return {};
  const int64_t n = TRY(model.integer(kLength)), first = TRY(model.integer("position_offset"));
  if (first < 0 || n <= first || n - first > UINT32_MAX) {
    return fail(Code::corrupt, "{}: '{}' = {} leaves no positions after {}", model.path(),
                model.shown_key(kLength), n, first);
  }
  out.add_u32(fmt::format("{}.{}", model.architecture(), kLength),
              static_cast<uint32_t>(n - first));
  return {};
}

Status add_token_types(const ModelFile& model, GgufWriter& out) {
  constexpr std::string_view kCount = "token_type_count";
  if (model.find(kCount) == nullptr) return {};
  const int64_t n = TRY(model.integer(kCount));
  if (n < 0 || n > UINT32_MAX) {
    return fail(Code::corrupt, "{}: '{}' = {} is out of range", model.path(),
                model.shown_key(kCount), n);
  }
  // Readers want at least one, whether there is a table or not.
  out.add_u32("tokenizer.ggml.token_type_count", static_cast<uint32_t>(std::max<int64_t>(n, 1)));
  return {};
}

}  // namespace ruv
