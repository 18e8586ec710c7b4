#include "train_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "open_model.h"
#include "output_file.h"
#include "train_objective.h"

namespace ruv {
namespace {

// A schedule with the options that it has of its own.
struct ShapeRow {
  const char* name;
  RateShape shape;
  bool has_last, has_decay, has_every, has_fall;
};
constexpr ShapeRow kShapes[] = {{"constant", RateShape::constant, false, false, false, false},
                                {"linear", RateShape::linear, true, false, false, false},
                                {"cosine", RateShape::cosine, true, false, false, false},
                                {"exponential", RateShape::exponential, false, true, false, false},
                                {"step", RateShape::steps, false, true, true, false},
                                {"trapezoid", RateShape::trapezoid, true, false, false, true},
                                {"one_cycle", RateShape::one_cycle, false, false, false, false}};
constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"f32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}};

// Matrices of fewer numbers keep moments of float32 with --states 8bit.
constexpr int64_t kBytesFrom = 4096;

// An option whose value is a number with a fraction.
struct NumberRow {
  const char* flag;
  TrainNumber TrainCall::*number;
  double least, most;
  bool is_fact;  // later steps depend on it
  const char* help;
};
constexpr double kAny = 1e30;
constexpr NumberRow kNumbers[] = {
    {"--rate", &TrainCall::rate, 0, kAny, true, "The largest learning rate"},
    {"--min-rate", &TrainCall::min_rate, 0, kAny, true,
     "The rate that linear, cosine and trapezoid fall to"},
    {"--rate-decay", &TrainCall::rate_decay, 1e-9, 1, true,
     "By what exponential multiplies the rate at each step, and step at every --rate-every"},
    {"--rate-fall", &TrainCall::fall, 1e-9, 1, true,
     "The share of the steps, from the end, in which trapezoid falls"},
    {"--decay", &TrainCall::decay, 0, kAny, true,
     "Weight decay of AdamW, of matrices: larger keeps weights smaller"},
    {"--beta2", &TrainCall::beta2, 0, 0.999999, true,
     "How slowly AdamW's mean of squares changes: less suits short runs"},
    {"--clip", &TrainCall::clip, 0, kAny, true,
     "Gradients of a greater norm are made as long as this; 0: none"},
    {"--alpha", &TrainCall::alpha, 1e-9, kAny, true,
     "What an adapter adds is alpha / rank · B · A · x; twice the rank when absent"},
    {"--beta", &TrainCall::beta, 1e-9, kAny, true,
     "dpo: larger keeps the model nearer to what it was"},
    {"--label-smoothing", &TrainCall::label_smoothing, 0, 0.5, true,
     "dpo: the share of pairs that are taken to be the wrong way round"},
    {"--clip-ratio", &TrainCall::clip_ratio, 1e-9, 1, true,
     "grpo, ppo: how far the ratio of probabilities moves from 1 and is still learned from"},
    {"--kl", &TrainCall::kl, 0, kAny, true, "grpo, ppo: what leaving the first model costs"},
    {"--gamma", &TrainCall::gamma, 0, 1, true, "ppo: how much of a later reward counts"},
    {"--lambda", &TrainCall::lambda, 0, 1, true,
     "ppo: 1 takes sums of rewards, 0 the next value alone"},
    {"--value-weight", &TrainCall::value_weight, 0, kAny, true,
     "ppo: the loss of values beside that of answers"},
    {"--margin", &TrainCall::margin, 1e-9, 2, true, "triplet: how far apart is enough"},
    {"--temperature", &TrainCall::temperature, 1e-3, kAny, true,
     "infonce (0.07): less looks at the nearest alone; distill (1): more compares what is "
     "unlikely, "
     "too"},
    {"--prompt-weight", &TrainCall::prompt_weight, 0, 1, false,
     "How much tokens of prompts count beside those of answers"}};

const ShapeRow* shape_row(std::string_view name) {
  const auto found = std::ranges::find(
      kShapes, name, [](const ShapeRow& row) { return std::string_view(row.name); });
  return found == std::end(kShapes) ? nullptr : found;
}

std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

// What is wrong with the numbers; empty: nothing.
std::string read_numbers(const CommandLine& line, TrainCall& call) {
  for (const NumberRow& row : kNumbers) {
    TrainNumber& number = call.*row.number;
    if (!line.given(row.flag) && number.text.empty()) continue;
    const std::optional<double> value = parse_number(number.text);
    // NaN is in no range.
    if (!value || !(*value >= row.least && *value <= row.most)) {
      const std::string most = row.most < kAny ? fmt::format(" to {}", row.most) : "";
      return fmt::format("{} '{}' is not a number from {}{}", row.flag, number.text, row.least,
                         most);
    }
    number.value = *value;
  }
  return {};
}

// Options that the schedule would not read.
std::string fault_of_schedule(const CommandLine& line, const TrainCall& call) {
  const ShapeRow* const row = shape_row(call.shape);
  if (row == nullptr) return fmt::format("--schedule '{}' is not one that there is", call.shape);
  const std::pair<const char*, bool> options[] = {{"--min-rate", row->has_last},
                                                  {"--rate-decay", row->has_decay},
                                                  {"--rate-every", row->has_every},
                                                  {"--rate-fall", row->has_fall}};
  for (const auto& [flag, is_read] : options) {
    if (line.given(flag) && !is_read) {
      return fmt::format("{} means nothing with --schedule {}", flag, call.shape);
    }
  }
  if (row->has_decay && !line.given("--rate-decay")) {
    return fmt::format("--schedule {} needs --rate-decay", call.shape);
  }
  if (call.min_rate.value > call.rate.value) return "--min-rate is more than --rate";
  const Status schedule = check(options_of(call).rate);
  return schedule.ok() ? std::string() : schedule.message();
}

// What is wrong with a call's files; empty: nothing.
std::string fault_of_files(const CommandLine& line, const TrainCall& call) {
  if (line.given("--file") == line.given("--jsonl")) return "give either --file or --jsonl";
  if (call.out.empty() && call.state.empty()) return "give --out, --state or both";
  if (call.resumes && call.state.empty()) return "--resume needs --state";
  if (call.save_every > 0 && call.state.empty()) return "--save-every needs --state";
  if (call.is_adapter() && line.given("--type")) {
    return "--type is of weights: an adapter is float32";
  }
  if (call.is_adapter() && call.optimiser == "muon") {
    return "--optimiser muon is for matrices of layers: an adapter has none";
  }
  const std::string* const files[] = {&call.out, &call.state, &call.log, &call.tensorboard};
  for (size_t i = 0; i < std::size(files); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (*files[i] == *files[k] && !files[i]->empty()) {
        return fmt::format("'{}' is the name of two files", *files[i]);
      }
    }
  }
  return {};
}

void add_file_flags(CommandLine& line, TrainCall& call) {
  line.alternatives({"--file", "--jsonl"});
  line.text("--model,-m", call.model, kModelHelp);
  line.text("--file,-f", call.file, "A text, learned as sequences of --ctx tokens");
  line.text("--jsonl", call.jsonl,
            "Lines {\"text\": …}, {\"prompt\": …, \"answer\": …}, {\"messages\": […], \"answer\": "
            "…}, {\"messages\": […]} or {\"ids\": […], \"score\": […]}; texts, answers or ids are "
            "learned");
  line.text(
      "--out,-o", call.out,
      "The GGUF file to write, or a folder that exists: of a checkpoint, as the model is, with "
      "--rank of an adapter, or of drafting heads");
  line.text("--type", call.type, "The format of trained matrices in the file: f32, f16, bf16");
  line.choices({"f32", "f16", "bf16"});
  line.text("--state", call.state, "A file to write at the end, from which a run can be resumed");
  line.integer("--save-every", call.save_every, 0, int64_t{1} << 40,
               "Steps after which --state is written, too, while the next ones run; 0: at the end");
  line.flag("--resume", call.resumes, "Continue from --state");
  line.text("--log", call.log, "A CSV file with a line for each step");
  line.text("--tensorboard", call.tensorboard, "A folder for a file that TensorBoard reads");
}

void add_step_flags(CommandLine& line, TrainCall& call) {
  line.text("--objective", call.objective,
            "What is learned: sft, texts or answers; distill, what a teacher says of them; "
            "draft-heads, heads that draft for the model, which stays as it is; dpo, pairs; "
            "reward, a scorer of pairs; grpo or ppo, answers with rewards; infonce or "
            "triplet, embeddings");
  line.choices(objective_names());
  line.integer("--heads", call.n_heads, 1, kMostDraftHeads,
               "draft-heads: how many, of which each drafts a token further ahead");
  line.text("--teacher", call.teacher, "distill: a model with the same tokens");
  line.text(
      "--pooling", call.pooling,
      "infonce, triplet: the mean of all tokens, or the last; what the model has when absent");
  line.choices({"mean", "last"});
  line.integer("--rank", call.rank, 0, 4096,
               "Rank of an adapter, which is trained in place of the weights; 0: the weights");
  line.text("--adapter", call.adapter,
            "A folder of PEFT with an adapter to continue, of this rank, alpha and targets");
  line.text("--targets", call.targets,
            "Tensors that are trained, or have an adapter, separated by commas: attn_q,attn_v");
  line.integer("--steps", call.n_steps, 1, int64_t{1} << 40, "Steps of the whole run");
  line.integer("--sequences", call.n_sequences, 1, 1 << 20, "Sequences of a step");
  line.integer("--ctx,-c", call.n_ctx, 2, 1 << 20, "Tokens of a sequence");
  line.integer("--rows", call.n_rows, 1, 1 << 20,
               "Tokens that are computed at once; a step has as many parts as it needs");
  line.text("--optimiser", call.optimiser,
            "adamw, or muon for the matrices of layers and adamw for the rest");
  line.choices({"adamw", "muon"});
  line.text("--states", call.states,
            "How the optimiser's moments are kept: f32, or 8bit for those of matrices of 4096 "
            "numbers or more, which takes 2 bytes for each number in place of 8");
  line.choices({"f32", "8bit"});
  line.text("--precision", call.precision,
            "bf16 rounds factors of the products of matrices, but not what is learned: faster on a "
            "processor whose bf16 peak in `ruvllm bench` is above its f32 peak");
  line.choices({"f32", "bf16"});
  line.text("--schedule", call.shape,
            "How the rate changes: constant, linear, cosine, exponential, step, trapezoid, "
            "one_cycle");
  std::vector<std::string> shapes;
  for (const ShapeRow& row : kShapes) shapes.emplace_back(row.name);
  line.choices(shapes);
  for (const NumberRow& row : kNumbers) line.text(row.flag, (call.*row.number).text, row.help);
  line.integer("--rate-every", call.rate_every, 1, int64_t{1} << 40,
               "Steps between the falls of the schedule step");
  line.integer("--warmup", call.n_warmup, 0, int64_t{1} << 40, "Steps in which the rate rises");
  line.integer("--checkpoints", call.checkpoints, 0, 1 << 20,
               "Operations between checkpoints, which take less memory and more time; 0: none");
  line.integer(
      "--fresh", call.fresh, -1, int64_t{1} << 53,
      "A seed that weights are drawn anew of: only the shape of the model is taken; -1: its "
      "own weights");
  line.integer("--held-out", call.held_out, 0, 99,
               "Percent of the sequences, from the end, that are not learned but measured");
  line.integer("--seed", call.seed, 0, int64_t{1} << 53,
               "The seed of the order of sequences, and of an adapter");
}

}  // namespace

