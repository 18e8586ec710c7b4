// ruvllm info: what a model file holds, what it needs, and whether it can run here; when it cannot,
// every reason that is found without reading the weights. Exit code 0: it runs, 1: it does not.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/folder.h"
#include "base/json.h"
#include "base/machine.h"
#include "chat/chat_template.h"
#include "command_line.h"
#include "commands.h"
#include "device/cache_layout.h"
#include "family/config_keys.h"
#include "family/layer_words.h"
#include "family/word_list.h"
#include "fit_table.h"
#include "format/gguf_keys.h"
#include "model/examine.h"
#include "model_defaults.h"
#include "open_model.h"
#include "tensor/format.h"
#include "terminal.h"

namespace ruv {
namespace {

struct TypeShare {
  int64_t n_tensors = 0;
  int64_t n_elements = 0;
  int64_t n_bytes = 0;
};

// A part of the file: absent, usable, or there but of no use, with the reason.
struct PartState {
  bool present = false;
  Status usable;
};

struct FileReport {
  const Model* model = nullptr;  // with shapes and without numbers
  std::map<DType, TypeShare> types;
  TypeShare total;
  const HParams* numbers = nullptr;  // null: they could not be read
  PartState tokenizer, chat_template;
  std::string tokenizer_kind;
  std::string draft_head;
  int64_t n_vocab = 0;
  Faults faults;                  // none: it runs
  int64_t weight_bytes = 0;       // packed when it runs, else as in the file
  KvType kv_type = KvType::int8;  // what `run` and `serve` use
  CacheLayout cache;
  int64_t machine_bytes = 0;

