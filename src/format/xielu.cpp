// Names of the numbers are those of the checkpoint's activation: alpha_p bends what is above 0,
// alpha_n what is below, beta is the slope of both, eps the number that exponents end at. GGUF keys
// have no architecture in front.
#include "format/xielu.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/elementary.h"
#include "tensor/format.h"

namespace ruv {
namespace {

constexpr std::array<std::string_view, 4> kNumbers = {"alpha_p", "alpha_n", "beta", "eps"};

std::string tensor_name(int64_t layer, std::string_view number) {
  return fmt::format("blk.{}.xielu.{}", layer, number);
}

Result<double> stored_number(const ModelFile& file, int64_t layer, std::string_view name) {
  const std::string tensor = tensor_name(layer, name);
  const TensorInfo* const info = file.find_tensor(tensor);
  if (info == nullptr) {
    return fail(Code::not_found, "{}: tensor '{}' is missing", file.path(),
                file.shown_tensor(tensor));
  }
  if (info->n_elements() != 1 || format_of(info->dtype).block_size != 1) {
    return fail(Code::corrupt, "{}: tensor '{}' is not one number", file.path(),
                file.shown_tensor(tensor));
  }
  float number = 0;
  if (!info->bytes.empty()) format_of(info->dtype).decode(info->bytes.data(), &number, 1);
  return double{number};
}

// One array: of the whole file, as GGUF has it, or made of tensors.
Result<std::vector<double>> numbers_of(const ModelFile& file, std::string_view name,
                                       int64_t n_layers) {
  std::vector<double> numbers;
  if (file.container() != "gguf") {
    for (int64_t i = 0; i < n_layers; ++i) numbers.push_back(TRY(stored_number(file, i, name)));
  } else {
    numbers = TRY(file.numbers(fmt::format("xielu.{}", name), static_cast<size_t>(n_layers)));
  }
  if (std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); })) return numbers;
  return fail(Code::corrupt, "{}: xielu.{} has something that is not a finite number", file.path(),
              name);
}

}  // namespace

Result<std::vector<Xielu>> read_xielu(const ModelFile& file, int64_t n_layers) {
  std::array<std::vector<double>, kNumbers.size()> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = TRY(numbers_of(file, kNumbers[i], n_layers));
  // Negative numbers are bent by at least the slope.
  std::vector<Xielu> layers;
  for (size_t i = 0; i < static_cast<size_t>(n_layers); ++i) {
    const double slope = all[2][i];
    layers.push_back({.positive = static_cast<float>(exact_softplus(all[0][i])),
                      .negative = static_cast<float>(slope + exact_softplus(all[1][i])),
                      .slope = static_cast<float>(slope),
                      .last = static_cast<float>(all[3][i])});
  }
  return layers;
}

bool is_xielu_tensor(std::string_view name) {
  return name.starts_with("blk.") && name.find(".xielu.") != name.npos;
}

Status export_xielu(const ModelFile& file, GgufWriter& out) {
  // As they are stored, not what they amount to: readers make the same of both kinds of files.
  if (file.find_tensor(tensor_name(0, kNumbers[0])) == nullptr) return {};
  const int64_t n_layers = TRY(file.integer("block_count"));
  for (const std::string_view name : kNumbers) {
    const std::vector<double> numbers = TRY(numbers_of(file, name, n_layers));
    std::vector<float> rounded;
    for (const double number : numbers) rounded.push_back(static_cast<float>(number));
    out.add_f32s(fmt::format("xielu.{}", name), rounded);
  }
  return {};
}

}  // namespace ruv
