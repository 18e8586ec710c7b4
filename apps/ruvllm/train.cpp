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
#include "train_texts.h"

namespace ruv {
namespace {

// What a run learns, and what it is measured by.
struct TrainData {
  std::vector<TrainSequence> learned, held_out;
};

Result<TrainData> read_data(const TrainCall& call, const Model& model) {
  TrainData data;
  const HParams& h = model.h;
  if (h.ends_with_context && call.n_ctx - 1 > h.n_ctx_train) {
    return fail(Code::invalid, "--ctx {}: the model has {} positions", call.n_ctx, h.n_ctx_train);
  }
  const TextRules rules{call.n_ctx, static_cast<float>(call.prompt_weight.value)};
  data.learned = TRY(call.file.empty() ? read_training_lines(model, call.jsonl, rules)
                                       : read_training_text(model, call.file, rules));
  const auto n = std::ssize(data.learned) * (100 - call.held_out) / 100;
  data.held_out.assign(data.learned.begin() + n, data.learned.end());
  data.learned.resize(static_cast<size_t>(n));
  if (data.learned.empty()) return fail(Code::invalid, "there is nothing to learn");
  return data;
}

// The files of an adapter's folder.
constexpr std::string_view kAdapterFiles[] = {"adapter_model.safetensors", "adapter_config.json"};

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
  if (call.writes_checkpoint()) {
    TRY(trained_tensors(model, trainer.parameters()));
    for (const std::string& file : TRY(checkpoint_files(model, call.out))) {
      TRY(create_output(fmt::format("{}/{}", call.out, file), call.force, model, call.input()));
    }
    return {};
  }
  if (trainer.adapter() == nullptr) {
    TRY(trained_tensors(model, trainer.parameters()));
    TRY(create_output(call.out, call.force, model, call.input()));
    return {};
  }
  TRY(check_peft_adapter(model, *trainer.adapter()));
  if (!is_directory(call.out)) {
    return fail(Code::not_found, "{}: is not a folder, which an adapter needs", call.out);
  }
  for (const std::string_view file : kAdapterFiles) {
    TRY(create_output(fmt::format("{}/{}", call.out, file), call.force, model, call.input()));
  }
  return {};
}

// A state that is resumed is replaced.
Status try_files(const TrainCall& call, const Trainer& trainer) {
  TRY(try_output(call, trainer));
  if (call.state.empty()) return {};
  TRY(create_output(call.state, call.force || call.resumes, trainer.model(), call.input()));
  return {};
}

// Whose bytes are the same in each run: the model, and what is learned.
std::vector<RunFact> run_facts(const TrainCall& call, const TrainData& data, const Model& model) {
  uint64_t of_model = 0;
  for (const MappedFile& file : model.file->files()) of_model = hash_bytes(file.bytes(), of_model);
  uint64_t of_texts = 0;
  for (const TrainSequence& sequence : data.learned) {
    of_texts = hash_bytes(std::as_bytes(std::span(sequence.tokens)), of_texts);
    of_texts = hash_bytes(std::as_bytes(std::span(sequence.weights)), of_texts);
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

Result<TrainEnd> learn(const TrainCall& call, const TrainData& data, std::span<const RunFact> facts,
                       Trainer& trainer) {
  TrainEnd end;
  TrainLog log(trainer.n_steps(), call.n_steps);
  TRY(log.open({.csv = call.log,
                .events = call.tensorboard,
                .replaces = call.force,
                .continues = call.resumes,
                .input = &call.input()},
               trainer.model()));
  SequenceOrder order(data.learned.size(), static_cast<uint64_t>(call.seed));
  StateSaver saver;
  while (trainer.n_steps() < call.n_steps && !interrupt_seen()) {
    const auto first = static_cast<uint64_t>(trainer.n_steps() * call.n_sequences);
    std::vector<TrainSequence> chosen;
    for (uint64_t i = 0; i < static_cast<uint64_t>(call.n_sequences); ++i) {
      chosen.push_back(data.learned[order.at(first + i)]);
    }
    const StepReport report = TRY(trainer.step(chosen));
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

// Mean loss of sequences, some of them at a time; nothing: Ctrl-C ended it, or there are none.
Result<std::optional<double>> measure(const TrainCall& call, Trainer& trainer,
                                      std::span<const TrainSequence> sequences) {
  double sum = 0;
  double weight = 0;
  while (!sequences.empty()) {
    if (interrupt_seen()) return std::nullopt;
    const auto part =
        sequences.first(std::min(sequences.size(), static_cast<size_t>(call.n_sequences)));
    double of_part = 0;
    for (const TrainSequence& sequence : part) of_part += sequence.weight_sum();
    sum += TRY(trainer.loss(part)) * of_part;
    weight += of_part;
    sequences = sequences.subspan(part.size());
  }
  return weight > 0 ? std::optional(sum / weight) : std::nullopt;
}

Status write_result(const TrainCall& call, std::span<const RunFact> facts, const Trainer& trainer) {
  if (!call.state.empty()) TRY(trainer.save(call.state, facts));
  if (call.out.empty()) return {};
  if (trainer.adapter() != nullptr) {
    return write_peft_adapter(trainer.model(), *trainer.adapter(), trainer.parameters(), call.out);
  }
  if (call.writes_checkpoint()) {
    return write_trained_checkpoint(trainer.model(), trainer.parameters(), type_of(call), call.out,
                                    {.replace = call.force});
  }
  return write_trained_model(trainer.model(), trainer.parameters(), type_of(call), call.out,
                             {.replace = call.force});
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
  const TrainData data = TRY(read_data(call, trainer->model()));
  const std::vector<RunFact> facts = run_facts(call, data, trainer->model());
  TRY(resume(call, facts, *trainer));
  TRY(try_files(call, *trainer));
  const InterruptScope ctrl_c;
  const std::optional<double> before = TRY(measure(call, *trainer, data.held_out));
  const TrainEnd end = TRY(learn(call, data, facts, *trainer));
  TRY(write_result(call, facts, *trainer));
  const std::optional<double> after = TRY(measure(call, *trainer, data.held_out));
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
