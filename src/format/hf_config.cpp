// One row for each family says what its config may leave out; one reader checks types and ranges of
// what it has, whatever generation of transformers wrote it.
#include "format/hf_config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/json.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int kMaxConfigDepth = 64;
constexpr int64_t kMaxLayers = 65536;
constexpr size_t kMaxConfigBytes = size_t{4} << 20;

// What a family's config may leave out, with the values of its configuration class (transformers
// 5.23); 0 and "" where there is no default.
struct Family {
  std::string_view hf_class;
  std::string_view model_type;
  std::string_view gguf;
  std::string_view act = "silu";
  bool layer_norm = false;  // else RMS norm
  double norm_eps = 1e-6;
  int64_t max_positions = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;    // 0: hidden_size / heads
  int64_t window = 0;
  int64_t window_period = 0;
  double rope_base = 10000;
  bool tied = false;
};

constexpr std::string_view kGelu = "gelu_pytorch_tanh";
constexpr std::array kFamilies = {
    Family{.hf_class = "LlamaForCausalLM",
           .model_type = "llama",
           .gguf = "llama",
           .max_positions = 2048},
    Family{.hf_class = "MistralForCausalLM",
           .model_type = "mistral",
           .gguf = "llama",
           .max_positions = 131072,
           .n_kv_heads = 8,
           .window = 4096},
    Family{.hf_class = "MixtralForCausalLM",
           .model_type = "mixtral",
           .gguf = "llama",
           .norm_eps = 1e-5,
           .max_positions = 131072,
           .n_kv_heads = 8,
           .rope_base = 1e6},
    Family{.hf_class = "Qwen2ForCausalLM",
           .model_type = "qwen2",
           .gguf = "qwen2",
           .max_positions = 32768},
    Family{.hf_class = "Qwen3ForCausalLM",
           .model_type = "qwen3",
           .gguf = "qwen3",
           .max_positions = 32768,
           .head_dim = 128},
    Family{.hf_class = "GemmaForCausalLM",
           .model_type = "gemma",
           .gguf = "gemma",
           .act = kGelu,
           .max_positions = 8192,
           .n_heads = 16,
           .n_kv_heads = 16,
           .head_dim = 256,
           .tied = true},
    Family{.hf_class = "Gemma2ForCausalLM",
           .model_type = "gemma2",
           .gguf = "gemma2",
           .act = kGelu,
           .max_positions = 8192,
           .n_heads = 8,
           .n_kv_heads = 4,
           .head_dim = 256,
           .window = 4096,
           .window_period = 2,
           .tied = true},
    Family{.hf_class = "Gemma3ForCausalLM",
           .model_type = "gemma3_text",
           .gguf = "gemma3",
           .act = kGelu,
           .max_positions = 131072,
           .n_heads = 8,
           .n_kv_heads = 4,
           .head_dim = 256,
           .window = 4096,
           .window_period = 6,
           .rope_base = 1e6,
           .tied = true},
    Family{.hf_class = "Gemma3ForConditionalGeneration",
           .model_type = "gemma3",
           .gguf = "gemma3",
           .act = kGelu,
           .max_positions = 131072,
           .n_heads = 8,
           .n_kv_heads = 4,
           .head_dim = 256,
           .window = 4096,
           .window_period = 6,
           .rope_base = 1e6,
           .tied = true},
    Family{.hf_class = "Phi3ForCausalLM",
           .model_type = "phi3",
           .gguf = "phi3",
           .norm_eps = 1e-5,
           .max_positions = 4096},
    Family{.hf_class = "GPT2LMHeadModel",
           .model_type = "gpt2",
           .gguf = "gpt2",
           .act = "gelu_new",
           .layer_norm = true,
           .norm_eps = 1e-5,
           .max_positions = 1024,
           .tied = true},
    Family{.hf_class = "Starcoder2ForCausalLM",
           .model_type = "starcoder2",
           .gguf = "starcoder2",
           .act = kGelu,
           .layer_norm = true,
           .norm_eps = 1e-5,
           .max_positions = 4096,
           .n_heads = 24,
           .n_kv_heads = 2,
           .tied = true},
};

