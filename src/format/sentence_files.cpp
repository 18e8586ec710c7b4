#include "format/sentence_files.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "family/word_list.h"
#include "format/config_members.h"
#include "format/safetensors.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr size_t kMaxValues = 10'000;
constexpr int64_t kMaxWidth = 1 << 16;

// A JSON file of at most 1 MB.
class JsonFile {
 public:
  static Result<JsonFile> open(const std::string& path) {
    const MappedFile file = TRY(MappedFile::open(path));
    if (file.bytes().size() > kMaxFileBytes) return fail(Code::corrupt, "{}: above 1 MB", path);
    JsonFile json;
    json.path_ = path;
    json.root_ = TRY(parse_json(as_text(file.bytes()), path, {.depth = 16, .values = kMaxValues}));
    TRY(file.check_read());
    return json;
  }
  // Fails: corrupt (not an object).
  Result<Members> members() const {
    if (!root_.is_object()) return fail(Code::corrupt, "{}: not a JSON object", path_);
    return Members(root_, path_);
  }
  const Json& root() const { return root_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Json root_;
};

// Fails for the first member that is in neither list. A key of `neutral` may be null, false or
// empty.
Status check_keys(const Members& members, std::string_view known, std::string_view neutral = "") {
  for (const auto& [name, value] : members.json().items()) {
    if (is_word_of(known, name)) continue;
    const bool asks_nothing = value.is_null() || value == false ||
                              ((value.is_object() || value.is_array()) && value.empty());
    if (is_word_of(neutral, name) && asks_nothing) continue;
    return members.wrong(name, fmt::format("is {}, which is not supported", members.shown(name)),
                         Code::unsupported);
  }
  return {};
}

std::string joined_path(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

// One step of modules.json.
struct Step {
  std::string type;  // the class's own name
  std::string folder;
};

// The path must stay in the model's folder.
Result<std::string> step_folder(const Members& step, const std::string& folder) {
  const std::string path = TRY(step.text_or("path", ""));
  const bool leaves = path.starts_with('/') || path == ".." || path.starts_with("../") ||
                      path.ends_with("/..") || path.find("/../") != path.npos ||
                      path.find('\0') != path.npos;
  if (leaves) return step.wrong("path", "leads out of the folder");
  return path.empty() ? folder : joined_path(folder, path);
}

Result<std::vector<Step>> read_steps(const std::string& folder) {
  constexpr std::string_view kPackage = "sentence_transformers.";
  const JsonFile file = TRY(JsonFile::open(joined_path(folder, "modules.json")));
  if (!file.root().is_array()) return fail(Code::corrupt, "{}: not a list", file.path());
  std::vector<Step> steps;
  for (const Json& element : file.root()) {
    const std::string where = fmt::format("[{}].", steps.size());
    if (!element.is_object()) {
      return fail(Code::corrupt, "{}: '{}' is not an object", file.path(),
                  where.substr(0, where.size() - 1));
    }
    const Members step(element, file.path(), where);
    TRY(check_keys(step, " idx name path type ", " kwargs "));
    const std::string type = TRY(step.text_or("type", ""));
    if (!type.starts_with(kPackage)) {
      return step.wrong(
          "type",
          fmt::format("is {}: steps with code of their own are not supported", step.shown("type")),
          Code::unsupported);
    }
    steps.push_back({type.substr(type.rfind('.') + 1), TRY(step_folder(step, folder))});
  }
  return steps;
}

// What files of all ages call a kind of pooling.
struct PoolingName {
  std::string_view flag;  // a truth value
  std::string_view word;  // of "pooling_mode"
  std::optional<Pooling> pooling;
};
constexpr PoolingName kPoolings[] = {
    {"pooling_mode_cls_token", "cls", Pooling::cls},
    {"pooling_mode_mean_tokens", "mean", Pooling::mean},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::last},
    {"pooling_mode_weightedmean_tokens", "weightedmean", Pooling::weighted_mean},
    {"pooling_mode_max_tokens", "max", std::nullopt},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
};

// The one kind that the file asks for. Absent flags are false.
Result<Pooling> pooling_of(const Members& config) {
  const PoolingName* found = nullptr;
  std::string key;
  const auto take = [&](const PoolingName& name, std::string_view from) -> Status {
    if (found != nullptr) {
      return config.wrong(from,
                          "asks for another kind of pooling beside the first; vectors of "
                          "several are not supported",
                          Code::unsupported);
    }
    found = &name;
    key = from;
    return {};
  };
  for (const PoolingName& name : kPoolings) {
    if (TRY(config.truth(name.flag)).value_or(false)) TRY(take(name, name.flag));
  }
  if (config.is_set("pooling_mode")) {
    const std::string word = TRY(config.text_or("pooling_mode", ""));
    const auto* const named = std::ranges::find(kPoolings, word, &PoolingName::word);
    if (named == std::end(kPoolings)) {
      return config.wrong("pooling_mode",
                          fmt::format("is {}, which is not known", config.shown("pooling_mode")),
                          Code::unsupported);
    }
    TRY(take(*named, "pooling_mode"));
  }
  if (found == nullptr) {
    return fail(Code::corrupt, "{}: no kind of pooling is asked for", config.source());
  }
  if (!found->pooling) {
    return config.wrong(key, "is set; mean, cls, last token and weighted mean are supported",
                        Code::unsupported);
  }
  return *found->pooling;
}

Status read_pooling(const std::string& folder, SentenceFiles& out) {
  const JsonFile file = TRY(JsonFile::open(joined_path(folder, "config.json")));
  const Members config = TRY(file.members());
  TRY(check_keys(config,
                 " word_embedding_dimension embedding_dimension pooling_mode include_prompt "
                 "pooling_mode_cls_token pooling_mode_mean_tokens pooling_mode_lasttoken "
                 "pooling_mode_weightedmean_tokens pooling_mode_max_tokens "
                 "pooling_mode_mean_sqrt_len_tokens "));
  out.pooling = TRY(pooling_of(config));
  out.pools_prompt = TRY(config.truth("include_prompt")).value_or(true);
  for (const std::string_view key : {"word_embedding_dimension", "embedding_dimension"}) {
    if (config.has(key)) out.n_embd = TRY(config.positive(key));
  }
  return {};
}

// The numbers of one tensor of a step, as float32.
Result<std::vector<float>> tensor_numbers(const std::vector<SafetensorsTensor>& tensors,
                                          std::string_view name, const std::vector<int64_t>& shape,
                                          const std::string& path) {
  const auto found = std::ranges::find(tensors, name, &SafetensorsTensor::name);
  if (found == tensors.end()) {
    return fail(Code::not_found, "{}: tensor '{}' is missing", path, name);
  }
  if (!found->dtype) {
    return fail(Code::unsupported, "{}: tensor '{}': dtype {} is not supported", path, name,
                found->dtype_name);
  }
  if (found->shape != shape) {
    return fail(Code::corrupt, "{}: tensor '{}' is not of the size that config.json says", path,
                name);
  }
  const TensorInfo tensor{
      .name = found->name, .dtype = *found->dtype, .shape = shape, .bytes = found->bytes};
  std::vector<float> numbers(static_cast<size_t>(tensor.n_elements()));
  for (int64_t row = 0; row < tensor.n_rows(); ++row) {
    tensor.decode_row(row, numbers.data() + row * shape.back());
  }
  return numbers;
}

Result<bool> has_tanh(const Members& config) {
  constexpr std::string_view kKey = "activation_function";
  const std::string act = TRY(config.text_or(kKey, "torch.nn.modules.activation.Tanh"));
  if (act == "torch.nn.modules.activation.Tanh") return true;
  if (act == "torch.nn.modules.linear.Identity") return false;
  return config.wrong(kKey,
                      fmt::format("is {}; Tanh and Identity are supported", config.shown(kKey)),
                      Code::unsupported);
}

Status read_dense(const std::string& folder, SentenceFiles& out) {
  const JsonFile file = TRY(JsonFile::open(joined_path(folder, "config.json")));
  const Members config = TRY(file.members());
  TRY(check_keys(config, " in_features out_features bias activation_function "));
  DenseLayer layer{.n_in = TRY(config.positive("in_features")),
                   .n_out = TRY(config.positive("out_features")),
                   .has_tanh = TRY(has_tanh(config))};
  for (const auto& [name, width] :
       {std::pair("in_features", layer.n_in), std::pair("out_features", layer.n_out)}) {
    if (width > kMaxWidth) return config.wrong(name, fmt::format("is above {}", kMaxWidth));
  }
  const std::string path = joined_path(folder, "model.safetensors");
  if (!file_exists(path)) {
    return fail(Code::not_found,
                "{}: no model.safetensors; convert PyTorch files to safetensors first", folder);
  }
  const MappedFile weights = TRY(MappedFile::open(path));
  const std::vector<SafetensorsTensor> tensors = TRY(parse_safetensors(weights.bytes(), path));
  layer.weight = TRY(tensor_numbers(tensors, "linear.weight", {layer.n_out, layer.n_in}, path));
  if (TRY(config.truth("bias")).value_or(true)) {
    layer.bias = TRY(tensor_numbers(tensors, "linear.bias", {layer.n_out}, path));
  }
  TRY(weights.check_read());
  if (!out.dense.empty() && out.dense.back().n_out != layer.n_in) {
    return config.wrong("in_features", fmt::format("is {}, but the layer before gives {} numbers",
                                                   layer.n_in, out.dense.back().n_out));
  }
  out.dense.push_back(std::move(layer));
  return {};
}

// What the first step gives the next one.
struct GivenOutput {
  std::string_view task;
  std::string_view name;    // "module_output_name"
  std::string_view member;  // of what the model's class gives
};
constexpr GivenOutput kStates = {"feature-extraction", "token_embeddings", "last_hidden_state"};
constexpr GivenOutput kLogits = {"text-generation", "causal_logits", "logits"};

Status check_modality(const Members& modality, const GivenOutput& output) {
  TRY(check_keys(modality, " method method_output_name format "));
  if (TRY(modality.text_or("method_output_name", output.member)) != output.member) {
    return modality.wrong("method_output_name", fmt::format("is not \"{}\"", output.member),
                          Code::unsupported);
  }
  return {};
}

Status read_modalities(const Members& modalities, SentenceFiles& out) {
  const GivenOutput& output = out.logit_score ? kLogits : kStates;
  TRY(check_keys(modalities, out.logit_score ? " text message " : " text "));
  TRY(check_modality(TRY(modalities.object("text")), output));
  if (!out.logit_score || !modalities.is_set("message")) return {};
  const Members message = TRY(modalities.object("message"));
  TRY(check_modality(message, output));
  const std::string format = TRY(message.text_or("format", "structured"));
  if (!is_word_of(" flat structured ", format)) {
    return message.wrong("format", "is neither \"flat\" nor \"structured\"", Code::unsupported);
  }
  out.logit_score->by_template = true;
  out.logit_score->lists_parts = format == "structured";
  return {};
}

// What reads a text: sentence_bert_config.json, which is called after the model in old folders.
Status read_transformer(const std::string& folder, SentenceFiles& out) {
  for (const std::string_view model :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const std::string path = joined_path(folder, fmt::format("sentence_{}_config.json", model));
    if (!file_exists(path)) continue;
    const JsonFile file = TRY(JsonFile::open(path));
    const Members config = TRY(file.members());
    TRY(check_keys(config,
                   " max_seq_length do_lower_case transformer_task module_output_name "
                   "modality_config ",
                   " model_args tokenizer_args config_args model_kwargs processor_kwargs "
                   "config_kwargs processing_kwargs unpad_inputs "));
    if (config.is_set("max_seq_length")) out.max_tokens = TRY(config.positive("max_seq_length"));
    out.lower_case = TRY(config.truth("do_lower_case")).value_or(false);
    const GivenOutput& output = out.logit_score ? kLogits : kStates;
    for (const auto& [key, usual] : {std::pair("transformer_task", output.task),
                                     std::pair("module_output_name", output.name)}) {
      if (!config.is_set(key) || TRY(config.text_or(key, usual)) == usual) continue;
      return config.wrong(key,
                          fmt::format("is {}; only \"{}\" is supported", config.shown(key), usual),
                          Code::unsupported);
    }
    return read_modalities(TRY(config.object("modality_config")), out);
  }
  return {};
}

Status read_prompts(const Members& config, SentenceFiles& out) {
  const Members prompts = TRY(config.object("prompts"));
  for (const auto& [name, value] : prompts.json().items()) {
    out.prompts.emplace_back(name, TRY(prompts.text_or(name, "")));
  }
  if (!config.is_set("default_prompt_name")) return {};
  out.default_prompt = TRY(config.text_or("default_prompt_name", ""));
  const auto is_it = [&](const auto& prompt) { return prompt.first == out.default_prompt; };
  if (std::ranges::any_of(out.prompts, is_it)) return {};
  return config.wrong("default_prompt_name", "is not among 'prompts'");
}

Status read_config(const std::string& folder, SentenceFiles& out) {
  const std::string path = joined_path(folder, "config_sentence_transformers.json");
  if (!file_exists(path)) return {};
  const JsonFile file = TRY(JsonFile::open(path));
  const Members config = TRY(file.members());
  // The activation changes the scale of scores and no order; ours is stated with pair_scores().
  TRY(check_keys(config,
                 " __version__ prompts default_prompt_name similarity_fn_name model_type "
                 "activation_fn ",
                 " truncate_dim "));
  const std::string_view type = out.logit_score ? "CrossEncoder" : "SentenceTransformer";
  if (TRY(config.text_or("model_type", type)) != type) {
    return config.wrong("model_type", fmt::format("is not \"{}\"", type), Code::unsupported);
  }
  TRY(read_prompts(config, out));
  if (!config.is_set("similarity_fn_name")) return {};
  out.similarity = TRY(config.text_or("similarity_fn_name", ""));
  if (out.similarity == "dot_product") out.similarity = "dot";
  if (is_word_of(" cosine dot euclidean manhattan ", out.similarity)) return {};
  return config.wrong("similarity_fn_name",
                      fmt::format("is {}; cosine, dot, euclidean and manhattan are supported",
                                  config.shown("similarity_fn_name")),
                      Code::unsupported);
}

Status read_logit_score(const std::string& folder, SentenceFiles& out) {
  const JsonFile file = TRY(JsonFile::open(joined_path(folder, "config.json")));
  const Members config = TRY(file.members());
  TRY(check_keys(config, " true_token_id false_token_id module_input_name "));
  if (TRY(config.text_or("module_input_name", kLogits.name)) != kLogits.name) {
    return config.wrong("module_input_name", "is not \"causal_logits\"", Code::unsupported);
  }
  out.logit_score = LogitScore{.true_token = TRY(config.integer("true_token_id"))};
  if (config.is_set("false_token_id")) {
    out.logit_score->false_token = TRY(config.integer("false_token_id"));
  }
  return {};
}

// In their order: what reads a text, one pooling, dense layers, and at the end the scaling.
// `source`: the path of modules.json.
Status read_step(const Step& step, size_t place, const std::string& source, bool& has_pooling,
                 SentenceFiles& out) {
  const auto misplaced = [&] {
    return fail(Code::unsupported,
                "{}: '[{}].type' is {}: the order Transformer, Pooling, Dense, Normalize is "
                "supported, or Transformer, LogitScore",
                source, place, quoted_name(step.type));
  };
  if (step.type == "Dropout") return {};  // for training
  if (step.type == "LogitScore") return out.logit_score ? Status() : misplaced();
  if ((step.type == "Transformer") != (place == 0)) return misplaced();
  if (step.type == "Transformer") return read_transformer(step.folder, out);
  if (step.type == "Pooling") {
    if (std::exchange(has_pooling, true)) return misplaced();
    return read_pooling(step.folder, out);
  }
  if (step.type != "Dense" && step.type != "Normalize") {
    return fail(Code::unsupported, "{}: '[{}].type' is {}: such steps are not supported", source,
                place, quoted_name(step.type));
  }
  if (!has_pooling || out.normalises) return misplaced();
  if (step.type == "Dense") return read_dense(step.folder, out);
  out.normalises = true;
  return {};
}

}  // namespace

Result<std::optional<SentenceFiles>> read_sentence_files(const std::string& folder) {
  const std::string path = joined_path(folder, "modules.json");
  if (!file_exists(path)) return std::nullopt;
  SentenceFiles out;
  bool has_pooling = false;
  const std::vector<Step> steps = TRY(read_steps(folder));
  // What follows the model decides what it must give.
  const bool is_ranker = steps.size() == 2 && steps[1].type == "LogitScore";
  if (is_ranker) TRY(read_logit_score(steps[1].folder, out));
  for (size_t i = 0; i < steps.size(); ++i) {
    TRY(read_step(steps[i], i, path, has_pooling, out));
  }
  if (!has_pooling && !is_ranker)
    return fail(Code::unsupported, "{}: no step of type 'Pooling'", path);
  TRY(read_config(folder, out));
  return out;
}

}  // namespace ruv
