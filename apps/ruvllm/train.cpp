// ruvllm train: learns a text or answers, with all weights of a model or with an adapter beside
// them. Ctrl-C ends it after a step, and what was learned so far is written.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "commands.h"
#include "open_model.h"
#include "output_file.h"
#include "terminal.h"
#include "train/state_saver.h"
#include "train/write_checkpoint.h"
#include "train_call.h"
#include "train_log.h"
#include "train_objective.h"
#include "train_texts.h"

namespace ruv {
namespace {

// What a run learns, and then what it is measured by.
struct TrainData {
  std::vector<TrainExample> examples;
  size_t n_learned = 0;
};

Result<TrainData> read_data(const TrainCall& call, const Model& model) {
  TrainData data;
  const HParams& h = model.h;
  if (h.ends_with_context && call.n_ctx - 1 > h.n_ctx_train) {
    return fail(Code::invalid, "--ctx {}: the model has {} positions", call.n_ctx, h.n_ctx_train);
  }
  const TextRules rules{call.n_ctx, static_cast<float>(call.prompt_weight.value)};
  if (call.file.empty()) {
    const LineKind lines = lines_of_objective(call.objective);
    data.examples = TRY(read_training_examples(model, call.jsonl, lines, rules));
  } else {
    for (TrainSequence& text : TRY(read_training_text(model, call.file, rules))) {
      data.examples.push_back({{std::move(text)}});
    }
  }
  const auto percent = static_cast<size_t>(100 - call.held_out);
  data.n_learned = data.examples.size() * percent / 100;
  if (data.n_learned == 0) return fail(Code::invalid, "there is nothing to learn");
  return data;
}

// Examples of a step; and of all steps and measurements of a run, some of them several times.
std::vector<size_t> examples_of_step(const TrainCall& call, SequenceOrder& order, int64_t step) {
  std::vector<size_t> chosen;
  for (int64_t i = 0; i < call.n_sequences; ++i) {
    chosen.push_back(order.at(static_cast<uint64_t>(step * call.n_sequences + i)));
  }
  return chosen;
}

std::vector<size_t> used_examples(const TrainCall& call, size_t n_learned, size_t n) {
  SequenceOrder order(n_learned, static_cast<uint64_t>(call.seed));
  std::vector<bool> is_used(n, false);
  std::fill(is_used.begin() + static_cast<ptrdiff_t>(n_learned), is_used.end(), true);
  for (int64_t step = 0; step < call.n_steps; ++step) {
    if (step * call.n_sequences >= static_cast<int64_t>(n_learned)) {
      std::fill(is_used.begin(), is_used.end(), true);
      break;
    }
    for (const size_t i : examples_of_step(call, order, step)) is_used[i] = true;
  }
  std::vector<size_t> used;
  for (size_t i = 0; i < n; ++i) {
    if (is_used[i]) used.push_back(i);
  }
  return used;
}

// The files of the folders of an adapter and of drafting heads.
constexpr std::string_view kAdapterFiles[] = {"adapter_model.safetensors", "adapter_config.json"};
constexpr std::string_view kHeadFiles[] = {"medusa_lm_head.safetensors", "config.json"};

Status try_folder(const TrainCall& call, const Model& model, std::string_view what,
                  std::span<const std::string_view> files) {
  if (!is_directory(call.out)) {
    return fail(Code::not_found, "{}: is not a folder, which {} need", call.out, what);
  }
  for (const std::string_view file : files) {
    TRY(create_output(fmt::format("{}/{}", call.out, file), call.force, model, call.input()));
  }
  return {};
}

// A name of --targets that is of no tensor would be a mistake.
Status check_targets(const TrainCall& call, const Trainer& trainer) {
  for (const std::string& target : call.target_names()) {
    const bool is_there = std::ranges::any_of(
        trainer.parameters().all(), [&](const auto& p) { return is_target(target, p.name); });
    if (is_there) continue;
    return fail(Code::invalid,
                "--targets: '{}' is not a tensor that can be trained; names are as "
                "`ruvllm info --tensors` shows them, such as attn_q",
                target);
  }
  return {};
}

// What would fail at the end fails before anything is learned.
Status try_output(const TrainCall& call, const Trainer& trainer) {
  const Model& model = trainer.model();
  if (call.out.empty()) return {};
  if (call.writes_checkpoint() && call.objective == "reward") {
    return fail(Code::unsupported, "{}: is a folder; a scorer is written as a GGUF file", call.out);
  }
  if (call.writes_checkpoint()) {
    TRY(trained_tensors(model, trainer.parameters()));
    for (const std::string& file : TRY(checkpoint_files(model, call.out))) {
      TRY(create_output(fmt::format("{}/{}", call.out, file), call.force, model, call.input()));
    }
    return {};
  }
  if (call.trains_draft_heads()) return try_folder(call, model, "drafting heads", kHeadFiles);
  if (trainer.adapter() == nullptr) {
    TRY(trained_tensors(model, trainer.parameters()));
    TRY(create_output(call.out, call.force, model, call.input()));
    return {};
  }
  TRY(check_peft_adapter(model, *trainer.adapter()));
  return try_folder(call, model, "the files of an adapter", kAdapterFiles);
}

// A state that is resumed is replaced.
Status try_files(const TrainCall& call, const Trainer& trainer) {
  TRY(try_output(call, trainer));
  if (call.state.empty()) return {};
  TRY(create_output(call.state, call.force || call.resumes, trainer.model(), call.input()));
  return {};
}

// Whose bytes are the same in each run: the model, and what is learned. None where no state is
// written or read, since all of the model's file is hashed.
std::vector<RunFact> run_facts(const TrainCall& call, const TrainData& data, const Model& model) {
  if (call.state.empty()) return {};
  uint64_t of_model = 0;
  for (const MappedFile& file : model.file->files()) of_model = hash_bytes(file.bytes(), of_model);
  uint64_t of_texts = 0;
  for (const TrainExample& example : std::span(data.examples).first(data.n_learned)) {
    for (const TrainSequence& sequence : example.sequences) {
      of_texts = hash_bytes(std::as_bytes(std::span(sequence.tokens)), of_texts);
      of_texts = hash_bytes(std::as_bytes(std::span(sequence.weights)), of_texts);
    }
    of_texts = hash_bytes(std::as_bytes(std::span(example.rewards)), of_texts);
  }
  std::vector<RunFact> facts = facts_of(call);
  facts.push_back({"a model with the hash", fmt::format("{:016x}", of_model)});
  facts.push_back({"texts with the hash", fmt::format("{:016x}", of_texts)});
  return facts;
}

// How a run ended.
struct TrainEnd {
  std::optional<double> loss;  // of the last step
  bool interrupted = false;
};

Result<TrainEnd> learn(const TrainCall& call, size_t n_learned, std::span<const RunFact> facts,
                       Trainer& trainer, RunObjective& objective) {
  TrainEnd end;
  TrainLog log(trainer.n_steps(), call.n_steps);
  TRY(log.open({.csv = call.log,
                .events = call.tensorboard,
                .replaces = call.force,
                .continues = call.resumes,
                .input = &call.input()},
               trainer.model()));
  SequenceOrder order(n_learned, static_cast<uint64_t>(call.seed));
  StateSaver saver;
  while (trainer.n_steps() < call.n_steps && !interrupt_seen()) {
    const StepReport report = TRY(objective.step(examples_of_step(call, order, trainer.n_steps())));
    end.loss = report.loss;
    TRY(log.add(report));
    const bool saves = call.save_every > 0 && report.step % call.save_every == 0;
    if (saves) TRY(saver.begin(call.state, trainer.state(facts)));
  }
  log.close();
  end.interrupted = trainer.n_steps() < call.n_steps;
  TRY(saver.finish());
  return end;
}

// Mean loss of examples [begin, end), some of them at a time; nothing: Ctrl-C ended it, or there
// are none.
Result<std::optional<double>> measure(const TrainCall& call, RunObjective& objective, size_t begin,
                                      size_t end) {
  double sum = 0;
  double weight = 0;
  while (begin < end) {
    if (interrupt_seen()) return std::nullopt;
    std::vector<size_t> part;
    for (int64_t i = 0; i < call.n_sequences && begin < end; ++i) part.push_back(begin++);
    const RunObjective::Measured measured = TRY(objective.loss(part));
    sum += measured.loss * measured.weight;
    weight += measured.weight;
  }
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}

Status write_result(const TrainCall& call, std::span<const RunFact> facts, const Trainer& trainer) {
  if (!call.state.empty()) TRY(trainer.save(call.state, facts));
  if (call.out.empty()) return {};
  if (trainer.adapter() != nullptr) {
    return write_peft_adapter(trainer.model(), *trainer.adapter(), trainer.parameters(), call.out);
  }
  if (trainer.draft_heads() != nullptr) {
    return write_draft_heads(trainer.model(), *trainer.draft_heads(), trainer.parameters().all(),
                             call.out);
  }
  if (call.writes_checkpoint()) {
    return write_trained_checkpoint(trainer.model(), trainer.parameters(), type_of(call), call.out,
                                    {.replace = call.force});
  }
  // Values that ppo learns beside are of use to its steps alone.
  const bool scores = call.objective == "reward";
  return write_trained_model(
      trainer.model(), trainer.parameters(), type_of(call), call.out, {.replace = call.force},
      scores ? std::span<const float>(trainer.head()->values) : std::span<const float>());
}

// What a run continues from.
Status resume(const TrainCall& call, std::span<const RunFact> facts, Trainer& trainer) {
  if (!call.resumes) return {};
  TRY(trainer.resume(call.state, facts));
  if (trainer.n_steps() <= call.n_steps) return {};
  return fail(Code::invalid, "{}: is after {} steps, more than the {} of --steps", call.state,
              trainer.n_steps(), call.n_steps);
}

Result<Json> train(const TrainCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::unique_ptr<Trainer> trainer = TRY(Trainer::create(chosen.path, options_of(call)));
  TRY(check_targets(call, *trainer));
  const auto objective = TRY(RunObjective::create(call, *trainer));
  TrainData data = TRY(read_data(call, trainer->model()));
  std::vector<RunFact> facts = run_facts(call, data, trainer->model());
  for (RunFact& fact : objective->facts()) facts.push_back(std::move(fact));
  TRY(try_files(call, *trainer));
  const InterruptScope ctrl_c;
  const size_t n = data.examples.size();
  TRY(objective->prepare(std::move(data.examples), used_examples(call, data.n_learned, n)));
  TRY(resume(call, facts, *trainer));
  const std::optional<double> before = TRY(measure(call, *objective, data.n_learned, n));
  const TrainEnd end = TRY(learn(call, data.n_learned, facts, *trainer, *objective));
  TRY(write_result(call, facts, *trainer));
  const std::optional<double> after = TRY(measure(call, *objective, data.n_learned, n));
  Json result = Json::object();
  result["steps"] = trainer->n_steps();
  result["complete"] = !end.interrupted;
  if (end.loss) result["loss"] = *end.loss;
  if (before) result["held_out_before"] = *before;
  if (after) result["held_out"] = *after;
  result["parameters"] = trainer->parameters().n_numbers();
  return result;
}

void print_result(const TrainCall& call, const Json& result) {
  if (call.json) return print_json_line(result);
  fmt::print("{} steps", result["steps"].get<int64_t>());
  constexpr std::pair<const char*, const char*> kLosses[] = {
      {"loss", "loss of the last"}, {"held_out_before", "held out before"}, {"held_out", "after"}};
  for (const auto& [member, words] : kLosses) {
    if (!result.contains(member)) continue;
    fmt::print(", {}: {:.4f}", words, result[member].get<double>());
  }
  fmt::print("\n");
}

// What of a run that Ctrl-C ended is there.
void note_interrupt(const CommandLine& line, const TrainCall& call, const Json& result) {
  const bool both = !call.state.empty() && !call.out.empty();
  line.note(fmt::format("stopped after step {} of {}, which {}{}{} {}",
                        result["steps"].get<int64_t>(), call.n_steps, call.state,
                        both ? " and " : "", call.out, both ? "hold" : "holds"));
}

}  // namespace

int train_command(int argc, char** argv) {
  TrainCall call;
  CommandLine line("train", "Trains a model, or an adapter beside it, on a text or on answers.");
  add_train_flags(line, call);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string fault = read_train_call(line, call); !fault.empty()) {
    return line.wrong_call(fault);
  }
  const Result<Json> result = train(call);
  if (!result) return line.failed(result.error());
  print_result(call, *result);
  if ((*result)["complete"].get<bool>()) return kDone;
  note_interrupt(line, call, *result);
  return kInterrupted;
}

}  // namespace ruv
