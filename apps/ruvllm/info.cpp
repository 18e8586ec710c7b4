// ruvllm info: what a model file holds, what it needs, and whether it can run here; when it cannot,
// the reason that loading gives, because loading is what decides.
#include <fmt/format.h>

#include <map>

#include "base/folder.h"
#include "base/json.h"
#include "base/machine.h"
#include "chat/chat_template.h"
#include "command_line.h"
#include "commands.h"
#include "device/cache_layout.h"
#include "family/config_keys.h"
#include "family/word_list.h"
#include "format/gguf_keys.h"
#include "model/layer_plan.h"
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
  std::map<DType, TypeShare> types;
  TypeShare total;
  std::optional<HParams> numbers;
  PartState tokenizer, chat_template;
  std::string tokenizer_kind;
  int64_t n_vocab = 0;
  Status runs;
  int64_t weight_bytes = 0;       // packed when the model was loaded, else as in the file
  KvType kv_type = KvType::int8;  // what `run` and `serve` use
  std::vector<std::string> remarks;
  CacheLayout cache;
  int64_t machine_bytes = 0;

  int64_t n_ctx() const { return numbers ? numbers->n_ctx_train : 0; }
  int64_t full_bytes() const { return weight_bytes + cache.held_bytes(n_ctx()); }
};

void count_tensors(const ModelFile& file, FileReport& report) {
  for (const TensorInfo& tensor : file.tensors()) {
    for (TypeShare* share : {&report.types[tensor.dtype], &report.total}) {
      share->n_tensors += 1;
      share->n_elements += tensor.n_elements();
      share->n_bytes += static_cast<int64_t>(tensor.bytes.size());
    }
  }
  report.weight_bytes = report.total.n_bytes;
}

std::string kind_name(const TokenizerSpec& spec) {
  if (spec.kind == TokenizerKind::sentencepiece_bpe) return "sentencepiece bpe";
  return spec.pre.empty() ? "byte-level bpe" : fmt::format("byte-level bpe, {}", spec.pre);
}

// A tokenizer may be absent, or there and of a kind that is not supported.
void check_tokenizer(const ModelFile& file, FileReport& report) {
  Result<TokenizerSpec> spec = file.tokenizer_spec();
  report.tokenizer.present = spec || spec.error().code() != Code::not_found;
  if (!spec) {
    report.tokenizer.usable = spec.error();
    return;
  }
  report.n_vocab = static_cast<int64_t>(spec->tokens.size());
  report.tokenizer_kind = kind_name(*spec);
  const auto tokenizer = Tokenizer::create(std::move(*spec));
  if (!tokenizer) report.tokenizer.usable = with_context(file.path(), tokenizer.error());
}

void check_template(const ModelFile& file, FileReport& report) {
  const std::string source = file.chat_template();
  report.chat_template.present = !source.empty();
  if (source.empty()) return;
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) report.chat_template.usable = parsed.error();
}

// What can be said without the weights. Fails as loading would.
Status read_numbers(const ModelFile& file, FileReport& report) {
  const HParams h = TRY(read_hparams(file, *TRY(file.known_family())));
  report.numbers = h;
  report.kv_type = default_kv_type(h.head_dim);
  const FamilyRecord& family = *TRY(file.known_family());
  const RopePlans rope = TRY(read_rope(file, family, h));
  report.cache = cache_layout(TRY(plan_layers(file, family, h, rope))).with_type(report.kv_type);
  return {};
}

Status try_to_run(const ModelFile& file, const std::vector<std::string>& ignored_keys,
                  FileReport& report) {
  const Status numbers = read_numbers(file, report);
  TRY(Status(file.usable()));
  TRY(Status(numbers));
  // Loading a model that cannot fit would bring the machine down to say so.
  if (report.machine_bytes > 0 && report.weight_bytes > report.machine_bytes)
    return fail(Code::out_of_memory, "the weights take {} and this machine has {} of memory",
                readable_bytes(report.weight_bytes), readable_bytes(report.machine_bytes));
  // Reading about a file must not keep gigabytes of it in memory.
  const std::shared_ptr<const Model> model = TRY(open_model(file.path(), 0, {"off", ignored_keys}));
  const ModelInfo info = model_info(*model);
  report.weight_bytes = info.weight_bytes;
  report.remarks = info.remarks;
  return {};
}

FileReport examine(const ModelFile& file, const std::vector<std::string>& ignored_keys) {
  FileReport report;
  report.machine_bytes = machine_memory_bytes();
  count_tensors(file, report);
  check_tokenizer(file, report);
  check_template(file, report);
  report.remarks.assign(file.remarks().begin(), file.remarks().end());
  report.runs = try_to_run(file, ignored_keys, report);
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
          {"bytes", tensor.bytes.size()}};
}

Json report_json(const ModelFile& file, const FileReport& report, bool with_tensors) {
  Json out = {{"path", file.path()},
              {"container", std::string(file.container())},
              {"name", model_name(file)},
              {"architecture", file.architecture()},
              {"n_params", report.total.n_elements},
              {"n_tensors", report.total.n_tensors},
              {"tensor_bytes", report.total.n_bytes}};
  Json& types = out["types"] = Json::array();
  for (const auto& [dtype, share] : report.types)
    types.push_back({{"type", format_of(dtype).name},
                     {"n_tensors", share.n_tensors},
                     {"n_params", share.n_elements},
                     {"bytes", share.n_bytes}});
  if (report.numbers) {
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
  out["runs"] = report.runs.ok();
  out["reason"] = reason_json(report.runs);
  out["remarks"] = report.remarks;
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
               fmt::join(tensor.shape, ", "),
               readable_bytes(static_cast<int64_t>(tensor.bytes.size())));
}

