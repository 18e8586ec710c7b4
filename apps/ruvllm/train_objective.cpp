#include "train_objective.h"

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "ruv/embed.h"
#include "terminal.h"

namespace ruv {
namespace {

struct ObjectiveRow {
  const char* name;
  LineKind lines;
  bool needs_reference;
  bool has_head;
  std::vector<std::string_view> options;  // of its own
};

const std::vector<ObjectiveRow>& objective_rows() {
  static const std::vector<ObjectiveRow> kRows = {
      {"sft", LineKind::text, false, false, {}},
      {"distill", LineKind::text, false, false, {"--teacher", "--temperature"}},
      {"draft-heads", LineKind::text, false, false, {"--heads"}},
      {"dpo", LineKind::pair, true, false, {"--beta", "--label-smoothing"}},
      {"reward", LineKind::pair, false, true, {}},
      {"grpo", LineKind::answers, true, false, {"--clip-ratio", "--kl"}},
      {"ppo",
       LineKind::answers,
       true,
       true,
       {"--clip-ratio", "--kl", "--gamma", "--lambda", "--value-weight"}},
      {"infonce", LineKind::triplet, false, false, {"--temperature", "--pooling"}},
      {"triplet", LineKind::triplet, false, false, {"--margin", "--pooling"}}};
  return kRows;
}

const ObjectiveRow* objective_row(std::string_view name) {
  const auto found = std::ranges::find(objective_rows(), name, &ObjectiveRow::name);
  return found == objective_rows().end() ? nullptr : &*found;
}

// The model stays as it is, and heads are written in float32.
std::string fault_of_draft_heads(const CommandLine& line, const TrainCall& call) {
  for (const char* const option :
       {"--rank", "--targets", "--fresh", "--type", "--adapter", "--checkpoints"}) {
    if (!line.given(option)) continue;
    return fmt::format("{} means nothing with --objective draft-heads", option);
  }
  if (call.optimiser == "muon") {
    return "--optimiser muon is for matrices of layers: drafting heads have none";
  }
  return {};
}

// Advantages of whole answers, prompt by prompt.
void add_advantages(const TrainExample& example, std::vector<double>& to) {
  const std::vector<double> found = group_advantages(example.rewards);
  to.insert(to.end(), found.begin(), found.end());
}

}  // namespace

std::vector<std::string> objective_names() {
  std::vector<std::string> names;
  for (const ObjectiveRow& row : objective_rows()) names.emplace_back(row.name);
  return names;
}

LineKind lines_of_objective(std::string_view objective) { return objective_row(objective)->lines; }
bool has_head(std::string_view objective) { return objective_row(objective)->has_head; }

std::string fault_of_objective(const CommandLine& line, const TrainCall& call) {
  const ObjectiveRow* const row = objective_row(call.objective);
  if (row == nullptr) return fmt::format("--objective '{}' is not one", call.objective);
  for (const ObjectiveRow& other : objective_rows()) {
    for (const std::string_view option : other.options) {
      const bool is_own = std::ranges::find(row->options, option) != row->options.end();
      if (is_own || !line.given(std::string(option).c_str())) continue;
      return fmt::format("{} means nothing with --objective {}", option, call.objective);
    }
  }
  if (!call.file.empty() && row->lines != LineKind::text) {
    return fmt::format("--objective {} learns lines: give --jsonl", call.objective);
  }
  if (call.objective == "distill" && call.teacher.empty()) {
    return "--objective distill needs --teacher";
  }
  if (!call.pooling.empty() && call.pooling != "mean" && call.pooling != "last") {
    return fmt::format("--pooling '{}' is not mean or last", call.pooling);
  }
  if (row->lines == LineKind::triplet && line.given("--prompt-weight")) {
    return "--prompt-weight is of answers: embeddings have none";
  }
  if (call.trains_draft_heads()) return fault_of_draft_heads(line, call);
  if (call.objective == "reward" && call.is_adapter()) {
    return "--objective reward has a matrix that adapters cannot hold: train without --rank";
  }
  return {};
}

Result<std::unique_ptr<RunObjective>> RunObjective::create(const TrainCall& call,
                                                           Trainer& trainer) {
  std::unique_ptr<RunObjective> made(new RunObjective(call, trainer));
  if (!call.teacher.empty()) {
    made->teacher_ = TRY(Teacher::create(call.teacher, trainer.model(), call.n_threads,
                                         std::max(call.n_rows, call.n_ctx)));
  }
  if (lines_of_objective(call.objective) == LineKind::triplet) TRY(made->choose_pooling());
  return made;
}

// What the model's file says, so that it is embedded as it was trained.
Status RunObjective::choose_pooling() {
  const Result<EmbedInfo> info = embed_info(trainer_.model());
  pooling_ = info ? info->pooling : Pooling::last;
  if (!call_.pooling.empty()) pooling_ = call_.pooling == "last" ? Pooling::last : Pooling::mean;
  if (pooling_ == Pooling::last || pooling_ == Pooling::mean) return {};
  return fail(Code::unsupported, "the model's embeddings are '{}': give --pooling mean or last",
              pooling_name(pooling_));
}

// The answers were drawn from the model that the run begins with. Without an adapter to begin with
// that is the reference, too.
Status RunObjective::prepare(std::vector<TrainExample> examples, std::span<const size_t> used) {
  examples_ = std::move(examples);
  reference_.resize(examples_.size());
  old_.resize(examples_.size());
  const bool has_start = !call_.adapter.empty();
  if (!objective_row(call_.objective)->needs_reference) return {};
  for (const size_t i : used) {
    if (interrupt_seen()) break;  // and no step follows
    reference_[i] = TRY(trainer_.log_probs(examples_[i].sequences, false));
    old_[i] = has_start ? TRY(trainer_.log_probs(examples_[i].sequences)) : reference_[i];
  }
  return {};
}

std::unique_ptr<StepObjective> RunObjective::objective_of(const Step& step) {
  const std::string& name = call_.objective;
  const auto n_examples = static_cast<int64_t>(step.weight);
  if (name == "dpo") {
    return std::make_unique<DpoObjective>(
        DpoNumbers{.beta = call_.beta.value, .smoothing = call_.label_smoothing.value},
        step.reference);
  }
  if (name == "reward") return std::make_unique<RewardObjective>(*trainer_.head(), n_examples);
  const PolicyNumbers policy{.clip = call_.clip_ratio.value, .kl = call_.kl.value};
  if (name == "grpo") return std::make_unique<GrpoObjective>(policy, step.answers);
  if (name == "ppo") {
    int64_t n_targets = 0;
    for (const TrainSequence& sequence : step.sequences) n_targets += sequence.n_targets();
    return std::make_unique<PpoObjective>(
        PpoNumbers{.policy = policy,
                   .advantage = {.gamma = call_.gamma.value, .lambda = call_.lambda.value},
                   .value_weight = call_.value_weight.value},
        step.answers, *trainer_.head(), n_targets);
  }
  if (name == "distill") {
    return std::make_unique<DistillObjective>(*teacher_, step.sequences, call_.temperature_or(1));
  }
  if (name == "draft-heads") {
    return std::make_unique<DraftHeadsObjective>(*trainer_.draft_heads(),
                                                 trainer_.parameters().all(), step.sequences);
  }
  if (name == "sft") return nullptr;
  return std::make_unique<ContrastObjective>(
      ContrastNumbers{.is_triplet = name == "triplet",
                      .pools_last = pooling_ == Pooling::last,
                      .margin = call_.margin.value,
                      .temperature = call_.temperature_or(0.07)},
      step.groups);
}

std::unique_ptr<RunObjective::Step> RunObjective::step_of(std::span<const size_t> chosen) {
  auto step = std::make_unique<Step>();
  for (const size_t number : chosen) {
    const TrainExample& example = examples_[number];
    const auto first = std::ssize(step->sequences);
    ContrastGroup group{first, first + 1};
    for (int64_t i = 2; i < std::ssize(example.sequences); ++i) {
      group.negatives.push_back(first + i);
    }
    step->groups.push_back(std::move(group));
    step->sequences.insert(step->sequences.end(), example.sequences.begin(),
                           example.sequences.end());
    const SequenceLogs& reference = reference_[number];
    step->reference.insert(step->reference.end(), reference.begin(), reference.end());
    SequenceLogs& old = step->answers.old;
    old.insert(old.end(), old_[number].begin(), old_[number].end());
    add_advantages(example, step->answers.advantages);
  }
  step->answers.reference = step->reference;
  step->weight = static_cast<double>(chosen.size());
  if (lines_of_objective(call_.objective) == LineKind::text) {
    step->weight = 0;
    for (const TrainSequence& sequence : step->sequences) step->weight += sequence.weight_sum();
  }
  step->objective = objective_of(*step);
  return step;
}

Result<StepReport> RunObjective::step(std::span<const size_t> chosen) {
  const std::unique_ptr<Step> step = step_of(chosen);
  return step->objective == nullptr ? trainer_.step(step->sequences)
                                    : trainer_.step(step->sequences, *step->objective);
}

Result<RunObjective::Measured> RunObjective::loss(std::span<const size_t> chosen) {
  const std::unique_ptr<Step> step = step_of(chosen);
  const double loss =
      TRY(step->objective == nullptr ? trainer_.loss(step->sequences)
                                     : trainer_.loss(step->sequences, *step->objective));
  return Measured{loss, step->weight};
}

std::vector<RunFact> RunObjective::facts() const {
  std::vector<RunFact> facts;
  if (!call_.adapter.empty()) {
    const Result<MappedFile> file = MappedFile::open(call_.adapter + "/adapter_model.safetensors");
    const uint64_t hash = file ? hash_bytes(file->bytes()) : 0;
    facts.push_back({"an adapter to begin with of the hash", fmt::format("{:016x}", hash)});
  }
  if (teacher_ == nullptr) return facts;
  uint64_t hash = 0;
  for (const MappedFile& file : teacher_->model().file->files()) {
    hash = hash_bytes(file.bytes(), hash);
  }
  facts.push_back({"a teacher with the hash", fmt::format("{:016x}", hash)});
  return facts;
}

}  // namespace ruv
