// PEFT: adapter_config.json, and tensors "base_model.model.<module>.lora_A.weight" (rank, n_in) and
// "….lora_B.weight" (n_out, rank), of embeddings "….lora_embedding_A" and "….lora_embedding_B";
// with use_dora "….lora_magnitude_vector" (n_out). Beside those of embeddings the base's own matrix
// is usually saved, "….base_layer.weight" and "….base_layer.bias"; modules_to_save has whole ones.
// With bias the biases of modules are other ones than the base's. Parameters of target_parameters,
// such as stacks of experts, have tensors that are called after their modules; of several
// parameters of one the others have ".base_layer" in their names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "format/adapter_halves.h"
#include "format/config_members.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// What a key of the config means for us. Keys that are not listed, and those that need something of
// us that we do not have, must have a value that asks for nothing.
constexpr std::string_view kUsedKeys[] = {"peft_type",     "r",
                                          "lora_alpha",    "use_rslora",
                                          "bias",          "init_lora_weights",
                                          "alpha_pattern", "rank_pattern",
                                          "use_dora",      "modules_to_save",
                                          "peft_version",  "target_parameters"};
// How the adapter was trained, or which modules it was put on, which its tensors say. A module that
// stores its weights as (n_in, n_out), fan_in_fan_out, has A and B as every other.
constexpr std::string_view kKeysWithoutEffect[] = {
    "auto_mapping",    "base_model_name_or_path", "corda_config",      "ensure_weight_tying",
    "eva_config",      "exclude_modules",         "fan_in_fan_out",    "inference_mode",
    "layers_pattern",  "layers_to_transform",     "lora_dropout",      "loftq_config",
    "lora_ga_config",  "megatron_core",           "qalora_group_size", "revision",
    "runtime_config",  "target_modules",          "task_type",         "monteclora_config",
    "_custom_modules", "trainable_tokens",        "tokenizer_class"};
// Values of init_lora_weights that leave the base's weights as they are.
constexpr std::string_view kPlainStarts[] = {"gaussian", "eva", "orthogonal"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::count(words, word) > 0;
}

// Null, false, and what is empty.
bool asks_for_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return value.get<std::string>().empty();
  return (value.is_array() || value.is_object()) && value.empty();
}

Status check_keys(const Members& config) {
  for (const auto& [key, value] : config.json().items()) {
    if (is_one_of(kUsedKeys, key) || is_one_of(kKeysWithoutEffect, key)) continue;
    if (!asks_for_nothing(value)) {
      return fail(Code::unsupported, "{}: '{}': {} is not supported", config.source(),
                  quoted_name(key), config.shown(key));
    }
  }
  if (const std::string kind = TRY(config.text_or("peft_type", "")); kind != "LORA") {
    return config.wrong("peft_type", "is not LORA, the kind that is supported", Code::unsupported);
  }
  constexpr std::string_view kBiases[] = {"none", "lora_only", "all"};
  if (const std::string bias = TRY(config.text_or("bias", "none")); !is_one_of(kBiases, bias)) {
    return config.wrong("bias", "is not \"none\", \"lora_only\" or \"all\"", Code::unsupported);
  }
  const Json* const start = config.find("init_lora_weights");
  const bool is_plain = start == nullptr || start->is_null() || start->is_boolean() ||
                        (start->is_string() && is_one_of(kPlainStarts, start->get<std::string>()));
  if (!is_plain) {
    return config.wrong("init_lora_weights",
                        "changes the weights of the base; convert the adapter to a plain one",
                        Code::unsupported);
  }
  return {};
}

// Whether a key of a pattern names the module: its name, or the end of it after a dot; with a '^'
// before it the whole name.
bool names_module(std::string_view key, std::string_view module) {
  if (key.starts_with('^')) return module == key.substr(1);
  return module == key || (module.size() > key.size() && module.ends_with(key) &&
                           module[module.size() - key.size() - 1] == '.');
}

// The numbers of rank_pattern or alpha_pattern, in the file's order.
class ModulePattern {
 public:
  // Fails: unsupported (a key that is a regular expression), corrupt.
  static Result<ModulePattern> read(const Members& config, std::string_view name) {
    ModulePattern pattern;
    const Members rows = TRY(config.object(name));
    for (const auto& [key, value] : rows.json().items()) {
      const std::string_view plain = std::string_view(key).substr(key.starts_with('^') ? 1 : 0);
      if (plain.find_first_of("\\^$*+?()[]{}|") != plain.npos) {
        return rows.wrong(key, "is a regular expression, which is not supported",
                          Code::unsupported);
      }
      const std::optional<double> number = TRY(rows.number(key));
      pattern.rows_.emplace_back(key, number.value_or(0));
    }
    return pattern;
  }
  double of(std::string_view module, double otherwise) const {
    for (const auto& [key, number] : rows_) {
      if (names_module(key, module)) return number;
    }
    return otherwise;
  }