  const ModelFile& file() const { return *model->file; }
  int64_t n_ctx() const { return numbers != nullptr ? numbers->n_ctx_train : 0; }
  int64_t full_bytes() const { return weight_bytes + cache.held_bytes(n_ctx()); }
};

// Whether it drafts for a model, and "runs" means: beside one.
bool is_draft_head_file(const ModelFile& file) {
  return file.family() != nullptr && file.family()->is_draft_head;
}

void count_tensors(FileReport& report) {
  for (const TensorInfo& tensor : report.file().tensors()) {
    for (TypeShare* share : {&report.types[tensor.dtype], &report.total}) {
      share->n_tensors += 1;
      share->n_elements += tensor.n_elements();
      share->n_bytes += tensor.n_bytes();
    }
  }
  report.weight_bytes = report.total.n_bytes;
}

std::string kind_name(const TokenizerSpec& spec) {
  switch (spec.kind) {
    case TokenizerKind::sentencepiece_bpe:
      return "sentencepiece bpe";
    case TokenizerKind::unigram:
      return "unigram";
    case TokenizerKind::wordpiece:
      return "wordpiece";
    case TokenizerKind::rwkv_world:
      return "longest tokens of bytes";
    case TokenizerKind::byte_bpe:
      break;
  }
  return spec.pre.empty() ? "byte-level bpe" : fmt::format("byte-level bpe, {}", spec.pre);
}

// Tokenizer and template may be absent, or there and of a kind that is not supported.
void describe_texts(FileReport& report) {
  const Model& m = *report.model;
  report.tokenizer = {m.tokenizer != nullptr || m.tokenizer_status.code() != Code::not_found,
                      m.tokenizer_status};
  report.chat_template = {!m.file->chat_template().empty(), m.chat_template_status};
  if (m.tokenizer == nullptr) return;
  report.n_vocab = m.tokenizer->vocab_size();
  report.tokenizer_kind = kind_name(m.tokenizer->spec());
}

void describe_needs(FileReport& report) {
  report.machine_bytes = machine_memory_bytes();
  if (report.numbers != nullptr) {
    report.kv_type = report.numbers->default_kv();
    report.cache = report.model->cache_layout().with_type(report.kv_type);
  }
  if (!report.faults.empty()) return;
  report.weight_bytes = model_info(*report.model).weight_bytes;
  report.draft_head = draft_head_text(*report.model);
  if (report.machine_bytes > 0 && report.weight_bytes > report.machine_bytes) {
    report.faults.add(
        fail(Code::out_of_memory, "the weights take {} and this machine has {} of memory",
             readable_bytes(report.weight_bytes), readable_bytes(report.machine_bytes)));
  }
}

// Requires: the file could be opened. `examined` must outlive the report.
FileReport report_on(const ExaminedModel& examined) {
  FileReport report;
  report.model = examined.model.get();
  report.faults = examined.faults;
  if (examined.has_numbers) report.numbers = &examined.model->h;
  count_tensors(report);
  describe_texts(report);
  describe_needs(report);
  return report;
}

// What earlier starts left in the default folder.
struct PackedFolder {
  std::string folder;
  int64_t n_files = 0;
  int64_t n_bytes = 0;
  int64_t max_bytes = LoadOptions{}.packed_cache_max_bytes;
};

PackedFolder packed_files() {
  PackedFolder packed{.folder = default_packed_cache()};
  if (packed.folder.empty()) return packed;
  for (const FolderEntry& file : files_in(packed.folder)) {
    packed.n_files += 1;
    packed.n_bytes += file.n_bytes;
  }
  return packed;
}

std::string model_name(const ModelFile& file) {
  const Result<std::string> name = file.text("general.name");
  if (name && !name->empty()) return *name;
  const std::string& path = file.path();
  return path.substr(path.find_last_of('/') + 1);
}

// Why it does not work; null where it does.
Json reason_json(const Status& status) {
  return status.ok() ? Json(nullptr) : Json(status.message());
}

Json part_json(const PartState& part) {
  return {{"present", part.present},
          {"usable", part.present && part.usable.ok()},
          {"reason", part.present ? reason_json(part.usable) : Json(nullptr)}};
}

Json tensor_json(const TensorInfo& tensor) {
  return {{"name", tensor.name},
          {"type", format_of(tensor.dtype).name},
          {"shape", tensor.shape},
          {"bytes", tensor.n_bytes()}};
}

Json reasons_json(const Faults& faults) {
  Json reasons = Json::array();
  for (const Status& fault : faults.all()) reasons.push_back(fault.message());
  return reasons;
}

// The family's record and the model class that read the file; null: none of ours.
void add_family(const ModelFile& file, Json& out) {
  out["family"] = out["model_class"] = nullptr;
  if (file.family() != nullptr) out["family"] = file.family()->name;
  if (file.hf_class() != nullptr) out["model_class"] = file.hf_class()->model_type;
}

// How vectors of texts are made, or why they cannot be.
Json embedding_json(const Model& model) {
  const Result<EmbedInfo> info = embed_info(model);
  if (!info) return {{"usable", false}, {"reason", info.error().message()}};
  Json prompts = Json::object();
  for (const auto& [name, text] : info->prompts) prompts[name] = text;
  return {{"usable", true},
          {"reason", nullptr},
          {"pooling", std::string(pooling_name(info->pooling))},
          {"pooling_is_stated", info->pooling_is_stated},
          {"n_dims", info->n_dims},
          {"normalises", info->normalises},
          {"max_tokens", info->max_tokens},
          {"similarity", info->similarity},
          {"prompts", std::move(prompts)},
          {"default_prompt", info->default_prompt}};
}

Json report_json(const FileReport& report, bool with_tensors) {
  const ModelFile& file = report.file();
  Json out = {{"path", file.path()},
              {"container", std::string(file.container())},
              {"name", model_name(file)},
              {"architecture", file.architecture()},
              {"n_params", report.total.n_elements},
              {"n_tensors", report.total.n_tensors},
              {"tensor_bytes", report.total.n_bytes}};
  add_family(file, out);
  Json& types = out["types"] = Json::array();
  for (const auto& [dtype, share] : report.types)
    types.push_back({{"type", format_of(dtype).name},
                     {"n_tensors", share.n_tensors},
                     {"n_params", share.n_elements},
                     {"bytes", share.n_bytes}});
  if (report.numbers != nullptr) {
    const HParams& h = *report.numbers;
    out["numbers"] = {{"n_layers", h.n_layers},       {"n_embd", h.n_embd},
                      {"n_heads", h.n_heads},         {"n_kv_heads", h.n_kv_heads},
                      {"head_dim", h.head_dim},       {"n_ff", h.n_ff},
                      {"n_experts", h.n_experts},     {"n_experts_used", h.n_experts_used},
                      {"n_ctx_train", h.n_ctx_train}, {"window", h.window}};
  }
  out["tokenizer"] = part_json(report.tokenizer);
  out["tokenizer"]["kind"] = report.tokenizer_kind;
  out["tokenizer"]["n_vocab"] = report.n_vocab;
  out["chat_template"] = part_json(report.chat_template);
  out["sampling"] = defaults_json({.sampling = report.model->sampling})["sampling"];
  out["defaults"] = defaults_json(report.model->defaults);
  out["draft_head"] = report.draft_head;
  out["is_draft_head"] = is_draft_head_file(file);
  if (report.numbers != nullptr) out["embedding"] = embedding_json(*report.model);
  out["needs"] = {{"weight_bytes", report.weight_bytes},
                  {"kv", std::string(kv_type_name(report.kv_type))},
                  {"kv_bytes_per_token", report.cache.bytes_per_token()},
                  {"state_bytes", report.cache.state_bytes()},
                  {"full_context_tokens", report.n_ctx()},
                  {"full_context_bytes", report.full_bytes()},
                  {"machine_bytes", report.machine_bytes}};
  const PackedFolder packed = packed_files();
  out["packed_cache"] = {{"folder", packed.folder},
                         {"n_files", packed.n_files},
                         {"bytes", packed.n_bytes},
                         {"max_bytes", packed.max_bytes}};
  out["runs"] = report.faults.empty();
  out["reason"] = reason_json(report.faults.first());
  out["reasons"] = reasons_json(report.faults);
  out["n_more_reasons"] = report.faults.n_left_out();
  out["remarks"] = report.model->remarks;
  if (!with_tensors) return out;
  Json& tensors = out["tensors"] = Json::array();
  for (const TensorInfo& tensor : file.tensors()) tensors.push_back(tensor_json(tensor));
  return out;
}

void print_fact(const char* name, const std::string& value) {
  const TerminalStyle style = style_of(stdout);
  fmt::print("{}{:<14}{}{}\n", style.bold, name, style.reset, value);
}

std::string part_text(const PartState& part, const std::string& what) {
  if (!part.present) return "none";
  return part.usable.ok() ? what : "cannot be used: " + part.usable.message();
}

void print_tensors(const ModelFile& file) {
  for (const TensorInfo& tensor : file.tensors())
    fmt::print("  {:<40} {:<8} ({})  {}\n", tensor.name, format_of(tensor.dtype).name,
               fmt::join(tensor.shape, ", "), readable_bytes(tensor.n_bytes()));
}

// What a model lacks has no line: layers, feed-forwards beside other layers, heads.
void print_numbers(const HParams& h) {
  const std::string ff = h.n_ff > 0 ? fmt::format(", feed-forward {}", h.n_ff) : "";
  if (h.n_layers > 0)
    print_fact("layers", fmt::format("{} of width {}{}", h.n_layers, h.n_embd, ff));
  if (h.n_experts > 0) {
    print_fact("experts", fmt::format("{}, {} for each token, of width {}", h.n_experts,
                                      h.n_experts_used, h.n_ff_expert));
  }
  if (h.n_heads > 0 && h.n_kv_heads > 0) {
    print_fact("heads", fmt::format("{}, {} for keys and values, of width {}", h.n_heads,
                                    h.n_kv_heads, h.head_dim));
  }
  const std::string window = h.window > 0 ? fmt::format(", window {}", h.window) : "";
  if (h.n_ctx_train > 0) print_fact("context", fmt::format("{} tokens{}", h.n_ctx_train, window));
}

void print_needs(const FileReport& report) {
  print_fact("weights", readable_bytes(report.weight_bytes));
  if (report.numbers == nullptr) return;
  const bool is_narrow = report.numbers->head_dim < kNarrowHead;
  if (report.cache.bytes_per_token() > 0) {
    print_fact(
        "cache",
        fmt::format("{} per token, keys and values in {}{}",
                    readable_bytes(report.cache.bytes_per_token()), kv_type_name(report.kv_type),
                    is_narrow ? fmt::format(" as heads are narrower than {}", kNarrowHead) : ""));
  }
  if (report.cache.state_bytes() > 0) {
    print_fact("states", fmt::format("{} per sequence, whatever its length",
                                     readable_bytes(report.cache.state_bytes())));
  }
  if (report.n_ctx() == 0) return;
  print_fact("full context",
             fmt::format("{} in all; this machine has {}", readable_bytes(report.full_bytes()),
                         readable_bytes(report.machine_bytes)));
}

// The first reasons in words; all that are known are in the JSON form.
void print_verdict(const Faults& faults, bool is_head = false) {
  constexpr size_t kShown = 12;
  const TerminalStyle style = style_of(stdout);
  if (faults.empty()) {
    print_fact("runs", is_head ? "yes, beside a model, as its --draft-model" : "yes");
    return;
  }
  const size_t n_shown = std::min(kShown, faults.all().size());
  for (size_t i = 0; i < n_shown; ++i) {
    print_fact(i == 0 ? "runs" : "",
               fmt::format("{}no: {}{}", style.red, faults.all()[i].message(), style.reset));
  }
  const size_t n_more = faults.all().size() - n_shown + static_cast<size_t>(faults.n_left_out());
  if (n_more > 0) print_fact("", fmt::format("and {} more reasons", n_more));
}

std::string family_text(const ModelFile& file) {
  if (file.family() == nullptr) return "none of ours";
  if (file.hf_class() == nullptr) return std::string(file.family()->name);
  return fmt::format("{}, model class {}", file.family()->name, file.hf_class()->model_type);
}

std::string embedding_text(const Model& model) {
  const Result<EmbedInfo> info = embed_info(model);
  if (!info) return "cannot be made: " + info.error().message();
  std::string text =
      fmt::format("{} numbers, pooling {}{}{}", info->n_dims, pooling_name(info->pooling),
                  info->pooling_is_stated ? "" : " as the file names none",
                  info->normalises ? "" : ", not normalised");
  if (info->max_tokens > 0) text += fmt::format(", at most {} tokens", info->max_tokens);
  for (const auto& [name, unused] : info->prompts) {
    text += fmt::format("{} {}{}", &name == &info->prompts[0].first ? ", prompts" : ",", name,
                        name == info->default_prompt ? " (default)" : "");
  }
  return text;
}

void print_report(const FileReport& report, bool with_tensors) {
  const ModelFile& file = report.file();
  print_fact("model", model_name(file));
  print_fact("file", fmt::format("{} ({})", file.path(), file.container()));
  print_fact("architecture", file.architecture());
  print_fact("family", family_text(file));
  print_fact("parameters", readable_count(report.total.n_elements));
  for (const auto& [dtype, share] : report.types)
    print_fact("tensors", fmt::format("{:<8} {:>5} tensors {:>10}", format_of(dtype).name,
                                      share.n_tensors, readable_bytes(share.n_bytes)));
  if (report.numbers != nullptr) print_numbers(*report.numbers);
  print_fact("tokenizer",
             part_text(report.tokenizer,
                       fmt::format("{}, {} tokens", report.tokenizer_kind, report.n_vocab)));
  print_fact("chat template", part_text(report.chat_template, "yes"));
  const std::string sampling = defaults_text({.sampling = report.model->sampling});
  if (!sampling.empty()) print_fact("sampling", sampling);
  const std::string defaults = defaults_text(report.model->defaults);
  if (!defaults.empty()) print_fact("defaults", defaults);
  if (report.numbers != nullptr) print_fact("embeddings", embedding_text(*report.model));
  if (!report.draft_head.empty()) print_fact("drafting head", report.draft_head);
  print_needs(report);
  const PackedFolder packed = packed_files();
  print_fact("packed files",
             packed.folder.empty()
                 ? "none are kept: there is no home directory"
                 : fmt::format("{} in {}, at most {}", readable_bytes(packed.n_bytes),
                               packed.folder, readable_bytes(packed.max_bytes)));
  print_verdict(report.faults, is_draft_head_file(file));
  for (const std::string& remark : report.model->remarks) print_fact("remark", remark);
  if (with_tensors) print_tensors(file);
}

// A file whose own form is beyond us: all there is to say.
void print_unreadable(const std::string& path, const Faults& faults, bool json) {
  if (json) {
    print_json_line({{"path", path},
                     {"runs", false},
                     {"reason", faults.first().message()},
                     {"reasons", reasons_json(faults)}});
    return;
  }
  print_fact("file", path);
  print_verdict(faults);
}

Json words_json(std::string_view list) { return words_of(list); }

Json neutral_json(std::span<const NeutralKey> keys) {
  Json out = Json::object();
  for (const NeutralKey& key : keys) out[std::string(key.name)] = words_json(key.allowed);
  return out;
}

// What is known of the keys of each family's configs, for tests/oracle/compare_config_keys.py.
void print_keys() {
  Json classes = Json::array();
  for (const FamilyRecord* const family : families()) {
    for (const HfClass& hf : family->classes) {
      classes.push_back({{"model_type", hf.model_type},
                         {"architecture", family->name},
                         {"nested", hf.nested},
                         {"honoured", claimed_keys(*family, hf)},
                         {"without_effect", words_json(hf.without_effect)},
                         {"neutral", neutral_json(hf.neutral)}});
    }
  }
  print_json_line({{"families", classes},
                   {"every_family",
                    {{"without_effect", words_json(hf_keys_without_effect())},
                     {"neutral", neutral_json(hf_neutral_keys())}}},
                   {"rope",
                    {{"honoured", words_json(hf_rope_keys())},
                     {"without_effect", words_json(hf_rope_keys_without_effect())}}},
                   {"outer",
                    {{"honoured", words_json(hf_outer_keys())},
                     {"without_effect", words_json(hf_outer_keys_without_effect())}}},
                   {"gguf",
                    {{"honoured", words_json(gguf_keys())},
                     {"without_effect", words_json(gguf_keys_without_effect())},
                     {"neutral", neutral_json(gguf_neutral_keys())}}}});
}

// What is known of each family, for tools/family_table.
void print_families() {
  Json all = Json::array();
  for (const FamilyRecord* const family : families()) {
    Json classes = Json::array();
    for (const HfClass& hf : family->classes) classes.push_back(hf.model_type);
    all.push_back({{"name", family->name},
                   {"classes", classes},
                   {"layer", layer_words(*family)},
                   {"published", family->published}});
  }
  print_json_line({{"families", all}});
}

}  // namespace

int info_command(int argc, char** argv) {
  std::string model;
  std::string positional;
  bool json = false;
  bool tensors = false;
  bool fit = false;
  bool keys = false;
  bool list_families = false;
  std::vector<std::string> ignored_keys;
  CommandLine line(
      "info",
      "Says what a model file holds, what it needs and whether it can run; the exit code "
      "is 1 where it cannot.");
  line.example("ruvllm info qwen.gguf", "What it is, what it needs, and whether it runs here");
  line.alternatives({"--model", "path"});
  line.text("path", positional, "The model, as with --model");
  line.text("--model,-m", model, kModelHelp);
  line.flag("--tensors", tensors, "List the tensors");
  line.flag(
      "--fit", fit,
      "Add what the model takes as each type of weights, the contexts that fit beside them in "
      "this machine's memory, and tokens a second at most, from the memory's measured speed");
  line.flag("--json", json, "Print one JSON object");
  line.flag(
      "--keys", keys,
      "List what is known of the keys of config.json and GGUF files, as JSON; needs no model");
  line.flag("--families", list_families, "List the families of models, as JSON; needs no model");
  add_ignore_flag(line, ignored_keys);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("path") && line.given("--model"))
    return line.wrong_call("give one model: PATH or --model");
  if (keys || list_families) {
    keys ? print_keys() : print_families();
    return kDone;
  }
  if (line.given("path")) model = positional;
  const Result<ChosenModel> chosen = chosen_model(model);
  if (!chosen) return line.failed(chosen.error());
  LoadOptions options;
  options.ignored_keys = ignored_keys;
  options.defaults = chosen->defaults;
  const ExaminedModel examined = examine_model(chosen->path, options);
  if (examined.model == nullptr) {
    const Status& why = examined.faults.first();
    const bool is_a_file = why.code() == Code::unsupported || why.code() == Code::corrupt;
    if (!is_a_file) return line.failed(why);
    print_unreadable(chosen->path, examined.faults, json);
    return kJobFailed;
  }
  const FileReport report = report_on(examined);
  std::optional<FitTable> table;
  if (fit && report.faults.empty()) {
    Result<FitTable> made = fit_table(chosen->path, options);
    if (!made) return line.failed(made.error());
    table = std::move(*made);
  }
  if (json) {
    Json out = report_json(report, tensors);
    if (table) out["fit"] = fit_json(*table);
    print_json_line(out);
  } else {
    print_report(report, tensors);
    if (table) print_fit(*table);
  }
  return report.faults.empty() ? kDone : kJobFailed;
}

}  // namespace ruv
