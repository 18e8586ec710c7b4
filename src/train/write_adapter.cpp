// Adapters as PEFT has them. Rows of B are in the decoder's order, which is that of checkpoints.
#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/json_writer.h"
#include "format/adapter_file.h"
#include "format/tensor_names.h"
#include "train/float_tensors.h"
#include "train/trained_adapter.h"

namespace ruv {
namespace {

constexpr std::string_view kEnding = ".weight";

// The module of a checkpoint: "model.layers.0.self_attn.q_proj".
Result<std::string> module_of(const Model& model, const std::string& tensor) {
  const ModelFile& file = *model.file;
  const std::optional<std::string> name = file.container() == "safetensors"
                                              ? std::optional(file.shown_tensor(tensor))
                                              : TensorNames(model.family).hf_of(tensor);
  if (file.find_tensor(tensor) == nullptr || !name || !name->ends_with(kEnding)) {
    return fail(Code::unsupported,
                "{}: '{}' alone is not a module of a checkpoint, as adapters of PEFT need it",
                file.path(), tensor);
  }
  return name->substr(0, name->size() - kEnding.size());
}

// What target_modules names: the end of a module's name.
std::string last_part(const std::string& module) {
  const size_t dot = module.rfind('.');
  return dot == module.npos ? module : module.substr(dot + 1);
}

// The keys that PEFT needs to load it.
std::string config_of(const Model& model, const LowRankOptions& options,
                      const std::set<std::string>& targets) {
  std::string text;
  JsonWriter out(text, 2);
  out.begin_object();
  out.key("base_model_name_or_path");
  out.text(model.file->path());
  out.key("bias");
  out.text("none");
  out.key("fan_in_fan_out");
  out.boolean(false);
  out.key("inference_mode");
  out.boolean(true);
  out.key("lora_alpha");
  out.real(options.alpha);
  out.key("lora_dropout");
  out.real(0);
  out.key("peft_type");
  out.text("LORA");
  out.key("r");
  out.integer(options.rank);
  out.key("target_modules");
  out.begin_array();
  for (const std::string& target : targets) out.text(target);
  out.end_array();
  out.key("task_type");
  out.text("CAUSAL_LM");
  out.end_object();
  return text + "\n";
}

// Copies a matrix of the file. Fails: invalid (of another size).
Status copy_matrix(const TensorInfo& from, const Parameter<float>& to, const std::string& name) {
  const int64_t n_in = to.matrix->n_in();
  if (from.shape != std::vector<int64_t>{to.matrix->n_out(), n_in}) {
    return fail(Code::invalid, "'{}' of the adapter has another size or rank", name);
  }
  for (int64_t i = 0; i < from.n_rows(); ++i) from.decode_row(i, to.values.data() + i * n_in);
  return {};
}

}  // namespace

Status read_peft_start(const Model& model, const TrainedAdapter<float>& adapter,
                       const Parameters<float>& parameters, const std::string& folder) {
  const AdapterFile file = TRY(open_adapter(folder));
  if (file.container != AdapterContainer::peft) {
    return fail(Code::unsupported, "{}: is not a folder of PEFT, which training continues", folder);
  }
  // A trainer's parameters are those of single matrices, and experts have none: training such an
  // adapter further would leave out what it has for them.
  if (!file.stacks.empty()) {
    return fail(Code::unsupported, "{}: '{}' is of a stack of experts, which is not trained",
                folder, file.stacks.front().tensor);
  }
  const LowRankOptions& options = adapter.options();
  const auto scale = static_cast<float>(options.alpha / static_cast<double>(options.rank));
  for (const AdaptedModule& module : adapter.modules()) {
    const std::string name = TRY(module_of(model, module.tensor)) + std::string(kEnding);
    const auto found = std::ranges::find(file.modules, name, &AdapterModule::tensor);
    if (found == file.modules.end()) {
      return fail(Code::invalid, "{}: has nothing for '{}', which is to be trained", folder, name);
    }
    if (found->scale != scale) {
      return fail(Code::invalid, "{}: '{}' is scaled by {}, not by {}: give its alpha and rank",
                  folder, name, found->scale, scale);
    }
    TRY(copy_matrix(found->a, parameters.all()[module.a], name));
    TRY(copy_matrix(found->b, parameters.all()[module.b], name));
  }
  if (file.modules.size() == adapter.modules().size()) return {};
  return fail(Code::invalid, "{}: adapts {} matrices, and {} are to be trained", folder,
              file.modules.size(), adapter.modules().size());
}

Status check_peft_adapter(const Model& model, const TrainedAdapter<float>& adapter) {
  for (const AdaptedModule& module : adapter.modules()) TRY(module_of(model, module.tensor));
  return {};
}

Status write_peft_adapter(const Model& model, const TrainedAdapter<float>& adapter,
                          const Parameters<float>& parameters, const std::string& folder) {
  std::set<std::string> targets;
  std::vector<FloatTensor> tensors;
  for (const AdaptedModule& module : adapter.modules()) {
    const std::string name = TRY(module_of(model, module.tensor));
    targets.insert(last_part(name));
    for (const auto& [letter, at] : {std::pair("A", module.a), std::pair("B", module.b)}) {
      const Parameter<float>& parameter = parameters.all()[at];
      tensors.push_back({fmt::format("base_model.model.{}.lora_{}.weight", name, letter),
                         parameter.values,
                         {parameter.matrix->n_out(), parameter.matrix->n_in()}});
    }
  }
  TRY(write_float_tensors(folder + "/adapter_model.safetensors", tensors));
  FileWriter out = TRY(FileWriter::create(folder + "/adapter_config.json", {.replace = true}));
  TRY(out.write(as_bytes(config_of(model, adapter.options(), targets))));
  return out.commit();
}

}  // namespace ruv