 private:
  std::vector<std::pair<std::string, double>> rows_;
};

struct Scaling {
  double alpha = 8;
  bool by_root = false;  // rsLoRA
  int64_t rank = 8;
  ModulePattern alphas, ranks;
};

Result<Scaling> read_scaling(const Members& config) {
  Scaling scaling;
  scaling.alpha = TRY(config.number("lora_alpha")).value_or(scaling.alpha);
  scaling.by_root = TRY(config.truth("use_rslora")).value_or(false);
  scaling.rank = TRY(config.positive_or("r", scaling.rank));
  scaling.alphas = TRY(ModulePattern::read(config, "alpha_pattern"));
  scaling.ranks = TRY(ModulePattern::read(config, "rank_pattern"));
  return scaling;
}

// Without the ending of a tensor of weights.
std::string_view module_of(std::string_view tensor) {
  constexpr std::string_view kEnding = ".weight";
  return tensor.substr(0, tensor.size() - (tensor.ends_with(kEnding) ? kEnding.size() : 0));
}

// What the config says of a module or a parameter.
struct RankAndScale {
  double rank = 0;
  float scale = 1;

  bool operator==(const RankAndScale&) const = default;
};
RankAndScale scaling_of(std::string_view name, const Scaling& scaling) {
  const double rank = scaling.ranks.of(name, static_cast<double>(scaling.rank));
  const double divisor = scaling.by_root ? std::sqrt(rank) : rank;
  return {rank, static_cast<float>(scaling.alphas.of(name, scaling.alpha) / divisor)};
}

// Which parameters of modules have matrices of their own. Tensors do not say of which they are.
class TargetParameters {
 public:
  static Result<TargetParameters> read(const Members& config) {
    constexpr std::string_view kKey = "target_parameters";
    // A module has few; each is looked at for each of its tensors.
    constexpr size_t kMostOfModule = 16;
    TargetParameters targets;
    if (!config.is_set(kKey)) return targets;
    const Json& names = *config.find(kKey);
    if (!names.is_array()) return config.wrong(kKey, "is not an array of names");
    for (const Json& json : names) {
      if (!json.is_string()) return config.wrong(kKey, "is not an array of names");
      const auto name = json.get<std::string>();
      const size_t dot = name.rfind('.');
      std::set<std::string>& of_module =
          targets.by_module_[dot == name.npos ? "" : name.substr(0, dot)];
      of_module.insert(name.substr(dot == name.npos ? 0 : dot + 1));
      if (of_module.size() > kMostOfModule) {
        return config.wrong(kKey, "has many parameters of one module", Code::unsupported);
      }
    }
    return targets;
  }
  // The full names of those that a module may have. A key is the end of a name.
  std::vector<std::string> of(std::string_view module) const {
    std::vector<std::string> found;
    const auto look = [&](std::string_view ending) {
      const auto row = by_module_.find(ending);
      if (row == by_module_.end()) return;
      for (const std::string& name : row->second) {
        found.push_back(fmt::format("{}.{}", module, name));
      }
    };
    look("");
    for (std::string_view rest = module; !by_module_.empty();) {
      look(rest);
      const size_t dot = rest.find('.');
      if (dot == rest.npos) break;
      rest.remove_prefix(dot + 1);
    }
    return found;
  }

 private:
  std::map<std::string, std::set<std::string>, std::less<>> by_module_;
};

