#include "train/parameters.h"

#include <algorithm>

#include "model/role.h"

namespace ruv {
namespace {

void add_weight(std::vector<ModelPart>& parts, std::string name, const Weight& weight) {
  if (!weight.empty()) parts.push_back({std::move(name), &weight, nullptr});
}

void add_vector_part(std::vector<ModelPart>& parts, std::string name, const Vector& vector) {
  if (!vector.empty()) parts.push_back({std::move(name), nullptr, &vector});
}

void add_norm_parts(std::vector<ModelPart>& parts, const std::string& name,
                    const NormWeights& norm) {
  add_vector_part(parts, name + ".weight", norm.weight);
  add_vector_part(parts, name + ".bias", norm.bias);
}

// A role of experts or heads has several matrices under one name.
void add_linear(std::vector<ModelPart>& parts, const std::string& name, const Linear& linear) {
  add_weight(parts, name + ".weight", linear.weight);
  add_vector_part(parts, name + ".bias", linear.bias);
  for (size_t e = 0; e < linear.experts.size(); ++e) {
    add_weight(parts, fmt::format("{}.weight[{}]", name, e), linear.experts[e]);
  }
  for (size_t e = 0; e < linear.expert_biases.size(); ++e) {
    add_vector_part(parts, fmt::format("{}.bias[{}]", name, e), linear.expert_biases[e]);
  }
}

// As the binding of weights names them.
std::string_view norm_tensor(const Model& model, const std::string& prefix, const NormRow& row) {
  const std::string_view second = model.family->second_norm;
  const bool is_ffn = row.role == NormRole::ffn;
  if (!second.empty() &&
      model.file->find_tensor(fmt::format("{}{}.weight", prefix, second)) != nullptr) {
    if (row.role == NormRole::attn) return second;
    if (is_ffn) return "attn_norm";
  }
  return is_ffn ? model.family->ffn_norm : row.tensor;
}

void add_layer(std::vector<ModelPart>& parts, const Model& model, size_t i) {
  const LayerWeights& layer = model.layers[i];
  const std::string prefix = fmt::format("blk.{}.", i);
  // Loading puts the rows of heads that rotate in the order of halves.
  const bool moves = model.file->rope_order() == RopeOrder::neighbours;
  for (const RoleRow& row : role_rows()) {
    const size_t first = parts.size();
    add_linear(parts, prefix + std::string(row.tensor), layer[row.role]);
    const bool is_moved = moves && (row.role == Role::q || row.role == Role::k);
    for (size_t at = first; at < parts.size(); ++at) parts[at].is_moved = is_moved;
  }
  for (const NormRow& row : norm_rows()) {
    const size_t first = parts.size();
    add_norm_parts(parts, prefix + std::string(norm_tensor(model, prefix, row)), layer[row.role]);
    const bool is_moved = moves && (row.role == NormRole::q || row.role == NormRole::k);
    for (size_t at = first; at < parts.size(); ++at) parts[at].is_moved = is_moved;
  }
  add_vector_part(parts, prefix + "attn_sinks.weight", layer.sinks);
}

// A tensor has the numbers of a vector if these are what loading makes of it.
const TensorInfo* tensor_of(const Model& model, const std::string& name,
                            std::span<const float> numbers, bool is_norm) {
  const TensorInfo* const tensor = model.file->find_tensor(name);
  const auto n = std::ssize(numbers);
  if (tensor == nullptr || tensor->n_elements() != n || tensor->shape.back() != n) return nullptr;
  std::vector<float> stored(numbers.size());
  tensor->decode_row(0, stored.data());
  const float more = is_norm && model.file->norms_minus_one() ? 1 : 0;
  for (float& x : stored) x += more;
  return std::ranges::equal(stored, numbers) ? tensor : nullptr;
}

// Norms may be stored less one.
bool is_norm_weight(std::string_view name) {
  return name.find("norm") != name.npos && name.ends_with(".weight");
}

// Finds the tensor and the row that a row of a matrix is.
class FileRowIndex {
 public:
  explicit FileRowIndex(const ModelFile& file) {
    for (const TensorInfo& tensor : file.tensors()) {
      if (!tensor.has_whole_rows()) continue;
      tensors_.push_back(&tensor);
    }
    std::ranges::sort(tensors_, {}, [](const TensorInfo* t) { return t->bytes.data(); });
  }
  // The row's number; -1: it lies in no tensor.
  int64_t find(const std::byte* row, const TensorInfo*& tensor) const {
    const auto after = std::ranges::upper_bound(
        tensors_, row, {}, [](const TensorInfo* t) { return t->bytes.data(); });
    if (after == tensors_.begin()) return -1;
    tensor = *std::prev(after);
    const int64_t offset = row - tensor->bytes.data();
    const int64_t row_bytes = format_of(tensor->dtype).bytes_of(tensor->shape.back());
    const bool is_row = tensor->steps.empty() && offset % row_bytes == 0 &&
                        offset < static_cast<int64_t>(tensor->bytes.size());
    return is_row ? offset / row_bytes : -1;
  }

