// MLX: adapter_config.json, and tensors "<module>.lora_a" (n_in, rank) and "<module>.lora_b" (rank,
// n_out), both transposed.
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

Status check_kind(const Members& config) {
  const std::string kind = TRY(config.text_or("fine_tune_type", "lora"));
  if (kind != "lora") {
    return config.wrong("fine_tune_type", "is not \"lora\", the kind that is supported",
                        Code::unsupported);
  }
  if (TRY(config.truth("use_dora")).value_or(false)) {
    return config.wrong("use_dora", "is not supported", Code::unsupported);
  }
  return {};
}

}  // namespace

Result<AdapterFile> read_mlx_adapter(const Json& config, std::vector<SafetensorsTensor> tensors,
                                     const std::string& source) {
  const Members members(config, source);
  TRY(check_kind(members));
  const float scale = TRY(scale_of(members));
  AdapterFile file{.path = source, .container = AdapterContainer::mlx};
  file.base = TRY(members.text_or("model", ""));
  AdapterHalves halves(source);
  for (const SafetensorsTensor& stored : tensors) {
    const std::string_view name = stored.name;
    const bool is_b = name.ends_with(".lora_b");
    if (!is_b && !name.ends_with(".lora_a")) {
      return fail(Code::unsupported, "{}: tensor '{}' is not a matrix A or B of LoRA", source,
                  quoted_name(name));
    }
    TensorInfo matrix = TRY(adapter_matrix(stored, true, source));
    const std::string_view module = name.substr(0, name.rfind('.'));
    TRY(halves.add(std::string(module) + ".weight", is_b, std::move(matrix), name));
  }
  file.modules = TRY(halves.take());
  for (AdapterModule& module : file.modules) module.scale = scale;
  return file;
}

}  // namespace ruv