// Reads members of one JSON object with checked types; errors name file and member.
class Members {
 public:
  Members(const Json& object, const std::string& source) : object_(&object), source_(&source) {}

  using Names = std::initializer_list<std::string_view>;  // the first present one counts

  // Null when absent or null in the file.
  const Json* get(Names names) const {
    for (const std::string_view name : names) {
      const Json* found = object_->find(name);
      if (found != nullptr && !found->is_null()) return found;
    }
    return nullptr;
  }
  // Whether it is there, null or not.
  bool has(std::string_view name) const { return object_->contains(name); }
  // From 0 to 2^31 - 1. `otherwise` < 0 means that the member must be there.
  Result<int64_t> integer(Names names, int64_t otherwise = -1) const {
    const Json* value = get(names);
    if (value == nullptr && otherwise >= 0) return otherwise;
    if (value == nullptr) return wrong(names, "is missing");
    if (!value->is_number_integer()) return wrong(names, "is not an integer");
    const bool fits = value->is_number_unsigned() ? value->get<uint64_t>() <= INT32_MAX
                                                  : value->get<int64_t>() >= 0;
    if (!fits) return wrong(names, "is not in the range 0 to 2^31 - 1");
    return value->get<int64_t>();
  }
  Result<int64_t> positive(Names names, int64_t otherwise = -1) const {
    const int64_t value = TRY(integer(names, otherwise == 0 ? -1 : otherwise));
    if (value == 0) return wrong(names, "is 0");
    return value;
  }
  Result<std::optional<double>> number(Names names) const {
    const Json* value = get(names);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
      return wrong(names, "is not a finite number");
    }
    return value->get<double>();
  }
  Result<std::optional<bool>> truth(Names names) const {
    const Json* value = get(names);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) return wrong(names, "is not true or false");
    return value->get<bool>();
  }
  Result<std::string> text(Names names, std::string_view otherwise) const {
    const Json* value = get(names);
    if (value == nullptr) return std::string(otherwise);
    if (!value->is_string()) return wrong(names, "is not text");
    return value->get<std::string>();
  }
  // An object's members; those of an empty object when absent.
  Result<Members> object(Names names) const {
    static const Json kEmpty = Json::object();
    const Json* value = get(names);
    if (value == nullptr) return Members(kEmpty, *source_);
    if (!value->is_object()) return wrong(names, "is not an object");
    return Members(*value, *source_);
  }
  tl::unexpected<Status> wrong(Names names, std::string_view what,
                               Code code = Code::corrupt) const {
    return fail(code, "{}: '{}' {}", *source_, *names.begin(), what);
  }

 private:
  const Json* object_;
  const std::string* source_;
};

class ConfigReader {
 public:
  ConfigReader(Members config, const Family& family, HfConfig& out)
      : config_(config), family_(family), out_(out) {}

  Status read() {
    TRY(read_sizes());
    TRY(read_block());
    TRY(read_windows());
    TRY(read_rope());
    return read_experts();
  }

 private:
  Status read_sizes();
  Status read_block();
  Status read_windows();
  Status read_layer_types(const Json& types);
  Status read_rope();
  Status read_scaling(const Members& rope);
  Status read_longrope(const Members& rope, int64_t original);
  Status read_experts();
  Status copy_number(const Members& from, std::string_view name, std::string_view key);
  Status copy_truth(std::string_view name);
  Status copy_factors(const Members& rope, std::string_view name, std::string_view key);
  void set(std::string_view key, MetaValue value) {
    out_.metadata.insert_or_assign(fmt::format("{}.{}", family_.gguf, key), std::move(value));
  }

  Members config_;
  const Family& family_;
  HfConfig& out_;
  int64_t n_layers_ = 0;
  int64_t head_dim_ = 0;
  int64_t max_positions_ = 0;
};

Status ConfigReader::copy_number(const Members& from, std::string_view name, std::string_view key) {
  const auto value = TRY(from.number({name}));
  if (value) set(key, *value);
  return {};
}

