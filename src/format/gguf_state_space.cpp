// Vectors of heads become columns, and a norm's weights a row for each group: readers of GGUF files
// multiply them as they are. The key heads' factor and those of attention's input are one factor of
// the keys' matrix, so that a file's tensors say all of a model.
#include "format/gguf_state_space.h"

#include <array>
#include <span>

#include "format/tensor_names.h"

namespace ruv {
namespace {

Status check_count(const ModelFile& model, const TensorInfo& info, int64_t n) {
  if (info.n_elements() == n) return {};
  return fail(Code::corrupt, "{}: tensor '{}' has {} numbers, expected {}", model.path(),
              quoted_name(model.shown_tensor(info.name)), info.n_elements(), n);
}

ExportTensor as_stored(const TensorInfo& info) {
  return {.name = info.name, .shape = info.shape, .parts = {&info}};
}

// What a config multiplies by; ones where it says nothing.
struct ScanScales {
  std::array<float, 2> attention = {1, 1}, ff = {1, 1};
  std::array<float, 7> scan = {1, 1, 1, 1, 1, 1, 1};
  float key = 1, embedding = 1, logits = 1;
};

// One number or an array of as many as there is room for; others are left as they are.
void take(const ModelFile& model, std::string_view key, std::span<float> to) {
  const MetaValue* const value = model.find(key);
  if (value == nullptr) return;
  if (const double* const number = std::get_if<double>(value)) to[0] = static_cast<float>(*number);
  const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(value);
  if (array == nullptr || (*array)->numbers.size() != to.size()) return;
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>((*array)->numbers[i]);
}

ScanScales scales_of(const ModelFile& model) {
  ScanScales s;
  take(model, "attention.scales", s.attention);
  take(model, "feed_forward.scales", s.ff);
  take(model, "ssm.scales", s.scan);
  take(model, "attention.key_scale", {&s.key, 1});
  take(model, "embedding_scale", {&s.embedding, 1});
  take(model, "logit_scale", {&s.logits, 1});
  return s;
}

// Rows of z, x, b, c and steps. What h is multiplied by, biases are not.
Status scale_inputs(const ModelFile& model, const TensorInfo& info, const ScanScales& s,
                    ExportTensor& tensor) {
  const int64_t n_inner = TRY(model.integer("ssm.inner_size"));
  const int64_t n_heads = TRY(model.integer("ssm.time_step_rank"));
  const int64_t n_bc = TRY(model.integer("ssm.group_count")) * TRY(model.integer("ssm.state_size"));
  const std::array<int64_t, 5> counts = {n_inner, n_inner, n_bc, n_bc, n_heads};
  int64_t n = 0;
  for (const int64_t count : counts) n += count;
  if (info.shape.empty() || info.shape[0] != n) {
    return fail(Code::corrupt, "{}: tensor '{}' has not the {} rows of the config", model.path(),
                quoted_name(model.shown_tensor(info.name)), n);
  }
  const float of_all = info.name.ends_with(".weight") ? s.scan[0] : 1.0F;
  for (size_t part = 0; part < counts.size(); ++part) {
    tensor.row_factors.insert(tensor.row_factors.end(), static_cast<size_t>(counts[part]),
                              of_all * s.scan[2 + part]);
  }
  return {};
}

// The tensor with its factors, and the output matrix of a file that has only the embedding.
Result<std::vector<ExportTensor>> scaled_tensor(const ModelFile& model, const TensorInfo& info) {
  const ScanScales s = scales_of(model);
  ExportTensor tensor = as_stored(info);
  std::vector<ExportTensor> out;
  struct Row {
    std::string_view ending;
    float factor;
  };
  const Row rows[] = {{".attn_q.weight", s.attention[0]},
                      {".attn_k.weight", s.attention[0] * s.key},
                      {".attn_k.bias", s.key},
                      {".attn_v.weight", s.attention[0]},
                      {".attn_output.weight", s.attention[1]},
                      {".attn_output.bias", s.attention[1]},
                      {".ssm_out.weight", s.scan[1]},
                      {".ssm_out.bias", s.scan[1]},
                      {".ffn_gate.weight", s.ff[0]},
                      {".ffn_gate.bias", s.ff[0]},
                      {".ffn_down.weight", s.ff[1]},
                      {".ffn_down.bias", s.ff[1]}};
  for (const Row& row : rows) {
    if (info.name.ends_with(row.ending)) tensor.factor = row.factor;
  }
  if (info.name == "output.weight") tensor.factor = s.logits;
  if (info.name == "token_embd.weight") {
    tensor.factor = s.embedding;
    if (model.find_tensor("output.weight") == nullptr && s.logits != s.embedding) {
      out.push_back(as_stored(info));
      out.back().name = "output.weight";
      out.back().factor = s.logits;
    }
  }
  const std::string_view name = info.name;
  if (name.ends_with(".ssm_in.weight") || name.ends_with(".ssm_in.bias")) {
    TRY(scale_inputs(model, info, s, tensor));
  }
  const bool changes = tensor.factor != 1 || !tensor.row_factors.empty() || !out.empty();
  if (changes) out.push_back(std::move(tensor));
  return out;
}

}  // namespace

bool has_scales_in_weights(const ModelFile& model) {
  return model.family() != nullptr && model.container() != "gguf" &&
         model.family()->block.mixers == Mixers::state_and_attention;
}

Result<std::vector<ExportTensor>> export_state_tensor(const ModelFile& model,
                                                      const TensorInfo& info) {
  const FamilyRecord* const family = model.family();
  std::vector<ExportTensor> out;
  if (family == nullptr || family->block.state_space == StateSpace::none) return out;
  const bool by_head = family->block.state_space == StateSpace::heads;
  ExportTensor tensor = as_stored(info);
  const bool is_rate = info.name.ends_with(".ssm_a");
  if (is_rate || (by_head && info.name.ends_with(".ssm_d"))) {
    tensor.minus_exp = is_rate;
    if (by_head) tensor.shape = {info.n_elements(), 1};
    out.push_back(std::move(tensor));
    return out;
  }
  if (by_head && info.name.ends_with(".ssm_norm.weight")) {
    const int64_t n_groups = TRY(model.integer("ssm.group_count"));
    const int64_t n_inner = TRY(model.integer("ssm.inner_size"));
    TRY(check_count(model, info, n_inner));
    if (n_groups < 1 || n_inner % n_groups != 0) {
      return fail(Code::corrupt, "{}: '{}' {} does not divide {} columns", model.path(),
                  model.shown_key("ssm.group_count"), n_groups, n_inner);
    }
    tensor.shape = {n_groups, n_inner / n_groups};
    out.push_back(std::move(tensor));
    return out;
  }
  return has_scales_in_weights(model) ? scaled_tensor(model, info) : out;
}

}  // namespace ruv
