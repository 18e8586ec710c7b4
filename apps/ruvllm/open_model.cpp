// From the value of --model to a loaded model, a model file or a tokenizer.
#include "open_model.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/clock.h"
#include "cache_folder.h"
#include "default_model.h"
#include "format/quant_mix.h"
#include "format/tokenizer_file.h"
#include "terminal.h"

namespace ruv {
namespace {

// Empty: there is none.
Result<std::string> chosen_draft(const LoadCall& load) {
  if (load.draft_model.empty()) return std::string();
  return TRY(chosen_model(load.draft_model)).path;
}

std::vector<std::string> weight_types() {
  std::vector<std::string> names = {"off", "auto"};
  for (const QuantType& type : quant_types()) names.emplace_back(type.name);
  return names;
}

}  // namespace

std::string default_packed_cache() {
  const std::string folder = default_cache_folder();
  return folder.empty() ? folder : folder + "/packed";
}

Result<ChosenModel> chosen_model(const std::string& given) {
  if (!given.empty()) return located(TRY(meant_model(given)));
  const std::string path = default_model_path();
  if (path.empty())
    return fail(Code::not_found, "the built-in model is not beside the program: give --model");
  return ChosenModel{.path = path};
}

void add_ignore_flag(CommandLine& line, std::vector<std::string>& keys) {
  const OptionGroup group(line, "Loading");
  line.texts("--ignore-key", keys,
             "Take this key or tensor of the model as absent, named as the error that refuses it "
             "does; may be repeated. The numbers may then differ from what the file means");
}

void add_draft_flag(CommandLine& line, LoadCall& call) {
  const OptionGroup group(line, "Loading");
  line.text("--draft-model", call.draft_model,
            "A smaller model that drafts tokens ahead, preferably with the same vocabulary, or an "
            "EAGLE-3 head or Medusa heads for the model");
}

void add_load_flags(CommandLine& line, LoadCall& call) {
  const OptionGroup group(line, "Loading");
  line.text("--packed-cache", call.packed_cache,
            "Folder for packed weights, which make the next start fast, or off; "
            "~/.cache/ruvllm/packed when absent");
  line.text(
      "--quantize", call.quantize,
      "The type that matrices of floats get as they load, as `ruvllm quantize` has them; auto: "
      "the best one that fits three quarters of the memory, where floats do not; off: none");
  line.choices(weight_types());
  line.flag(
      "--portable", call.portable,
      "Compute the same bytes as every other machine also with f16 and bf16 weights; where the "
      "processor multiplies pairs of bf16, such models are mostly slower then");
  line.flag("--no-draft-head", call.no_draft_head,
            "Leave out the layers of the file that draft tokens; it saves their memory");
  add_ignore_flag(line, call.ignored_keys);
}

Result<std::shared_ptr<const Model>> open_model(const ChosenModel& chosen, int n_threads,
                                                const LoadCall& load) {
  std::optional<ProgressBar> packing("packing");
  std::optional<ProgressBar> checking("loading");
  std::vector<std::string> notes;
  LoadOptions options;
  options.n_threads = n_threads;
  options.ignored_keys = load.ignored_keys;
  options.portable = load.portable;
  options.defaults = chosen.defaults;
  options.draft_head = !load.no_draft_head;
  if (load.quantize != "off") options.quantize = load.quantize;
  const std::string draft = TRY(chosen_draft(load));
  if (!draft.empty() && is_draft_head(draft)) options.draft_head_file = draft;
  options.packed_cache_dir = load.packed_cache.empty() ? default_packed_cache() : load.packed_cache;
  if (load.packed_cache == "off") options.packed_cache_dir.clear();
  options.progress = [&](LoadStage stage, double share) {
    (stage == LoadStage::packing ? packing : checking)->update(share);
  };
  // A remark is for a person waiting at a terminal; the other kinds also go to a log.
  options.note = [&](NoteKind kind, std::string_view text) {
    if (kind == NoteKind::remark && (is_quiet() || !is_terminal(stderr))) return;
    if ((kind == NoteKind::stored || kind == NoteKind::choice) && is_quiet()) return;
    notes.emplace_back(text);
    if (kind == NoteKind::stored) notes.back() += "; --packed-cache off keeps none";
  };
  const SteadyClock clock;
  const int64_t begin = clock.now_ns();
  auto model = load_model(chosen.path, options);
  packing.reset();
  checking.reset();
  for (const std::string& note : notes) fmt::print(stderr, "ruvllm: {}\n", note);
  if (model && is_verbose()) {
    const ModelInfo info = model_info(**model);
    fmt::print(stderr, "ruvllm: {}: {} of weights for {}, loaded in {:.1f} s\n", chosen.path,
               readable_bytes(info.weight_bytes), info.isa,
               static_cast<double>(clock.now_ns() - begin) * 1e-9);
  }
  return model;
}

Result<std::shared_ptr<const Model>> open_draft_model(int n_threads, const LoadCall& load) {
  const std::string draft = TRY(chosen_draft(load));
  if (draft.empty() || is_draft_head(draft)) return std::shared_ptr<const Model>();
  LoadCall alone = load;
  alone.draft_model.clear();
  return open_model(ChosenModel{.path = draft}, n_threads, alone);
}

Result<std::unique_ptr<ModelFile>> open_model_file(const std::string& given,
                                                   const std::vector<std::string>& ignored_keys) {
  return ModelFile::open(TRY(chosen_model(given)).path, {ignored_keys});
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::string& given,
                                                        const std::string& scheme) {
  return open_tokenizer_file(TRY(chosen_model(given)).path, scheme);
}

std::string gate_file_of(const std::string& model) { return model + ".kv-gate.json"; }

}  // namespace ruv