bool TrainCall::writes_checkpoint() const {
  return !is_adapter() && !trains_draft_heads() && is_directory(out);
}

std::vector<std::string> TrainCall::target_names() const {
  std::vector<std::string> names;
  for (size_t at = 0; at < targets.size();) {
    const size_t end = std::min(targets.find(',', at), targets.size());
    names.push_back(targets.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// A part of the name between dots: "attn_q" of "blk.0.attn_q.weight", "token_embd" of
// "token_embd.weight", "blk.0" not.
bool is_target(std::string_view target, std::string_view tensor) {
  for (size_t at = 0; at < tensor.size();) {
    const size_t end = std::min(tensor.find('.', at), tensor.size());
    if (tensor.substr(at, end - at) == target) return true;
    at = end + 1;
  }
  return tensor == target;
}

DType type_of(const TrainCall& call) {
  return std::ranges::find(kTypes, call.type, [](const auto& row) { return row.first; })->second;
}

TrainOptions options_of(const TrainCall& call) {
  TrainOptions options;
  options.n_threads = call.n_threads;
  options.max_rows = std::max(call.n_rows, call.n_ctx);
  options.checkpoint_entries = call.checkpoints;
  if (call.precision == "bf16") options.precision = FactorPrecision::bf16;
  options.greatest_norm = call.clip.value;
  options.has_head = has_head(call.objective);
  if (call.trains_draft_heads()) options.n_draft_heads = call.n_heads;
  options.optimiser.adam.weight_decay = call.decay.value;
  options.optimiser.adam.beta2 = call.beta2.value;
  if (call.states == "8bit") options.optimiser.adam.bytes_from = kBytesFrom;
  if (call.optimiser == "muon") options.optimiser.muon = MuonNumbers();
  const double peak = call.rate.value;
  options.rate = {.shape = shape_row(call.shape)->shape,
                  .peak = peak,
                  .n_steps = call.n_steps,
                  .n_warmup = call.n_warmup,
                  .last = peak > 0 ? call.min_rate.value / peak : 0,
                  .decay = call.rate_decay.value,
                  .every = call.rate_every,
                  .fall = call.fall.value};
  std::function<bool(std::string_view)> chosen;
  if (!call.targets.empty()) {
    chosen = [names = call.target_names()](std::string_view tensor) {
      return std::ranges::any_of(names,
                                 [&](const std::string& name) { return is_target(name, tensor); });
    };
  }
  if (call.fresh >= 0) options.fresh = static_cast<uint64_t>(call.fresh);
  if (!call.is_adapter()) {
    options.trains = chosen;
    return options;
  }
  const auto rank = static_cast<double>(call.rank);
  options.adapter = LowRankOptions{.rank = call.rank,
                                   .alpha = call.alpha.text.empty() ? 2 * rank : call.alpha.value,
                                   .seed = static_cast<uint64_t>(call.seed),
                                   .adapts = chosen,
                                   .start = call.adapter};
  return options;
}

// --steps is one where the rates depend on it. --states is one where it is not f32: states of runs
// from before there was a choice are f32.
std::vector<RunFact> facts_of(const TrainCall& call) {
  std::vector<RunFact> facts;
  const std::pair<const char*, int64_t> integers[] = {{"--rank", call.rank},
                                                      {"--sequences", call.n_sequences},
                                                      {"--rows", std::max(call.n_rows, call.n_ctx)},
                                                      {"--warmup", call.n_warmup},
                                                      {"--rate-every", call.rate_every},
                                                      {"--seed", call.seed},
                                                      {"--fresh", call.fresh}};
  facts.push_back({"--objective", call.objective});
  facts.push_back({"--pooling", call.pooling});
  facts.push_back({"--schedule", call.shape});
  facts.push_back({"--targets", call.targets});
  facts.push_back({"--optimiser", call.optimiser});
  facts.push_back({"--precision", call.precision});
  for (const auto& [flag, value] : integers) facts.push_back({flag, fmt::format("{}", value)});
  for (const NumberRow& row : kNumbers) {
    if (row.is_fact) facts.push_back({row.flag, fmt::format("{}", (call.*row.number).value)});
  }
  if (needs_length(shape_row(call.shape)->shape)) {
    facts.push_back({"--steps", fmt::format("{}", call.n_steps)});
  }
  if (call.trains_draft_heads()) facts.push_back({"--heads", fmt::format("{}", call.n_heads)});
  if (call.states != "f32") facts.push_back({"--states", call.states});
  return facts;
}

void add_train_flags(CommandLine& line, TrainCall& call) {
  line.example("ruvllm train -m model.gguf --jsonl answers.jsonl --rank 8 --out adapter",
               "An adapter (LoRA) as PEFT has it, in a folder that exists");
  line.example("ruvllm train -m model.gguf -f text.txt --held-out 10 --out trained.gguf",
               "All weights");
  add_file_flags(line, call);
  add_step_flags(line, call);
  line.flag("--force", call.force, kForceHelp);
  line.flag("--json", call.json, "Print one JSON object");
  line.threads(call.n_threads);
}

std::string read_train_call(const CommandLine& line, TrainCall& call) {
  if (std::string fault = fault_of_files(line, call); !fault.empty()) return fault;
  if (std::string fault = read_numbers(line, call); !fault.empty()) return fault;
  const bool has_type =
      std::ranges::any_of(kTypes, [&](const auto& row) { return row.first == call.type; });
  if (!has_type) return fmt::format("--type '{}' is not one of f32, f16, bf16", call.type);
  if (!call.file.empty() && line.given("--prompt-weight")) {
    return "--prompt-weight is of --jsonl: a text has no prompts";
  }
  if (call.fresh >= 0 && (call.is_adapter() || !call.targets.empty())) {
    return "--fresh draws all weights, and all are trained: --rank and --targets are of others";
  }
  if (!call.is_adapter() && line.given("--adapter")) {
    return "--adapter is one to continue: give its --rank";
  }
  if (!call.is_adapter() && line.given("--alpha")) return "--alpha is of an adapter: give --rank";
  for (const std::string& name : call.target_names()) {
    if (name.empty()) return fmt::format("--targets '{}' has an empty name", call.targets);
  }
  if (line.given("--targets") && call.targets.empty()) return "--targets is empty";
  if (line.given("--rows") && call.n_rows < call.n_ctx) {
    return fmt::format("--rows {} has no room for the {} tokens of --ctx", call.n_rows, call.n_ctx);
  }
  if (std::string fault = fault_of_objective(line, call); !fault.empty()) return fault;
  return fault_of_schedule(line, call);
}

}  // namespace ruv
