// Opening what --model names, for all subcommands: what it names, or the built-in model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "command_line.h"
#include "format/model_file.h"
#include "model_name.h"
#include "ruv/model.h"
#include "text/tokenizer.h"

namespace ruv {

inline constexpr const char* kModelHelp =
    "GGUF file, folder with safetensors, hf:owner/repo, ollama:NAME or a name of `ruvllm list`; "
    "the built-in model when absent";

// What a name means (model_name.h), fetched when it is not here. Fails: not_found when `given` is
// empty and there is no built-in model, and as meant_model and located.
Result<ChosenModel> chosen_model(const std::string& given);

// How a model is loaded, whatever the subcommand.
struct LoadCall {
  // A folder, "off", or empty for the default, $XDG_CACHE_HOME/ruvllm/packed or
  // ~/.cache/ruvllm/packed.
  std::string packed_cache = {};
  std::vector<std::string> ignored_keys = {};
  std::string quantize = "off";  // or LoadOptions::quantize
  bool portable = false;
  bool no_draft_head = false;
  std::string draft_model = {};  // a model, or a head that is loaded with the model
};
// --draft-model, of subcommands that write answers.
void add_draft_flag(CommandLine& line, LoadCall& call);
// --packed-cache, --quantize, --portable, --no-draft-head and --ignore-key.
void add_load_flags(CommandLine& line, LoadCall& call);
void add_ignore_flag(CommandLine& line, std::vector<std::string>& keys);

// Where packed weights are kept when --packed-cache is absent. Empty: the user has no home, so
// nothing is kept.
std::string default_packed_cache();

// Loads all of it, with a progress bar on a terminal; what was ignored is said on stderr. Fails: as
// load_model.
Result<std::shared_ptr<const Model>> open_model(const ChosenModel& chosen, int n_threads,
                                                const LoadCall& load = {});
// The model that --draft-model names; null: none, or a head. Fails: as load_model.
Result<std::shared_ptr<const Model>> open_draft_model(int n_threads, const LoadCall& load);
// Only the file's tables; no weights are read.
Result<std::unique_ptr<ModelFile>> open_model_file(
    const std::string& given, const std::vector<std::string>& ignored_keys = {});
// The tokenizer alone; files that hold nothing else will do. `scheme` is for rank files whose name
// does not say how words are split.
Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::string& given,
                                                        const std::string& scheme = {});

// Where `ruvllm kv-gate` says what the keys and values of a model bear.
std::string gate_file_of(const std::string& model);

}  // namespace ruv