 private:
  std::vector<const TensorInfo*> tensors_;
};

// Tensors that training changed some rows of.
class ChangedTensors {
 public:
  std::vector<float>& of(const TensorInfo& tensor) {
    const auto found = std::ranges::find(tensors_, tensor.name, &TrainedTensor::name);
    if (found != tensors_.end()) return found->numbers;
    std::vector<float>& numbers = tensors_.emplace_back(TrainedTensor{tensor.name, {}}).numbers;
    numbers.resize(static_cast<size_t>(tensor.n_elements()));
    for (int64_t row = 0; row < tensor.n_rows(); ++row) {
      tensor.decode_row(row, numbers.data() + row * tensor.shape.back());
    }
    return numbers;
  }
  std::vector<TrainedTensor> take() { return std::move(tensors_); }

 private:
  std::vector<TrainedTensor> tensors_;
};

// Puts the rows of a matrix into the tensors that they lie in, which may be several.
Status write_rows(const FileRowIndex& index, const Parameter<float>& parameter,
                  ChangedTensors& changed) {
  const std::vector<Address>& rows = parameter.matrix->file_rows().plain.rows;
  const int64_t n_in = parameter.matrix->n_in();
  for (size_t i = 0; i < rows.size(); ++i) {
    const TensorInfo* tensor = nullptr;
    const int64_t row = index.find(reinterpret_cast<const std::byte*>(rows[i].bits()), tensor);
    if (row < 0 || tensor->shape.back() != n_in) {
      return fail(Code::unsupported, "training: '{}' is not in the model's file as it is used",
                  parameter.name);
    }
    std::copy_n(parameter.values.data() + static_cast<int64_t>(i) * n_in, n_in,
                changed.of(*tensor).data() + row * n_in);
  }
  return {};
}

}  // namespace

std::vector<ModelPart> model_parts(const Model& model) {
  std::vector<ModelPart> parts;
  add_weight(parts, "token_embd.weight", model.token_embd);
  add_weight(parts, "position_embd.weight", model.position_embd);
  add_weight(parts, "token_types.weight", model.token_types);
  add_norm_parts(parts, "token_embd_norm", model.embd_norm);
  add_linear(parts, "token_embd_in", model.embd_in);
  for (size_t i = 0; i < model.layers.size(); ++i) add_layer(parts, model, i);
  add_norm_parts(parts, std::string(model.family->last_norm), model.output_norm);
  add_weight(parts, "output.weight", model.output);
  add_vector_part(parts, "output.bias", model.output_bias);
  return parts;
}

// Weights with the same rows are one parameter, under the first name.
template <class T>
Status Parameters<T>::add_matrix(const ModelPart& part, TrainDevice<T>& device) {
  TrainMatrix<T>& matrix = device.matrices().of(*part.weight);
  if (matrix.is_trained()) return {};
  TRY(matrix.train());
  const auto n = static_cast<size_t>(matrix.n_out() * matrix.n_in());
  all_.push_back({part.name, {matrix.values(), n}, {matrix.gradient(), n}, &matrix});
  return {};
}

// A norm whose weights are all 1 has no tensor, and is listed as left out.
template <class T>
Status Parameters<T>::add_vector(const Model& model, const ModelPart& part,
                                 TrainDevice<T>& device) {
  const int64_t n = part.vector->size();
  std::vector<float> numbers(static_cast<size_t>(n));
  device.download(part.vector->memory.start, std::as_writable_bytes(std::span(numbers)));
  if (part.is_moved || tensor_of(model, part.name, numbers, is_norm_weight(part.name)) == nullptr) {
    left_out_.push_back(part.name);
    return {};
  }
  T* const gradient = device.memory().adjoints(part.vector->memory.start, n);
  if (gradient == nullptr) return fail(Code::out_of_memory, "training: no memory for gradients");
  T* const values = device.memory().values(part.vector->memory.start, n);
  all_.push_back(
      {part.name, {values, static_cast<size_t>(n)}, {gradient, static_cast<size_t>(n)}, nullptr});
  return {};
}

// In the order of the model, so that files of training runs have the same order.
template <class T>
Result<Parameters<T>> Parameters<T>::choose(const Model& model, TrainDevice<T>& device,
                                            const std::function<bool(std::string_view)>& trains) {
  Parameters chosen;
  for (const ModelPart& part : model_parts(model)) {
    if (!trains(part.name)) continue;
    TRY(part.weight != nullptr ? chosen.add_matrix(part, device)
                               : chosen.add_vector(model, part, device));
  }
  return chosen;
}

template <class T>
int64_t Parameters<T>::n_numbers() const {
  int64_t sum = 0;
  for (const Parameter<T>& parameter : all_) sum += std::ssize(parameter.values);
  return sum;
}

template <class T>
void Parameters<T>::clear_gradients() const {
  for (const Parameter<T>& parameter : all_) std::ranges::fill(parameter.gradient, T{0});
}

// A parameter that has no tensor, such as an adapter's, is written elsewhere.
Result<std::vector<TrainedTensor>> trained_tensors(const Model& model,
                                                   const Parameters<float>& parameters) {
  const FileRowIndex index(*model.file);
  ChangedTensors changed;
  for (const Parameter<float>& parameter : parameters.all()) {
    if (parameter.matrix != nullptr) {
      TRY(write_rows(index, parameter, changed));
      continue;
    }
    const TensorInfo* const tensor = model.file->find_tensor(parameter.name);
    if (tensor == nullptr) continue;
    const float less =
        is_norm_weight(parameter.name) && model.file->norms_minus_one() ? 1.0F : 0.0F;
    std::ranges::transform(parameter.values, changed.of(*tensor).begin(),
                           [less](float x) { return x - less; });
  }
  return changed.take();
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace ruv
