// ruvllm train: learns a text or answers, with all weights of a model or with an adapter beside
// them. Ctrl-C ends it after a step, and what was learned so far is written.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "open_model.h"
#include "output_file.h"
#include "terminal.h"
#include "train/trainer.h"
#include "train/write_model.h"
#include "train_texts.h"

namespace ruv {
namespace {

struct TrainCall {
  std::string model, file, jsonl, out;
  std::string state, log;
  std::string rate = "1e-4";
  std::string shape = "cosine";
  std::string type = "f32";
  std::string prompt_weight = "0";
  int64_t rank = 0;
  int64_t n_steps = 100;
  int64_t n_warmup = 0;
  int64_t n_sequences = 8;
  int64_t n_ctx = 256;
  int64_t n_rows = 512;
  int64_t checkpoints = 0;
  int64_t held_out = 0;
  int64_t seed = 0;
  bool resumes = false;
  bool force = false;
  bool json = false;
  int n_threads = 0;
};

constexpr std::pair<std::string_view, RateShape> kShapes[] = {{"constant", RateShape::constant},
                                                              {"linear", RateShape::linear},
                                                              {"cosine", RateShape::cosine},
                                                              {"one_cycle", RateShape::one_cycle}};
constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}};

// The row of a word; null: there is none.
template <class Rows>
auto* row_of_word(const Rows& rows, std::string_view word) {
  const auto found = std::ranges::find(rows, word, [](const auto& row) { return row.first; });
  return found == std::end(rows) ? nullptr : &found->second;
}

std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

TrainOptions options_of(const TrainCall& call) {
  TrainOptions options;
  options.n_threads = call.n_threads;
  options.max_rows = std::max(call.n_rows, call.n_ctx);
  options.checkpoint_entries = call.checkpoints;
  options.rate = {.shape = *row_of_word(kShapes, call.shape),
                  .peak = *parse_number(call.rate),
                  .n_steps = call.n_steps,
                  .n_warmup = call.n_warmup};
  if (call.rank > 0) {
    options.adapter = LowRankOptions{.rank = call.rank,
                                     .alpha = 2 * static_cast<double>(call.rank),
                                     .seed = static_cast<uint64_t>(call.seed)};
  }
  return options;
}

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
  const TextRules rules{call.n_ctx, static_cast<float>(*parse_number(call.prompt_weight))};
  data.learned = TRY(call.file.empty() ? read_training_lines(model, call.jsonl, rules)
                                       : read_training_text(model, call.file, rules));
  const auto n = std::ssize(data.learned) * (100 - call.held_out) / 100;
  data.held_out.assign(data.learned.begin() + n, data.learned.end());
  data.learned.resize(static_cast<size_t>(n));
  if (data.learned.empty()) return fail(Code::invalid, "there is nothing to learn");
  return data;
}

// The file of texts.
const std::string& input_of(const TrainCall& call) {
  return call.file.empty() ? call.jsonl : call.file;
}

// The files of an adapter's folder.
constexpr std::string_view kAdapterFiles[] = {"adapter_model.safetensors", "adapter_config.json"};

// What would fail at the end fails before anything is learned.
Status try_output(const TrainCall& call, const Trainer& trainer) {
  const Model& model = trainer.model();
  if (call.out.empty()) return {};
  if (trainer.adapter() == nullptr) {
    TRY(trained_tensors(model, trainer.parameters()));
    TRY(create_output(call.out, call.force, model, input_of(call)));
    return {};
  }
  TRY(check_peft_adapter(model, *trainer.adapter()));
  if (!is_directory(call.out)) {
    return fail(Code::not_found, "{}: is not a folder, which an adapter needs", call.out);
  }
  for (const std::string_view file : kAdapterFiles) {
    TRY(create_output(fmt::format("{}/{}", call.out, file), call.force, model, input_of(call)));
  }
  return {};
}

// A state that is resumed is replaced.
Status try_files(const TrainCall& call, const Trainer& trainer) {
  TRY(try_output(call, trainer));
  if (call.state.empty()) return {};
  TRY(create_output(call.state, call.force || call.resumes, trainer.model(), input_of(call)));
  return {};
}

// Lines on stderr and in the log, and how long the rest will take.
class TrainLog {
 public:
  TrainLog(const TrainCall& call, int64_t first_step)
      : n_steps_(call.n_steps), first_step_(first_step), start_ns_(clock_.now_ns()) {}

