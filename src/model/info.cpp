// What a loaded model is, in numbers.
#include <map>

#include "base/file.h"
#include "device/packing.h"
#include "model/model.h"

namespace ruv {

ModelInfo model_info(const Model& model) {
  ModelInfo info;
  info.name = model.file->text("general.name").value_or(file_name_of(model.file->path()));
  info.architecture = model.family->name;
  info.isa = model.device->packing().name();
  info.n_layers = model.h.n_layers;
  info.n_embd = model.h.n_embd;
  info.n_heads = model.h.n_heads;
  info.n_kv_heads = model.h.n_kv_heads;
  info.head_dim = model.h.head_dim;
  info.n_ff = model.h.n_ff;
  info.n_experts = model.h.n_experts;
  info.n_experts_used = model.h.n_experts_used;
  info.n_vocab = model.h.n_vocab;
  info.n_ctx_train = model.h.n_ctx_train;
  info.kv_bytes_per_token = model.cache_layout().bytes_per_token();
  info.from_packed_file = model.from_packed_file;
  info.has_tokenizer = model.tokenizer != nullptr;
  info.has_chat_template = model.chat_template != nullptr;
  info.sampling = model.sampling;
  info.defaults = model.defaults;
  info.remarks = model.remarks;

  std::map<DType, int64_t> bytes_by_type;
  for (const TensorInfo& tensor : model.file->tensors()) {
    info.n_params += tensor.n_elements();
    bytes_by_type[tensor.dtype] += tensor.n_bytes();
  }
  int64_t most = -1;
  for (const auto& [dtype, bytes] : bytes_by_type) {
    if (bytes > most) info.format = format_of(dtype).name;
    most = std::max(most, bytes);
  }
  info.weight_bytes = model.output.n_bytes();
  info.weight_bytes_per_token = model.output.n_bytes();
  if (model.head != nullptr) {
    info.weight_bytes += model.head->join.n_bytes() + model.head->output.n_bytes();
    for (const ParallelHead& one : model.head->parallel) {
      info.weight_bytes += one.output.n_bytes();
      for (const Linear& block : one.blocks) info.weight_bytes += block.weight.n_bytes();
    }
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const bool repeats = i > 0 && model.plans[i].tensors == model.plans[i - 1].tensors;
    for (const RoleRow& row : role_rows()) {
      int64_t n_bytes = 0;
      const auto matrices = model.layers[i][row.role].matrices();
      for (const Weight& weight : matrices) n_bytes += weight.n_bytes();
      if (!repeats) info.weight_bytes += n_bytes;
      if (matrices.empty() || std::cmp_equal(i, model.h.n_layers)) continue;  // the head's
      info.weight_bytes_per_token +=
          n_bytes / std::ssize(matrices) * model.plans[i].n_matrices_used(row.role);
    }
  }
  return info;
}

}  // namespace ruv