Status ConfigReader::copy_truth(std::string_view name) {
  const auto value = TRY(config_.truth({name}));
  if (value) set(name, *value);
  return {};
}

Status ConfigReader::read_sizes() {
  n_layers_ = TRY(config_.positive({"num_hidden_layers", "n_layer"}));
  if (n_layers_ > kMaxLayers) return config_.wrong({"num_hidden_layers"}, "is above 65536");
  const int64_t width = TRY(config_.positive({"hidden_size", "n_embd"}));
  const int64_t ffn_otherwise = family_.gguf == "gpt2" ? 4 * width : -1;
  max_positions_ = TRY(
      config_.positive({"max_position_embeddings", "n_positions", "n_ctx"}, family_.max_positions));
  set("block_count", n_layers_);
  set("embedding_length", width);
  set("feed_forward_length",
      TRY(config_.positive({"intermediate_size", "n_inner"}, ffn_otherwise)));
  set("context_length", max_positions_);
  // Gemma 3 configs may leave it out; the embedding's shape says it too.
  if (config_.get({"vocab_size"}) != nullptr) {
    set("vocab_size", TRY(config_.positive({"vocab_size"})));
  }

  const int64_t n_heads = TRY(config_.positive({"num_attention_heads", "n_head"}, family_.n_heads));
  const int64_t kv_otherwise = family_.n_kv_heads != 0 ? family_.n_kv_heads : n_heads;
  head_dim_ = TRY(config_.integer({"head_dim"}, family_.head_dim));
  if (head_dim_ == 0 && width % n_heads != 0) {
    return config_.wrong({"num_attention_heads"}, "does not divide hidden_size");
  }
  if (head_dim_ == 0) head_dim_ = width / n_heads;
  set("attention.head_count", n_heads);
  set("attention.head_count_kv", TRY(config_.positive({"num_key_value_heads"}, kv_otherwise)));
  set("attention.key_length", head_dim_);
  set("attention.value_length", head_dim_);
  return {};
}

Status ConfigReader::read_block() {
  const auto eps = TRY(config_.number({"rms_norm_eps", "layer_norm_epsilon", "norm_epsilon"}));
  set(family_.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
      eps.value_or(family_.norm_eps));
  // Gemma configs carry a wrong "hidden_act" beside the right "hidden_activation".
  const bool gemma = family_.gguf.starts_with("gemma");
  set("hidden_act", gemma ? TRY(config_.text({"hidden_activation"}, family_.act))
                          : TRY(config_.text({"hidden_act", "activation_function"}, family_.act)));
  out_.norms_minus_one = gemma;
  out_.tied_embeddings = TRY(config_.truth({"tie_word_embeddings"})).value_or(family_.tied);
  set("tie_word_embeddings", out_.tied_embeddings);
  TRY(copy_truth("attention_bias"));
  TRY(copy_truth("mlp_bias"));
  TRY(copy_number(config_, "attn_logit_softcapping", "attn_logit_softcapping"));
  TRY(copy_number(config_, "final_logit_softcapping", "final_logit_softcapping"));
  return copy_number(config_, "query_pre_attn_scalar", "attention.query_pre_attn_scalar");
}

Status ConfigReader::read_windows() {
  const bool qwen = family_.gguf == "qwen2" || family_.gguf == "qwen3";
  if (qwen && !TRY(config_.truth({"use_sliding_window"})).value_or(false)) return {};
  const int64_t window = TRY(config_.integer({"sliding_window"}, family_.window));
  const bool disabled = family_.window_period == 0 && config_.get({"sliding_window"}) == nullptr &&
                        config_.has("sliding_window");
  if (window == 0 || disabled) return {};
  set("attention.sliding_window", window);
  if (const Json* types = config_.get({"layer_types"})) return read_layer_types(*types);
  if (qwen) {  // the layers below max_window_layers see everything
    auto windowed = std::make_shared<MetaArray>();
    const int64_t n_full = TRY(config_.integer({"max_window_layers"}, 28));
    for (int64_t i = 0; i < n_layers_; ++i) windowed->bools.push_back(i >= n_full);
    set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(windowed));
    return {};
  }
  const int64_t period = TRY(config_.integer({"sliding_window_pattern", "_sliding_window_pattern"},
                                             family_.window_period));
  if (period > 0) set("attention.sliding_window_pattern", period);
  return {};
}

