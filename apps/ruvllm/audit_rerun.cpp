#include "audit_rerun.h"

#include <fmt/format.h>

#include <tuple>

#include "audit/audit_replay.h"
#include "audit_flags.h"
#include "base/file.h"
#include "engine/step_tokens.h"
#include "lora_flag.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

// What an engine must have been opened with to give an entry's bytes.
using EngineKind = std::tuple<std::string, int64_t, bool>;
EngineKind kind_of(const ReplayEntry& entry) {
  return {entry.kv_type, entry.n_ctx, entry.is_portable};
}

struct Opened {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Engine> engine;
};

Result<Opened> open_for(const ReplayEntry& entry, const RerunCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  LoadCall load = call.load;
  load.portable = entry.is_portable;
  EngineOptions engine{.n_threads = call.n_threads, .n_ctx = entry.n_ctx, .max_sequences = 1};
  engine.max_adapter_rank = kMaxServedRank;
  engine.kv.gate_file = gate_file_of(chosen.path);
  engine.kv.type = find_kv_type(entry.kv_type);
  if (!engine.kv.type)
    return fail(Code::corrupt, "entry {}: keys and values in '{}' are not known", entry.number,
                entry.kv_type);
  Opened opened;
  opened.model = TRY(open_model(chosen, call.n_threads, load));
  engine.max_batch_tokens = step_tokens_for(*opened.model, engine.n_ctx);
  opened.engine = TRY(Engine::create(opened.model, engine));
  return opened;
}

const char* result_text(ReplayResult result) {
  switch (result) {
    case ReplayResult::same:
      return "same";
    case ReplayResult::different:
      return "different";
    case ReplayResult::not_run:
      break;
  }
  return "not run";
}

void print_replay(const Replay& replay, bool json) {
  if (json) {
    print_json_line(Json{
        {"number", replay.entry}, {"result", result_text(replay.result)}, {"why", replay.why}});
    return;
  }
  fmt::print("entry {}: {}{}{}\n", replay.entry, result_text(replay.result),
             replay.why.empty() ? "" : ", ", shown_text(replay.why, 300));
}

Result<std::vector<Token>> read_prompt(const std::string& file) {
  const Json ids = TRY(parse_json(TRY(read_text_file(file)), file));
  std::vector<Token> prompt;
  for (size_t i = 0; ids.is_array() && i < ids.size(); ++i) {
    const std::optional<int64_t> id = whole_number(&ids[i]);
    if (!id || *id < 0 || *id > INT32_MAX)
      return fail(Code::invalid, "{}: element {} is not an id", file, i);
    prompt.push_back(static_cast<Token>(*id));
  }
  if (prompt.empty()) return fail(Code::invalid, "{}: not a list of ids", file);
  return prompt;
}

}  // namespace

void add_rerun_flags(CommandLine& line, RerunCall& call) {
  const OptionGroup group(line, "Running again");
  line.text("--model,-m", call.model, kModelHelp);
  line.threads(call.n_threads);
  line.text("--prompt-ids", call.prompt_file,
            "The prompt of one entry whose contents were not kept: a file with its ids, as `ruvllm "
            "template` and `tokenize` print them");
  add_load_flags(line, call.load);
}

Result<int> rerun_entries(const AuditStore& store, const std::string& folder,
                          const std::vector<int64_t>& numbers, const RerunCall& call) {
  std::optional<std::vector<Token>> prompt;
  std::optional<AuditKey> key;
  if (!call.prompt_file.empty()) {
    prompt = TRY(read_prompt(call.prompt_file));
    key.emplace(TRY(AuditKey::read(call.key_file.empty() ? folder + "/audit.key" : call.key_file)));
  }
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::string digest = TRY(shown_digest(chosen.path, call.n_threads));
  std::optional<EngineKind> kind;
  Opened opened;
  std::unique_ptr<AuditReplay> replay;
  size_t n_same = 0, n_different = 0;
  const InterruptScope interrupt;
  for (const int64_t number : numbers) {
    if (interrupt.interrupted()) break;
    const ReplayEntry entry = TRY(replay_entry(store, number));
    if (kind != kind_of(entry)) {
      replay.reset();
      opened = {};
      opened = TRY(open_for(entry, call));
      replay = std::make_unique<AuditReplay>(store, *opened.engine, opened.model, digest);
      kind = kind_of(entry);
    }
    const Replay one = TRY(replay->run(number, prompt ? &*prompt : nullptr, key ? &*key : nullptr));
    n_same += one.result == ReplayResult::same ? 1 : 0;
    n_different += one.result == ReplayResult::different ? 1 : 0;
    print_replay(one, call.json);
  }
  if (numbers.size() > 1 && !call.json)
    fmt::print("{} the same, {} different, {} not run\n", n_same, n_different,
               numbers.size() - n_same - n_different);
  return n_same == numbers.size() ? kDone : kJobFailed;
}

}  // namespace ruv
