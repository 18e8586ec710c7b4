// One function for each method; a table of methods.
#include "format/foreign/foreign_config.h"

#include <algorithm>
#include <array>

#include "family/word_list.h"
#include "format/python_json.h"

namespace ruv {
namespace {

constexpr int kMaxForeignDepth = 32;
constexpr size_t kMaxForeignBytes = size_t{4} << 20;

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

tl::unexpected<Status> refused_setting(const Members& config, std::string_view name,
                                       std::string_view supported) {
  return config.wrong(name,
                      fmt::format("is {}, which is not supported for weights of this kind; "
                                  "supported:{}",
                                  config.shown(name), supported),
                      Code::unsupported);
}

// The text of a key, which must be one of the words; `absent` where it is missing or null.
Result<std::string> one_of(const Members& config, std::string_view name, std::string_view words,
                           std::string_view absent) {
  if (!config.is_set(name)) return std::string(absent);
  std::string text = lower_case(TRY(config.text_or(name, absent)));
  if (is_word_of(words, text)) return text;
  return refused_setting(config, name, words);
}

// Refuses keys that are set to something other than false, an empty value or a word of the list.
Status refuse_set(const Members& config, std::string_view names) {
  for (const std::string_view name : words_of(names)) {
    if (!config.is_set(name)) continue;
    const Json& value = *config.find(name);
    const bool is_off = (value.is_boolean() && !value.get<bool>()) ||
                        ((value.is_object() || value.is_array()) && value.empty());
    if (!is_off) return refused_setting(config, name, " null false ");
  }
  return {};
}

// An integer of which −1, null and absence mean the whole row.
Result<int64_t> group_size(const Members& config, std::string_view name) {
  if (!config.is_set(name)) return int64_t{0};
  if (config.find(name)->dump() == "-1") return int64_t{0};
  return config.positive(name);
}

Status read_bits(const Members& config, std::string_view name, std::string_view words,
                 ForeignConfig& out) {
  const int64_t bits = TRY(config.positive(name));
  if (!is_word_of(words, std::to_string(bits))) return refused_setting(config, name, words);
  out.bits.insert(bits);
  return {};
}

void remark_on_activations(std::string_view key, ForeignConfig& out) {
  out.remarks.push_back(
      fmt::format("'{}.{}': activations are not quantised here, they are more precise than the "
                  "checkpoint asks for",
                  out.key, key));
}

Status read_gptq(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::gptq;
  TRY(read_bits(config, "bits", " 2 3 4 8 ", out));
  out.group = TRY(group_size(config, "group_size"));
  TRY(refuse_set(config, "is_marlin_format rotation adapter"));
  const std::string_view key = config.is_set("checkpoint_format") ? "checkpoint_format" : "format";
  out.zeros_less_one = TRY(one_of(config, key, " gptq gptq_v2 ", "gptq")) == "gptq";
  TRY(one_of(config, "pack_dtype", " int32 ", "int32"));
  out.by_module = config.is_set("dynamic");
  return {};
}

Status read_awq(const Members& config, ForeignConfig& out) {
  // Files of AutoAWQ itself have names of their own.
  const bool is_own = config.is_set("w_bit");
  TRY(read_bits(config, is_own ? "w_bit" : "bits", " 4 ", out));
  out.group = TRY(group_size(config, is_own ? "q_group_size" : "group_size"));
  const std::string_view key = config.is_set("version") ? "version" : "format";
  const std::string layout = TRY(one_of(config, key, " gemm gemv ", "gemm"));
  out.scheme = layout == "gemm" ? ForeignScheme::awq : ForeignScheme::awq_rows;
  return {};
}

// What the tool writes for the formats of others.
Status read_auto_round(const Members& config, ForeignConfig& out) {
  const std::string packing = TRY(
      one_of(config, "packing_format", " auto_round:auto_gptq auto_round:auto_awq ", "unnamed"));
  if (packing == "unnamed") {
    return config.wrong("packing_format", "is missing", Code::unsupported);
  }
  if (packing == "auto_round:auto_awq") return read_awq(config, out);
  return read_gptq(config, out);
}

Status read_group_weights(const Members& group, ForeignConfig& out) {
  const Members weights = TRY(group.object("weights"));
  if (weights.json().empty()) return {};
  TRY(one_of(weights, "type", " int float ", "int"));
  TRY(read_bits(weights, "num_bits", " 2 3 4 5 6 7 8 ", out));
  TRY(one_of(weights, "strategy", " tensor channel group block tensor_group ", "tensor"));
  for (const std::string_view key : {"input_activations", "output_activations"}) {
    if (group.is_set(key)) remark_on_activations(fmt::format("config_groups.*.{}", key), out);
  }
  return {};
}

Status read_config_groups(const Members& config, ForeignConfig& out) {
  const Members groups = TRY(config.object("config_groups"));
  for (const auto& [name, value] : groups.json().items()) {
    TRY(read_group_weights(TRY(groups.object(name)), out));
  }
  std::ranges::sort(out.remarks);
  out.remarks.erase(std::unique(out.remarks.begin(), out.remarks.end()), out.remarks.end());
  return {};
}

void remark_on_cache(const Members& config, ForeignConfig& out) {
  for (const std::string_view key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    if (!config.is_set(key)) continue;
    out.remarks.push_back(
        fmt::format("'{}.{}' is not used: the cache is as the --kv option says", out.key, key));
  }
}

Status read_compressed(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::compressed_tensors;
  TRY(one_of(config, "format",
             " dense pack-quantized int-quantized naive-quantized float-quantized "
             "nvfp4-pack-quantized mxfp4-pack-quantized mixed-precision ",
             "dense"));
  TRY(one_of(config, "quantization_status", " compressed frozen ", "compressed"));
  TRY(refuse_set(config, "transform_config"));
  const Members sparsity = TRY(config.object("sparsity_config"));
  TRY(one_of(sparsity, "format", " dense ", "dense"));
  remark_on_cache(config, out);
  return read_config_groups(config, out);
}

// Two sizes, or nothing.
Status read_block_size(const Members& config, ForeignConfig& out) {
  constexpr std::string_view kName = "weight_block_size";
  if (!config.is_set(kName)) return {};
  const Json& sizes = *config.find(kName);
  const auto is_size = [](const Json& one) {
    return one.is_number_integer() && one.get<int64_t>() > 0 && one.get<int64_t>() < (1 << 20);
  };
  if (!sizes.is_array() || sizes.size() != 2 || !std::all_of(sizes.begin(), sizes.end(), is_size)) {
    return config.wrong(kName, "is not an array of two sizes");
  }
  out.block_rows = sizes.front().get<int64_t>();
  out.block_columns = sizes.back().get<int64_t>();
  return {};
}

Status read_float8(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::float8;
  TRY(one_of(config, "fmt", " e4m3 e5m2 float8_e4m3fn float8_e5m2 ", "e4m3"));
  TRY(one_of(config, "activation_scheme", " dynamic static ", "dynamic"));
  TRY(one_of(config, "scale_fmt", " float ue8m0 ", "float"));
  TRY(one_of(config, "expert_dtype", " fp8 ", "fp8"));
  TRY(read_block_size(config, out));
  remark_on_activations("activation_scheme", out);
  return {};
}

Status read_fbgemm(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::float8;
  if (config.is_set("activation_scale_ub")) remark_on_activations("activation_scale_ub", out);
  return {};
}

Status read_model_opt(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::model_opt;
  TRY(one_of(config, "quant_algo", " fp8 nvfp4 ", "nvfp4"));
  remark_on_activations("quant_algo", out);
  remark_on_cache(config, out);
  return {};
}

Status read_bitsandbytes(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::bitsandbytes;
  TRY(one_of(config, "bnb_4bit_quant_type", " nf4 fp4 ", "fp4"));
  TRY(one_of(config, "bnb_4bit_quant_storage", " uint8 ", "uint8"));
  TRY(refuse_set(config, "llm_int8_has_fp16_weight"));
  const bool is_int8 = TRY(config.truth("load_in_8bit")).value_or(false);
  if (is_int8) remark_on_activations("load_in_8bit", out);
  return {};
}

Status read_hqq(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::hqq;
  // The settings of all layers, or of each kind; tensors beside the weights say them again.
  TRY(config.object("quant_config"));
  return {};
}

Status read_bitnet(const Members& config, ForeignConfig& out) {
  out.scheme = ForeignScheme::ternary;
  TRY(one_of(config, "quantization_mode", " offline ", "offline"));
  TRY(refuse_set(config, "use_rms_norm"));
  const std::string form =
      TRY(one_of(config, "linear_class", " bitlinear autobitlinear ", "bitlinear"));
  out.divides_by_scale = form == "bitlinear";
  remark_on_activations("linear_class", out);
  return {};
}

Status read_mxfp4(const Members& /*config*/, ForeignConfig& out) {
  out.scheme = ForeignScheme::in_names;
  return {};
}

struct ForeignMethod {
  std::string_view name;
  Status (*read)(const Members& config, ForeignConfig& out);
  // Keys that are read, and those that say how the tool worked.
  std::string_view known;
};
constexpr std::array kMethods = {
    ForeignMethod{
        "gptq", read_gptq,
        " bits group_size is_marlin_format rotation adapter checkpoint_format format pack_dtype "
        "dynamic desc_act sym static_groups true_sequential lm_head damp_percent "
        "damp_auto_increment model_name_or_path model_file_base_name meta dataset tokenizer "
        "batch_size modules_in_block_to_quantize block_name_to_quantize "
        "module_name_preceding_first_block cache_block_outputs use_cuda_fp16 use_exllama "
        "exllama_config max_input_length disable_exllama backend model_seqlen pad_token_id hyb_act "
        "mse offload_to_disk offload_to_disk_path act_group_aware gptaq version method uri "
        "pack_impl quantizer modules_to_not_convert "},
    ForeignMethod{"awq", read_awq,
                  " bits w_bit group_size q_group_size version format zero_point "
                  "modules_to_not_convert do_fuse fuse_max_seq_len modules_to_fuse exllama_config "
                  "backend "},
    ForeignMethod{
        "auto-round", read_auto_round,
        " packing_format bits group_size sym data_type iters lr minmax_lr low_gpu_mem_usage "
        "nsamples seqlen batch_size scale_dtype enable_minmax_tuning enable_norm_bias_tuning "
        "enable_quanted_input autoround_version backend amp dataset damp_percent "
        "desc_act true_sequential checkpoint_format format version zero_point "
        "gradient_accumulate_steps block_name_to_quantize to_quant_block_names "},
    ForeignMethod{"compressed-tensors", read_compressed,
                  " format quantization_status transform_config sparsity_config kv_cache_scheme "
                  "config_groups global_compression_ratio ignore version run_compressed "},
    ForeignMethod{"fp8", read_float8,
                  " fmt activation_scheme scale_fmt expert_dtype weight_block_size dequantize "
                  "modules_to_not_convert modules_to_convert ignored_layers "},
    ForeignMethod{"fbgemm_fp8", read_fbgemm, " activation_scale_ub modules_to_not_convert "},
    ForeignMethod{"modelopt", read_model_opt,
                  " quant_algo kv_cache_scheme kv_cache_quant_algo config_groups ignore producer "
                  "exclude_modules group_size "},
    ForeignMethod{"bitsandbytes", read_bitsandbytes,
                  " load_in_4bit load_in_8bit _load_in_4bit _load_in_8bit bnb_4bit_quant_type "
                  "bnb_4bit_quant_storage bnb_4bit_use_double_quant bnb_4bit_compute_dtype "
                  "llm_int8_threshold llm_int8_skip_modules llm_int8_enable_fp32_cpu_offload "
                  "llm_int8_has_fp16_weight "},
    ForeignMethod{"hqq", read_hqq, " quant_config skip_modules "},
    ForeignMethod{"bitnet", read_bitnet,
                  " quantization_mode use_rms_norm linear_class rms_norm_eps "
                  "modules_to_not_convert "},
    ForeignMethod{"mxfp4", read_mxfp4, " modules_to_not_convert dequantize "},
};
constexpr std::array kFiles = {ForeignFile{"hf_quant_config.json", "modelopt"},
                               ForeignFile{"quantize_config.json", "gptq"},
                               ForeignFile{"quant_config.json", "awq"}};

const ForeignMethod* method_of(const Json& settings) {
  const Json* const name = settings.is_object() ? settings.find("quant_method") : nullptr;
  if (name == nullptr || !name->is_string()) return nullptr;
  const std::string text = lower_case(name->get<std::string>());
  for (const ForeignMethod& method : kMethods) {
    if (method.name == text) return &method;
  }
  return nullptr;
}

}  // namespace

bool is_foreign_method(const Json& settings) { return method_of(settings) != nullptr; }

Result<ForeignConfig> parse_foreign_config(const Members& config, std::string key) {
  const ForeignMethod& method = *method_of(config.json());
  ForeignConfig out;
  out.key = std::move(key);
  TRY(method.read(config, out));
  for (const auto& [name, value] : config.json().items()) {
    if (name == "quant_method" || is_word_of(method.known, name)) continue;
    out.remarks.push_back(fmt::format("key '{}' ({}) is not read for weights of this kind",
                                      config.path_of(name), config.shown(name)));
  }
  return out;
}

Result<std::optional<ForeignConfig>> take_foreign_config(Json& json, const std::string& source,
                                                         Faults& faults) {
  std::optional<ForeignConfig> found;
  for (const std::string_view where : {"", "text_config"}) {
    Json* const object = where.empty() ? &json : json.find(where);
    if (object == nullptr || !object->is_object()) continue;
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      const Json* const settings = object->find(key);
      if (settings == nullptr || found || !is_foreign_method(*settings)) continue;
      const std::string path = fmt::format("{}{}{}", where, where.empty() ? "" : ".", key);
      Result<ForeignConfig> config =
          parse_foreign_config(Members(*settings, source, path + "."), path);
      if (!config) TRY(faults.keep_unsupported(config.error()));
      if (config) found = std::move(*config);
      object->erase(key);
    }
  }
  return found;
}

std::span<const ForeignFile> foreign_config_files() { return kFiles; }

Result<Json> parse_foreign_file(std::string_view text, const std::string& source,
                                std::string_view method) {
  if (text.size() > kMaxForeignBytes) {
    return fail(Code::corrupt, "{}: {} bytes, such a file has at most {}", source, text.size(),
                kMaxForeignBytes);
  }
  Json json = TRY(parse_json(with_tagged_floats(text), source, {.depth = kMaxForeignDepth}));
  if (!json.is_object()) return fail(Code::corrupt, "{}: not a JSON object", source);
  if (const Json* const inner = json.find("quantization"); inner != nullptr) {
    if (!inner->is_object())
      return fail(Code::corrupt, "{}: 'quantization' is not an object", source);
    Json copy = *inner;
    json = std::move(copy);
  }
  if (json.find("quant_method") == nullptr) json["quant_method"] = std::string(method);
  return json;
}

}  // namespace ruv