// Whether a version of PEFT takes inputs for inputs in every stack that is (experts, n_out, n_in).
bool has_inputs_first(std::string_view version) {
  constexpr int kMinor = 20;  // of 0.20
  int numbers[2] = {0, 0};
  for (int& number : numbers) {
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc()) return false;
    version.remove_prefix(static_cast<size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return numbers[0] > 0 || numbers[1] >= kMinor;
}

// Rows of A are those of the experts, columns of B by turns theirs.
AdapterStack stack_of_module(AdapterModule module, int64_t n_experts) {
  AdapterStack stack{.tensor = std::move(module.tensor),
                     .a = std::move(module.a),
                     .b = std::move(module.b),
                     .is_any_parameter = true};
  const int64_t rank = stack.a.shape[0] / n_experts;
  stack.a.shape = {n_experts, rank, stack.a.shape[1]};
  const int64_t step = format_of(stack.b.dtype).block_bytes;
  const int64_t n_out = stack.b.shape[0];
  stack.b.shape = {n_experts, n_out, rank};
  stack.b.steps = {step, step * rank * n_experts, step * n_experts};
  return stack;
}

enum class PeftPiece : uint8_t { a, b, magnitudes, biases, base, whole };

struct PeftName {
  std::string_view module;
  PeftPiece piece = PeftPiece::a;
  bool is_embedding = false;
};

struct PeftMarker {
  std::string_view text;
  PeftPiece piece;
  bool is_embedding = false;
  bool has_ending = true;  // ".weight"
};
constexpr PeftMarker kMarkers[] = {{".lora_A", PeftPiece::a},
                                   {".lora_B", PeftPiece::b},
                                   {".lora_embedding_A", PeftPiece::a, true, false},
                                   {".lora_embedding_B", PeftPiece::b, true, false},
                                   {".lora_magnitude_vector", PeftPiece::magnitudes, false, false},
                                   {".lora_magnitude_vector", PeftPiece::magnitudes},
                                   {".modules_to_save", PeftPiece::whole},
                                   {".base_layer", PeftPiece::base}};

// The module and what of it a tensor is. In checkpoints of trainers the adapter's name comes after
// the marker.
std::optional<PeftName> peft_name(std::string_view name) {
  constexpr std::string_view kWrapper = "base_model.model.", kEnding = ".weight";
  constexpr std::string_view kBias = ".base_layer.bias";
  if (!name.starts_with(kWrapper)) return std::nullopt;
  name.remove_prefix(kWrapper.size());
  if (name.ends_with(kBias)) {
    return PeftName{name.substr(0, name.size() - kBias.size()), PeftPiece::biases};
  }
  const bool has_ending = name.ends_with(kEnding);
  if (has_ending) name.remove_suffix(kEnding.size());
  for (const PeftMarker& marker : kMarkers) {
    const size_t at = name.rfind(marker.text);
    if (marker.has_ending != has_ending || at == name.npos || at == 0) continue;
    const std::string_view rest = name.substr(at + marker.text.size());
    if (rest.empty() || (rest[0] == '.' && rest.find('.', 1) == rest.npos)) {
      return PeftName{name.substr(0, at), marker.piece, marker.is_embedding};
    }
  }
  if (!has_ending || name.find(".lora_") != name.npos) return std::nullopt;
  return PeftName{name, PeftPiece::whole};
}

class PeftReader {
 public:
  PeftReader(const Members& config, const std::string& source)
      : config_(config), source_(source), halves_(source) {}

  Result<AdapterFile> read(std::vector<SafetensorsTensor> tensors) {
    TRY(check_keys(config_));
    TRY(read_whole_names());
    const Scaling scaling = TRY(read_scaling(config_));
    // Null: PEFT was given a model without a name.
    if (config_.is_set("base_model_name_or_path")) {
      file_.base = TRY(config_.text_or("base_model_name_or_path", ""));
    }
    for (const SafetensorsTensor& stored : tensors) TRY(add(stored));
    TRY(halves_.take(file_));
    TRY(set_scales(scaling));
    file_.has_own_biases = TRY(config_.text_or("bias", "none")) != "none";
    const bool is_dora = TRY(config_.truth("use_dora")).value_or(false);
    for (const AdapterModule& module : file_.modules) {
      if (module.has_magnitudes() == is_dora) continue;
      return fail(Code::corrupt, "{}: '{}' has {}lora_magnitude_vector, and 'use_dora' is {}",
                  source_, quoted_name(module.tensor), is_dora ? "no " : "a ", is_dora);
    }
    return std::move(file_);
  }

 private:
  Status read_whole_names() {
    if (!config_.is_set("modules_to_save")) return {};
    const Json& names = *config_.find("modules_to_save");
    if (!names.is_array()) return config_.wrong("modules_to_save", "is not an array of names");
    for (const Json& name : names) {
      if (!name.is_string()) return config_.wrong("modules_to_save", "is not an array of names");
      whole_names_.push_back(name.get<std::string>());
    }
    return {};
  }
  // Scales of all modules, of which some become stacks.
  Status set_scales(const Scaling& scaling) {
    const TargetParameters targets = TRY(TargetParameters::read(config_));
    const bool may_be_turned = !has_inputs_first(TRY(config_.text_or("peft_version", "")));
    std::vector<AdapterModule> modules;
    for (AdapterModule& module : file_.modules) {
      const RankAndScale said = TRY(scaling_of_tensor(module.tensor, scaling, targets));
      const std::string_view name = module_of(module.tensor);
      const bool is_inner = name.ends_with(kInner) || name.ends_with(".experts");
      const auto rank = static_cast<double>(module.rank());
      const double n_experts = rank / said.rank;
      const bool is_target = !targets.of(without_inner(module.tensor)).empty();
      const bool is_whole =
          said.rank == std::floor(said.rank) && n_experts == std::floor(n_experts);
      const bool is_stack = is_target && is_whole && (is_inner || n_experts > 1) &&
                            n_experts >= 1 && n_experts <= rank;
      if (!is_stack && said.rank != rank) {
        return fail(Code::corrupt, "{}: '{}' has matrices of rank {}, and the config says {}",
                    source_, quoted_name(module_of(module.tensor)), module.rank(), said.rank);
      }
      module.scale = said.scale;
      if (!is_stack) {
        modules.push_back(std::move(module));
        continue;
      }
      if (module.has_magnitudes() || !module.biases.shape.empty()) {
        return fail(Code::unsupported,
                    "{}: '{}': magnitudes and biases of experts are not supported", source_,
                    quoted_name(module.tensor));
      }
      AdapterStack& stack = file_.stacks.emplace_back(
          stack_of_module(std::move(module), static_cast<int64_t>(n_experts)));
      stack.scale = said.scale;
      stack.may_be_turned = may_be_turned;
    }
    file_.modules = std::move(modules);
    return {};
  }
  // The module, of a parameter the one that has it.
  static std::string_view without_inner(std::string_view tensor) {
    std::string_view module = module_of(tensor);
    while (module.ends_with(kInner)) module.remove_suffix(kInner.size());
    return module;
  }
  Result<RankAndScale> scaling_of_tensor(std::string_view tensor, const Scaling& scaling,
                                         const TargetParameters& targets) const {
    const std::vector<std::string> parameters = targets.of(without_inner(tensor));
    if (parameters.empty()) return scaling_of(module_of(tensor), scaling);
    const RankAndScale first = scaling_of(parameters.front(), scaling);
    for (const std::string& parameter : parameters) {
      if (scaling_of(parameter, scaling) == first) continue;
      return fail(Code::unsupported,
                  "{}: '{}': parameters of one module with different ranks or alphas are not "
                  "supported",
                  source_, quoted_name(tensor));
    }
    return first;
  }
  bool is_saved_whole(std::string_view module) const {
    return std::ranges::any_of(whole_names_,
                               [&](std::string_view key) { return names_module(key, module); });
  }

  Status add(const SafetensorsTensor& stored) {
    const std::optional<PeftName> name = peft_name(stored.name);
    if (!name || (name->piece == PeftPiece::whole && !is_saved_whole(name->module))) {
      return fail(Code::unsupported, "{}: tensor '{}' is not a matrix A or B of LoRA", source_,
                  quoted_name(stored.name));
    }
    std::string tensor = std::string(name->module) + ".weight";
    if (name->piece == PeftPiece::magnitudes || name->piece == PeftPiece::biases) {
      return halves_.add_column(std::move(tensor), name->piece == PeftPiece::biases,
                                TRY(adapter_column(stored, source_)), stored.name);
    }
    TensorInfo matrix = TRY(adapter_matrix(stored, false, source_));
    if (name->piece == PeftPiece::base || name->piece == PeftPiece::whole) {
      file_.wholes.push_back({.tensor = std::move(tensor),
                              .matrix = std::move(matrix),
                              .is_base = name->piece == PeftPiece::base});
      return {};
    }
    if (name->is_embedding) halves_.note_embedding(tensor);
    return halves_.add(std::move(tensor), name->piece == PeftPiece::b, std::move(matrix),
                       stored.name);
  }

  static constexpr std::string_view kInner = ".base_layer";
  const Members& config_;
  const std::string& source_;
  AdapterHalves halves_;
  std::vector<std::string> whole_names_;
  AdapterFile file_{.path = source_, .container = AdapterContainer::peft};
};

}  // namespace

Result<AdapterFile> read_peft_adapter(const Json& config, std::vector<SafetensorsTensor> tensors,
                                      const std::string& source) {
  const Members members(config, source);
  return PeftReader(members, source).read(std::move(tensors));
}

}  // namespace ruv