  Status open(const TrainCall& call, const Model& model) {
    if (call.log.empty()) return {};
    file_.emplace(TRY(create_output(call.log, call.force, model, input_of(call))));
    return file_->write(as_bytes("step,loss,gradient_norm,rate,tokens,seconds\n"));
  }
  Status add(const StepReport& report) {
    n_tokens_ += report.n_targets;
    const double seconds = static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
    const auto n_done = static_cast<double>(report.step - first_step_);
    const double left = seconds / n_done * static_cast<double>(n_steps_ - report.step);
    if (!is_quiet()) {
      fmt::print(stderr, "step {}/{}: loss {:.4f}, {:.1f} tokens/s, {:.0f} s left\n", report.step,
                 n_steps_, report.loss, static_cast<double>(n_tokens_) / seconds, left);
    }
    if (!file_) return {};
    return file_->write(
        as_bytes(fmt::format("{},{},{},{},{},{:.3f}\n", report.step, report.loss,
                             report.gradient_norm, report.rate, report.n_targets, seconds)));
  }
  Status close() { return file_ ? file_->commit() : Status(); }

 private:
  int64_t n_steps_, first_step_;
  SteadyClock clock_;
  int64_t start_ns_;
  int64_t n_tokens_ = 0;
  std::optional<FileWriter> file_;
};

// How a run ended.
struct TrainEnd {
  std::optional<double> loss;  // of the last step
  bool interrupted = false;
};

Result<TrainEnd> learn(const TrainCall& call, const TrainData& data, Trainer& trainer) {
  TrainEnd end;
  TrainLog log(call, trainer.n_steps());
  TRY(log.open(call, trainer.model()));
  SequenceOrder order(data.learned.size(), static_cast<uint64_t>(call.seed));
  while (trainer.n_steps() < call.n_steps && !interrupt_seen()) {
    const auto first = static_cast<uint64_t>(trainer.n_steps() * call.n_sequences);
    std::vector<TrainSequence> chosen;
    for (uint64_t i = 0; i < static_cast<uint64_t>(call.n_sequences); ++i) {
      chosen.push_back(data.learned[order.at(first + i)]);
    }
    const StepReport report = TRY(trainer.step(chosen));
    end.loss = report.loss;
    TRY(log.add(report));
  }
  end.interrupted = trainer.n_steps() < call.n_steps;
  TRY(log.close());
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

Status write_result(const TrainCall& call, const Trainer& trainer) {
  if (!call.state.empty()) TRY(trainer.save(call.state));
  if (call.out.empty()) return {};
  if (trainer.adapter() != nullptr) {
    return write_peft_adapter(trainer.model(), *trainer.adapter(), trainer.parameters(), call.out);
  }
  return write_trained_model(trainer.model(), trainer.parameters(), *row_of_word(kTypes, call.type),
                             call.out, {.replace = call.force});
}

// What a run continues from.
Status resume(const TrainCall& call, Trainer& trainer) {
  if (!call.resumes) return {};
  TRY(trainer.resume(call.state));
  if (trainer.n_steps() <= call.n_steps) return {};
  return fail(Code::invalid, "{}: is after {} steps, more than the {} of --steps", call.state,
              trainer.n_steps(), call.n_steps);
}

Result<Json> train(const TrainCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::unique_ptr<Trainer> trainer = TRY(Trainer::create(chosen.path, options_of(call)));
  TRY(resume(call, *trainer));
  const TrainData data = TRY(read_data(call, trainer->model()));
  TRY(try_files(call, *trainer));
  const InterruptScope ctrl_c;
  const std::optional<double> before = TRY(measure(call, *trainer, data.held_out));
  const TrainEnd end = TRY(learn(call, data, *trainer));
  TRY(write_result(call, *trainer));
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

void add_run_flags(CommandLine& line, TrainCall& call) {
  line.integer("--steps", call.n_steps, 1, int64_t{1} << 40, "Steps of the whole run");
  line.integer("--sequences", call.n_sequences, 1, 1 << 20, "Sequences of a step");
  line.integer("--ctx,-c", call.n_ctx, 2, 1 << 20, "Tokens of a sequence");
  line.text("--prompt-weight", call.prompt_weight,
            "How much tokens of prompts count beside those of answers, 0 to 1");
  line.integer("--rows", call.n_rows, 1, 1 << 20,
               "Tokens that are computed at once; a step has as many parts as it needs");
  line.text("--rate", call.rate, "The largest learning rate");
  line.text("--schedule", call.shape, "How the rate changes: constant, linear, cosine, one_cycle");
  line.choices({"constant", "linear", "cosine", "one_cycle"});
  line.integer("--warmup", call.n_warmup, 0, int64_t{1} << 40, "Steps in which the rate rises");
  line.integer("--checkpoints", call.checkpoints, 0, 1 << 20,
               "Operations between checkpoints, which take less memory and more time; 0: none");
  line.integer("--held-out", call.held_out, 0, 99,
               "Percent of the sequences, from the end, that are not learned but measured");
  line.integer("--seed", call.seed, 0, int64_t{1} << 53,
               "The seed of the order of sequences, and of an adapter");
  line.text("--state", call.state, "A file to write at the end, from which a run can be resumed");
  line.flag("--resume", call.resumes, "Continue from --state");
  line.text("--log", call.log, "A CSV file with a line for each step");
}

// What is wrong with a call's files; empty: nothing.
std::string fault_of_files(const CommandLine& line, const TrainCall& call) {
  if (line.given("--file") == line.given("--jsonl")) return "give either --file or --jsonl";
  if (call.out.empty() && call.state.empty()) return "give --out, --state or both";
  if (call.resumes && call.state.empty()) return "--resume needs --state";
  if (call.rank > 0 && line.given("--type")) return "--type is of weights: an adapter is float32";
  const std::string* const files[] = {&call.out, &call.state, &call.log};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (*files[i] == *files[k] && !files[i]->empty()) {
        return fmt::format("'{}' is the name of two files", *files[i]);
      }
    }
  }
  return {};
}

