#include "format/adapter_halves.h"

#include <fmt/ranges.h>

#include "format/tensor_names.h"

namespace ruv {

Status AdapterHalves::add(std::string tensor, bool is_b, TensorInfo half, std::string_view from) {
  const bool is_matrix = half.shape.size() == 2 || half.shape.size() == 3;
  if (!is_matrix || half.n_elements() == 0) {
    return fail(Code::corrupt, "{}: tensor '{}' is not a matrix", *source_, quoted_name(from));
  }
  Halves& halves = halves_[std::move(tensor)];
  return put(is_b ? halves.b : halves.a, std::move(half), halves, from);
}

Status AdapterHalves::add_column(std::string tensor, bool is_bias, TensorInfo column,
                                 std::string_view from) {
  Halves& halves = halves_[std::move(tensor)];
  return put(is_bias ? halves.biases : halves.magnitudes, std::move(column), halves, from);
}

Status AdapterHalves::put(std::optional<TensorInfo>& place, TensorInfo part, Halves& halves,
                          std::string_view from) const {
  if (place) {
    return fail(Code::corrupt, "{}: tensor '{}' repeats another", *source_, quoted_name(from));
  }
  place = std::move(part);
  halves.from = from;
  return {};
}

Result<AdapterStack> AdapterHalves::stack_of(const std::string& tensor, Halves& halves) const {
  const std::vector<int64_t>&a = halves.a->shape, &b = halves.b->shape;
  if (a.size() != b.size() || a[0] != b[0] || a[1] != b[2]) {
    return fail(Code::corrupt,
                "{}: the halves of '{}' have shapes ({}) and ({}), of experts, rank "
                "and n_in, and of experts, n_out and rank",
                *source_, quoted_name(tensor), fmt::join(a, ", "), fmt::join(b, ", "));
  }
  if (halves.magnitudes || halves.biases) {
    return fail(Code::unsupported, "{}: '{}': {} of experts are not supported", *source_,
                quoted_name(tensor), halves.biases ? "biases" : "magnitudes");
  }
  return AdapterStack{.tensor = tensor, .a = std::move(*halves.a), .b = std::move(*halves.b)};
}

Status AdapterHalves::take(AdapterFile& to) {
  std::vector<AdapterModule>& modules = to.modules;
  for (auto& [tensor, halves] : halves_) {
    if (!halves.a || !halves.b) {
      return fail(Code::corrupt, "{}: tensor '{}' has no other half", *source_,
                  quoted_name(halves.from));
    }
    if (halves.a->shape.size() > 2 || halves.b->shape.size() > 2) {
      to.stacks.push_back(TRY(stack_of(tensor, halves)));
      continue;
    }
    if (halves.a->shape[0] != halves.b->shape[1]) {
      return fail(Code::corrupt, "{}: the halves of '{}' have ranks {} and {}", *source_,
                  quoted_name(tensor), halves.a->shape[0], halves.b->shape[1]);
    }
    for (const auto* column : {&halves.magnitudes, &halves.biases}) {
      if (!*column || (*column)->shape[0] == halves.b->shape[0]) continue;
      return fail(Code::corrupt, "{}: '{}' has {} rows and the {} of {}", *source_,
                  quoted_name(tensor), halves.b->shape[0],
                  column == &halves.biases ? "biases" : "lengths", (*column)->shape[0]);
    }
    modules.push_back({.tensor = tensor,
                       .a = std::move(*halves.a),
                       .b = std::move(*halves.b),
                       .magnitudes = std::move(halves.magnitudes).value_or(TensorInfo()),
                       .biases = std::move(halves.biases).value_or(TensorInfo()),
                       .is_embedding = halves.is_embedding});
  }
  if (modules.empty() && to.stacks.empty()) {
    return fail(Code::corrupt, "{}: it has no matrices of an adapter", *source_);
  }
  halves_.clear();
  return {};
}

Result<TensorInfo> adapter_matrix(const SafetensorsTensor& stored, bool transposed,
                                  const std::string& source, bool stacks) {
  if (!stored.dtype) {
    return fail(Code::unsupported, "{}: tensor '{}' is {}, which is not read", source,
                quoted_name(stored.name), stored.dtype_name);
  }
  const bool is_stack = stacks && stored.shape.size() == 3;
  if ((stored.shape.size() != 2 && !is_stack) || stored.bytes.empty()) {
    return fail(Code::corrupt, "{}: tensor '{}' is not a matrix", source, quoted_name(stored.name));
  }
  TensorInfo matrix{
      .name = stored.name, .dtype = *stored.dtype, .shape = stored.shape, .bytes = stored.bytes};
  return transposed && !is_stack ? transposed_matrix(std::move(matrix)) : matrix;
}

Result<TensorInfo> adapter_column(SafetensorsTensor stored, const std::string& source) {
  if (stored.shape.size() == 1) stored.shape.push_back(1);
  TensorInfo column = TRY(adapter_matrix(stored, false, source));
  if (column.shape[1] == 1) return column;
  return fail(Code::corrupt, "{}: tensor '{}' is not a vector", source, quoted_name(stored.name));
}

TensorInfo transposed_matrix(TensorInfo matrix) {
  const int64_t bytes = format_of(matrix.dtype).block_bytes;
  if (matrix.steps.empty()) matrix.steps = {bytes * matrix.shape[1], bytes};
  std::swap(matrix.steps[0], matrix.steps[1]);
  std::swap(matrix.shape[0], matrix.shape[1]);
  return matrix;
}

}  // namespace ruv