void print_numbers(const HParams& h) {
  print_fact("layers",
             fmt::format("{} of width {}, feed-forward {}", h.n_layers, h.n_embd, h.n_ff));
  if (h.n_experts > 0) {
    print_fact("experts", fmt::format("{}, {} for each token, of width {}", h.n_experts,
                                      h.n_experts_used, h.n_ff_expert));
  }
  print_fact("heads", fmt::format("{}, {} for keys and values, of width {}", h.n_heads,
                                  h.n_kv_heads, h.head_dim));
  const std::string window = h.window > 0 ? fmt::format(", window {}", h.window) : "";
  print_fact("context", fmt::format("{} tokens{}", h.n_ctx_train, window));
}

void print_needs(const FileReport& report) {
  print_fact("weights", readable_bytes(report.weight_bytes));
  if (!report.numbers) return;
  const bool is_narrow = report.kv_type != default_kv_type(kNarrowHead);
  print_fact(
      "cache",
      fmt::format("{} per token, keys and values in {}{}",
                  readable_bytes(report.cache.bytes_per_token()), kv_type_name(report.kv_type),
                  is_narrow ? fmt::format(" as heads are narrower than {}", kNarrowHead) : ""));
  if (report.cache.state_bytes() > 0) {
    print_fact("states", fmt::format("{} per sequence, whatever its length",
                                     readable_bytes(report.cache.state_bytes())));
  }
  print_fact("full context",
             fmt::format("{} in all; this machine has {}", readable_bytes(report.full_bytes()),
                         readable_bytes(report.machine_bytes)));
}

void print_report(const ModelFile& file, const FileReport& report, bool with_tensors) {
  print_fact("model", model_name(file));
  print_fact("file", fmt::format("{} ({})", file.path(), file.container()));
  print_fact("architecture", file.architecture());
  print_fact("parameters", readable_count(report.total.n_elements));
  for (const auto& [dtype, share] : report.types)
    print_fact("tensors", fmt::format("{:<8} {:>5} tensors {:>10}", format_of(dtype).name,
                                      share.n_tensors, readable_bytes(share.n_bytes)));
  if (report.numbers) print_numbers(*report.numbers);
  print_fact("tokenizer",
             part_text(report.tokenizer,
                       fmt::format("{}, {} tokens", report.tokenizer_kind, report.n_vocab)));
  print_fact("chat template", part_text(report.chat_template, "yes"));
  print_needs(report);
  const PackedFolder packed = packed_files();
  print_fact("packed files",
             packed.folder.empty()
                 ? "none are kept: there is no home directory"
                 : fmt::format("{} in {}, at most {}", readable_bytes(packed.n_bytes),
                               packed.folder, readable_bytes(packed.max_bytes)));
  const TerminalStyle style = style_of(stdout);
  print_fact("runs", report.runs.ok() ? "yes"
                                      : fmt::format("{}no: {}{}", style.red, report.runs.message(),
                                                    style.reset));
  for (const std::string& remark : report.remarks) print_fact("remark", remark);
  if (with_tensors) print_tensors(file);
}

// A file whose own form is beyond us: all there is to say.
void print_unreadable(const std::string& path, const Status& reason, bool json) {
  if (json) {
    print_json_line({{"path", path}, {"runs", false}, {"reason", reason.message()}});
    return;
  }
  const TerminalStyle style = style_of(stdout);
  print_fact("file", path);
  print_fact("runs", fmt::format("{}no: {}{}", style.red, reason.message(), style.reset));
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

}  // namespace

int info_command(int argc, char** argv) {
  std::string model;
  std::string positional;
  bool json = false;
  bool tensors = false;
  bool keys = false;
  std::vector<std::string> ignored_keys;
  CommandLine line("info", "Says what a model file holds, what it needs and whether it can run.");
  line.text("path", positional, "The model, as with --model");
  line.text("--model,-m", model, kModelHelp);
  line.flag("--tensors", tensors, "List the tensors");
  line.flag("--json", json, "Print one JSON object");
  line.flag(
      "--keys", keys,
      "List what is known of the keys of config.json and GGUF files, as JSON; needs no model");
  add_ignore_flag(line, ignored_keys);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (line.given("path") && line.given("--model"))
    return line.wrong_call("give one model: PATH or --model");
  if (keys) {
    print_keys();
    return kDone;
  }
  if (line.given("path")) model = positional;
  const auto file = open_model_file(model, ignored_keys);
  if (!file && file.error().code() == Code::unsupported) {
    print_unreadable(model, file.error(), json);
    return kDone;
  }
  if (!file) return line.failed(file.error());
  const FileReport report = examine(**file, ignored_keys);
  if (json)
    print_json_line(report_json(**file, report, tensors));
  else
    print_report(**file, report, tensors);
  return kDone;
}

}  // namespace ruv