Status ConfigReader::read_layer_types(const Json& types) {
  if (!types.is_array() || types.size() != static_cast<size_t>(n_layers_)) {
    return config_.wrong({"layer_types"}, "is not an array with one text for each layer");
  }
  auto windowed = std::make_shared<MetaArray>();
  for (const Json& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return config_.wrong({"layer_types"}, "has a kind of layer that is not supported",
                           Code::unsupported);
    }
    windowed->bools.push_back(type == "sliding_attention");
  }
  // The period form is what GGUF files of these families imply, so it is preferred.
  const auto first_full = std::find(windowed->bools.begin(), windowed->bools.end(), false);
  const int64_t period = first_full - windowed->bools.begin() + 1;
  bool periodic = true;
  for (int64_t i = 0; i < n_layers_; ++i) {
    periodic &= windowed->bools[static_cast<size_t>(i)] == ((i + 1) % period != 0);
  }
  if (periodic) {
    set("attention.sliding_window_pattern", period);
  } else {
    set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(windowed));
  }
  return {};
}

// RoPE settings live in the config itself and rope_scaling, or in rope_parameters, there once or
// for each kind of layer.
Status ConfigReader::read_rope() {
  if (family_.gguf == "gpt2") return {};
  const Members all = TRY(config_.object({"rope_parameters", "rope_scaling"}));
  const bool per_kind = all.get({"full_attention"}) != nullptr;
  const Members rope = per_kind ? TRY(all.object({"full_attention"})) : all;
  const Members local = TRY(all.object({"sliding_attention"}));

  const auto own_base = TRY(rope.number({"rope_theta"}));
  const auto base = own_base ? own_base : TRY(config_.number({"rope_theta"}));
  set("rope.freq_base", base.value_or(family_.rope_base));
  if (family_.gguf == "gemma3") {
    const auto own_local = TRY(local.number({"rope_theta"}));
    const auto local_base = own_local ? own_local : TRY(config_.number({"rope_local_base_freq"}));
    set("rope.freq_base_swa", local_base.value_or(10000));
  }
  const auto own_part = TRY(rope.number({"partial_rotary_factor"}));
  const double part =
      (own_part ? own_part : TRY(config_.number({"partial_rotary_factor"}))).value_or(1.0);
  if (part <= 0 || part > 1) {
    return config_.wrong({"partial_rotary_factor"}, "is not in the range above 0 to 1");
  }
  set("rope.dimension_count", static_cast<int64_t>(static_cast<double>(head_dim_) * part));
  return read_scaling(rope);
}

Status ConfigReader::read_scaling(const Members& rope) {
  std::string type = TRY(rope.text({"rope_type", "type"}, "default"));
  if (type == "default") return {};
  if (type == "su") type = "longrope";
  if (type != "linear" && type != "llama3" && type != "yarn" && type != "longrope") {
    return config_.wrong({"rope_scaling"},
                         fmt::format("has the type '{}'; linear, llama3, yarn and longrope are "
                                     "supported",
                                     quoted_name(type)),
                         Code::unsupported);
  }
  set("rope.scaling.type", type);
  TRY(copy_number(rope, "factor", "rope.scaling.factor"));
  TRY(copy_number(rope, "low_freq_factor", "rope.scaling.low_freq_factor"));
  TRY(copy_number(rope, "high_freq_factor", "rope.scaling.high_freq_factor"));
  TRY(copy_number(rope, "beta_fast", "rope.scaling.yarn_beta_fast"));
  TRY(copy_number(rope, "beta_slow", "rope.scaling.yarn_beta_slow"));
  TRY(copy_number(rope, "attention_factor", "rope.scaling.attn_factor"));
  if (type != "longrope" && rope.get({"factor"}) == nullptr) {
    return config_.wrong({"rope_scaling"}, "has no factor");
  }
  const int64_t own = TRY(rope.integer({"original_max_position_embeddings"}, 0));
  const int64_t original =
      own != 0 ? own : TRY(config_.positive({"original_max_position_embeddings"}, max_positions_));
  set("rope.scaling.original_context_length", original);
  return type == "longrope" ? read_longrope(rope, original) : Status();
}

