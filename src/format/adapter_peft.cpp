// PEFT: adapter_config.json, and tensors "base_model.model.<module>.lora_A.weight" (rank, n_in) and
// "….lora_B.weight" (n_out, rank), of embeddings "….lora_embedding_A" and "….lora_embedding_B";
// with use_dora "….lora_magnitude_vector" (n_out). Beside those of embeddings the base's own matrix
// is usually saved, "….base_layer.weight" and "….base_layer.bias"; modules_to_save has whole ones.
// With bias the biases of modules are other ones than the base's.
#include <algorithm>
#include <cmath>

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
                                          "use_dora",      "modules_to_save"};
// How the adapter was trained, or which modules it was put on, which its tensors say. A module that
// stores its weights as (n_in, n_out), fan_in_fan_out, has A and B as every other.
constexpr std::string_view kKeysWithoutEffect[] = {
    "auto_mapping",      "base_model_name_or_path", "corda_config",     "ensure_weight_tying",
    "eva_config",        "exclude_modules",         "fan_in_fan_out",   "inference_mode",
    "layers_pattern",    "layers_to_transform",     "lora_dropout",     "loftq_config",
    "lora_ga_config",    "megatron_core",           "peft_version",     "qalora_group_size",
    "revision",          "runtime_config",          "target_modules",   "task_type",
    "monteclora_config", "_custom_modules",         "trainable_tokens", "tokenizer_class"};
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

Status set_scale(AdapterModule& module, const Scaling& scaling, const std::string& source) {
  const std::string_view name = module_of(module.tensor);
  const double rank = scaling.ranks.of(name, static_cast<double>(scaling.rank));
  if (rank != static_cast<double>(module.rank())) {
    return fail(Code::corrupt, "{}: '{}' has matrices of rank {}, and the config says {}", source,
                quoted_name(name), module.rank(), rank);
  }
  const double divisor = scaling.by_root ? std::sqrt(rank) : rank;
  module.scale = static_cast<float>(scaling.alphas.of(name, scaling.alpha) / divisor);
  return {};
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
    file_.modules = TRY(halves_.take());
    file_.has_own_biases = TRY(config_.text_or("bias", "none")) != "none";
    const bool is_dora = TRY(config_.truth("use_dora")).value_or(false);
    for (AdapterModule& module : file_.modules) {
      TRY(set_scale(module, scaling, source_));
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
