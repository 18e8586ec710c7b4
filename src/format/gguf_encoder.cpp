// Readers of GGUF files expect the row of the first position first, and count token types under a
// key of the tokenizer.
#include "format/gguf_encoder.h"

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

bool is_said_by_tables(std::string_view key) {
  return key.ends_with(".position_offset") || key.ends_with(".token_type_count");
}

Status add_token_types(const ModelFile& model, GgufWriter& out) {
  constexpr std::string_view kCount = "token_type_count";
  if (model.find(kCount) == nullptr) return {};
  const int64_t n = TRY(model.integer(kCount));
  if (n < 0 || n > UINT32_MAX) {
    return fail(Code::corrupt, "{}: '{}' = {} is out of range", model.path(),
                model.shown_key(kCount), n);
  }
  out.add_u32("tokenizer.ggml.token_type_count", static_cast<uint32_t>(n));
  return {};
}

}  // namespace ruv