// LongRoPE (Ding et al., 2024) as Phi-3 uses it: GGUF files hold the attention factor, configs may
// leave it to the formula.
Status ConfigReader::read_longrope(const Members& rope, int64_t original) {
  TRY(copy_factors(rope, "short_factor", "rope.scaling.short_factor"));
  TRY(copy_factors(rope, "long_factor", "rope.scaling.long_factor"));
  if (rope.get({"attention_factor"}) != nullptr) return {};
  const double stretch = static_cast<double>(max_positions_) / static_cast<double>(original);
  const bool stretched = stretch > 1 && original > 1;
  set("rope.scaling.attn_factor",
      stretched ? std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original))) : 1.0);
  return {};
}

Status ConfigReader::copy_factors(const Members& rope, std::string_view name,
                                  std::string_view key) {
  const auto n_dims =
      std::get<int64_t>(out_.metadata.at(fmt::format("{}.rope.dimension_count", family_.gguf)));
  const Json* value = rope.get({name});
  if (value == nullptr || !value->is_array() || value->size() != static_cast<size_t>(n_dims / 2)) {
    return rope.wrong({name}, fmt::format("is not an array of {} numbers, half the rotated "
                                          "dimensions of a head",
                                          n_dims / 2));
  }
  auto factors = std::make_shared<MetaArray>();
  for (const Json& factor : *value) {
    if (!factor.is_number()) return rope.wrong({name}, "has something that is not a number");
    factors->numbers.push_back(factor.get<double>());
  }
  set(key, std::shared_ptr<const MetaArray>(std::move(factors)));
  return {};
}

Status ConfigReader::read_experts() {
  if (config_.get({"num_local_experts"}) == nullptr) return {};
  set("expert_count", TRY(config_.positive({"num_local_experts"})));
  set("expert_used_count", TRY(config_.positive({"num_experts_per_tok"})));
  return {};
}

// A name that may be shown as it is, since errors above quote it.
Result<std::string> short_name(const Members& config, const std::string& name) {
  if (name.empty() || quoted_name(name) != name) {
    return config.wrong({"architectures"}, "is not a short text");
  }
  return name;
}

// The class name that the config gives, or its model_type.
Result<std::string> class_of(const Members& config) {
  const Json* classes = config.get({"architectures"});
  if (classes != nullptr) {
    if (!classes->is_array() || classes->empty() || !classes->front().is_string()) {
      return config.wrong({"architectures"}, "is not an array of texts");
    }
    return short_name(config, classes->front().get<std::string>());
  }
  const std::string type = TRY(config.text({"model_type"}, ""));
  if (type.empty()) return config.wrong({"architectures"}, "is missing, and model_type too");
  return short_name(config, type);
}

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text, const std::string& source) {
  if (text.size() > kMaxConfigBytes) {
    return fail(Code::corrupt, "{}: {} bytes, a config has at most {}", source, text.size(),
                kMaxConfigBytes);
  }
  const Json json = TRY(parse_json(text, source, {.depth = kMaxConfigDepth}));
  if (!json.is_object()) return fail(Code::corrupt, "{}: not a JSON object", source);
  const Members config(json, source);
  HfConfig out;
  out.architecture = TRY(class_of(config));
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& row) {
    return row.hf_class == out.architecture || row.model_type == out.architecture;
  });
  if (family != kFamilies.end()) {
    out.architecture = family->gguf;
    const bool nested = config.get({"text_config"}) != nullptr;
    const Members settings = nested ? TRY(config.object({"text_config"})) : config;
    TRY(ConfigReader(settings, *family, out).read());
  }
  out.metadata.insert_or_assign("general.architecture", out.architecture);
  return out;
}

}  // namespace ruv
