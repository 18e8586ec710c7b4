// MLX: adapter_config.json, and tensors "<module>.lora_a" (n_in, rank) and "<module>.lora_b" (rank,
// n_out), both transposed; of DoRA "<module>.m" (n_out), the rows' lengths. Modules of experts have
// (experts, rank, n_in) and (experts, n_out, rank).
#include "format/adapter_halves.h"
#include "format/config_members.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// `scale` itself; in files that also have alpha, of older versions, times alpha / rank.
Result<float> scale_of(const Members& config) {
  const Members numbers = TRY(config.object("lora_parameters"));
  const std::optional<double> scale = TRY(numbers.number("scale"));
  if (!scale) return numbers.wrong("scale", "is missing");
  const std::optional<double> alpha = TRY(numbers.number("alpha"));
  if (!alpha) return static_cast<float>(*scale);
  const auto rank = static_cast<double>(TRY(numbers.positive("rank")));
  return static_cast<float>(*scale * *alpha / rank);
}

// Whether rows have lengths. Older files say it by a key of its own.
Result<bool> is_dora(const Members& config) {
  const std::string kind = TRY(config.text_or("fine_tune_type", "lora"));
  if (kind != "lora" && kind != "dora") {
    return config.wrong("fine_tune_type", "is not \"lora\" or \"dora\"", Code::unsupported);
  }
  return kind == "dora" || TRY(config.truth("use_dora")).value_or(false);
}

}  // namespace

Result<AdapterFile> read_mlx_adapter(const Json& config, std::vector<SafetensorsTensor> tensors,
                                     const std::string& source) {
  const Members members(config, source);
  const bool has_lengths = TRY(is_dora(members));
  const float scale = TRY(scale_of(members));
  AdapterFile file{.path = source, .container = AdapterContainer::mlx};
  file.base = TRY(members.text_or("model", ""));
  constexpr std::string_view kLengths = ".m";
  AdapterHalves halves(source);
  for (const SafetensorsTensor& stored : tensors) {
    std::string_view name = stored.name;
    if (has_lengths && name.ends_with(kLengths)) {
      name.remove_suffix(kLengths.size());
      TRY(halves.add_column(std::string(name) + ".weight", false,
                            TRY(adapter_column(stored, source)), stored.name));
      continue;
    }
    const bool is_b = name.ends_with(".lora_b");
    if (!is_b && !name.ends_with(".lora_a")) {
      return fail(Code::unsupported, "{}: tensor '{}' is not a matrix A or B of LoRA", source,
                  quoted_name(name));
    }
    TensorInfo matrix = TRY(adapter_matrix(stored, true, source, true));
    const std::string_view module = name.substr(0, name.rfind('.'));
    TRY(halves.add(std::string(module) + ".weight", is_b, std::move(matrix), name));
  }
  TRY(halves.take(file));
  for (AdapterStack& stack : file.stacks) stack.scale = scale;
  for (AdapterModule& module : file.modules) {
    module.scale = scale;
    if (module.has_magnitudes() == has_lengths) continue;
    return fail(Code::corrupt, "{}: '{}' has no lengths of its rows", source,
                quoted_name(module.tensor));
  }
  return file;
}

}  // namespace ruv