// What is wrong with a call; empty: nothing.
std::string fault_of(const CommandLine& line, const TrainCall& call) {
  if (std::string fault = fault_of_files(line, call); !fault.empty()) return fault;
  if (row_of_word(kShapes, call.shape) == nullptr) {
    return fmt::format("--schedule '{}' is not one of constant, linear, cosine, one_cycle",
                       call.shape);
  }
  if (row_of_word(kTypes, call.type) == nullptr) {
    return fmt::format("--type '{}' is not one of f32, f16, bf16", call.type);
  }
  const double prompt_weight = parse_number(call.prompt_weight).value_or(-1);
  if (!(prompt_weight >= 0 && prompt_weight <= 1)) {
    return fmt::format("--prompt-weight '{}' is not a number from 0 to 1", call.prompt_weight);
  }
  if (!call.file.empty() && line.given("--prompt-weight")) {
    return "--prompt-weight is of --jsonl: a text has no prompts";
  }
  if (!parse_number(call.rate)) return fmt::format("--rate '{}' is not a number", call.rate);
  if (line.given("--rows") && call.n_rows < call.n_ctx) {
    return fmt::format("--rows {} has no room for the {} tokens of --ctx", call.n_rows, call.n_ctx);
  }
  const Status schedule = check(options_of(call).rate);
  return schedule.ok() ? std::string() : schedule.message();
}

}  // namespace

int train_command(int argc, char** argv) {
  TrainCall call;
  CommandLine line("train", "Trains a model, or an adapter beside it, on a text or on answers.");
  line.example("ruvllm train -m model.gguf --jsonl answers.jsonl --rank 8 --out adapter",
               "An adapter (LoRA) as PEFT has it, in a folder that exists");
  line.example("ruvllm train -m model.gguf -f text.txt --held-out 10 --out trained.gguf",
               "All weights");
  line.alternatives({"--file", "--jsonl"});
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--file,-f", call.file, "A text, learned as sequences of --ctx tokens");
  line.text("--jsonl", call.jsonl,
            "Lines {\"text\": …}, {\"prompt\": …, \"answer\": …}, {\"messages\": […], \"answer\": "
            "…}, {\"messages\": […]} or {\"ids\": […], \"score\": […]}; texts, answers or ids are "
            "learned");
  line.text("--out,-o", call.out, "The GGUF file to write; with --rank a folder");
  line.text("--type", call.type, "The format of trained matrices in the file: f32, f16, bf16");
  line.choices({"f32", "f16", "bf16"});
  line.integer("--rank", call.rank, 0, 4096,
               "Rank of an adapter, which is trained in place of the weights; 0: the weights");
  add_run_flags(line, call);
  line.flag("--force", call.force, kForceHelp);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (const std::string fault = fault_of(line, call); !fault.empty()) return line.wrong_call(fault);
  const Result<Json> result = train(call);
  if (!result) return line.failed(result.error());
  print_result(call, *result);
  if ((*result)["complete"].get<bool>()) return kDone;
  note_interrupt(line, call, *result);
  return kInterrupted;
}

}  // namespace ruv
