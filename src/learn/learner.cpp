#include "learn/learner.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/folder.h"
#include "base/key_text.h"
#include "base/tree.h"
#include "learn/gated_step.h"
#include "learn/usual_texts.h"
#include "model/content_key.h"

namespace ruv {
namespace {

constexpr int64_t kMostRank = 2;
constexpr size_t kMostNameBytes = 64;

Status check_instance_name(const std::string& name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!name.empty() && name.size() <= kMostNameBytes && name[0] != '.' &&
      name.find_first_not_of(kAllowed) == name.npos) {
    return {};
  }
  return fail(
      Code::invalid,
      "learning: the name of an instance is 1 to {} of A-Z, a-z, 0-9, '.', '_' and '-', and "
      "does not begin with a dot",
      kMostNameBytes);
}

Status check(const LearnOptions& options) {
  TRY(check(options.step));
  TRY(check(options.limits));
  const GradientOptions& gradient = options.gradient;
  if (gradient.rank < 1 || gradient.rank > kMostRank) {
    return fail(Code::invalid, "learning: a rank of {}; it is 1 or {}", gradient.rank, kMostRank);
  }
  if (gradient.max_bytes > 1'000'000 || gradient.n_layers < 1 || gradient.matrices.empty()) {
    return fail(Code::invalid, "learning: an adapter of {} bytes, {} layers, {} matrices of each",
                gradient.max_bytes, gradient.n_layers, gradient.matrices.size());
  }
  if (options.instance.max_states < 1 || options.instance.max_pending < 1) {
    return fail(Code::invalid, "learning: room for {} states and {} feedbacks",
                options.instance.max_states, options.instance.max_pending);
  }
  return {};
}

// A hash of the model's contents and of what the adapter adds to: what was learned for one of them
// means nothing for another.
uint64_t fit_key(const GradientModel<float>& model) {
  const ContentKey content = content_key(*model.model().file, model.model().device->packing());
  KeyText key;
  for (const uint64_t word : content.words) key.number(word);
  key.number(static_cast<uint64_t>(model.adapter().options().rank));
  key.text(fmt::format("{}", model.adapter().options().alpha));
  for (const AdaptedModule& module : model.adapter().modules()) key.text(module.tensor);
  return key.hash(1);
}

}  // namespace

// What became of a feedback before it is in the journal. The refusal is empty where the gate let
// the step pass.
struct Learner::Outcome {
  std::shared_ptr<const LearnState> state;  // null: it was refused
  std::string refusal = {};
  UpdateReading reading = {};
  float share = 1;      // as GatedStep has it
  Status failure = {};  // of writing files
};

Result<std::unique_ptr<Learner>> Learner::open(const std::string& model,
                                               const LearnOptions& options,
                                               PublishAdapter publish) {
  if (!kHasThreads) return fail(Code::unsupported, "learning needs a system with threads");
  TRY(check(options));
  std::unique_ptr<Learner> learner(new Learner(options));
  TRY(learner->prepare(model, std::move(publish)));
  return learner;
}

// Everything that can fail does so before the thread starts. Instances of the folder are opened at
// once, as a journal that cannot be read is better known at the start than at a request.
Status Learner::prepare(const std::string& model, PublishAdapter publish) {
  publish_ = std::move(publish);
  TRY(make_folder(options_.folder));
  lock_.emplace(TRY(FileLock::take(options_.folder + "/lock")));
  model_ = TRY(GradientModel<float>::create(model, options_.gradient));
  TRY(check_peft_adapter(model_->model(), model_->adapter()));
  UpdateTexts texts = options_.texts.held_out.empty() && options_.texts.canaries.empty()
                          ? TRY(usual_update_texts(model_->model()))
                          : options_.texts;
  online_ = TRY(OnlineLearner::create(*model_, options_.step, std::move(texts.rehearsed)));
  initial_ = std::make_shared<const LearnState>(online_->initial_state());
  gate_ = TRY(UpdateGate::create(*model_, std::move(texts)));
  fit_ = {fit_key(*model_), initial_->numbers.size()};
  for (const std::string& name : folders_in(options_.folder)) {
    TRY(check_instance_name(name));
    LearnInstance* const instance = TRY(find_or_make(name));
    if (instance->next_turn()) turns_.push_back(name);
    if (instance->generation() > 0) published_.push_back(name);
  }
  if (!start_thread(thread_, [this] { work(); })) {
    return fail(Code::unavailable, "learning: the system gives no thread");
  }
  return {};
}

// The thread ends between two feedbacks; what waits is in the journals.
Learner::~Learner() {
  {
    const Lock lock(mutex_);
    is_ending_ = true;
  }
  work_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<LearnInstance*> Learner::find(const std::string& name) const {
  const auto found = instances_.find(name);
  if (found != instances_.end()) return found->second.get();
  return fail(Code::not_found, "learning: there is no instance '{}'", name);
}

Result<LearnInstance*> Learner::find_or_make(const std::string& name) {
  if (const auto found = instances_.find(name); found != instances_.end()) {
    return found->second.get();
  }
  if (instances_.size() >= options_.max_instances) {
    return fail(Code::out_of_memory, "learning: there are {} instances, which is the most",
                instances_.size());
  }
  auto made =
      TRY(LearnInstance::open(options_.folder + "/" + name, options_.instance, fit_, initial_));
  return instances_.emplace(name, std::move(made)).first->second.get();
}

// What can be checked without the lock is, so that one caller's long text does not hold up others.
Result<uint64_t> Learner::adapt(const std::string& name, const AdaptFeedback& feedback) {
  TRY(check_instance_name(name));
  const Judgement judgement = TRY(judgement_of(model_->model(), feedback));
  TRY(model_->check(judgement.text));
  Lock lock(mutex_);
  LearnInstance* const instance = TRY(find_or_make(name));
  const bool had_turn = instance->next_turn().has_value();
  const uint64_t number = TRY(instance->take(judgement));
  if (!had_turn) turns_.push_back(name);
  lock.unlock();
  work_changed_.notify_all();
  return number;
}

// The journal decides at once; serving follows when the thread has a moment.
Result<uint64_t> Learner::undo(const std::string& name, uint64_t n) {
  Lock lock(mutex_);
  LearnInstance* const instance = TRY(find(name));
  const uint64_t generation = TRY(instance->undo(n));
  published_.push_back(name);
  lock.unlock();
  work_changed_.notify_all();
  return generation;
}

Result<InstanceSummary> Learner::summary(const std::string& name) const {
  const Lock lock(mutex_);
  return TRY(find(name))->summary(name);
}

std::vector<InstanceSummary> Learner::summaries() const {
  const Lock lock(mutex_);
  std::vector<InstanceSummary> all;
  for (const auto& [name, instance] : instances_) all.push_back(instance->summary(name));
  return all;
}

void Learner::wait() const {
  Lock lock(mutex_);
  idle_changed_.wait(lock, [this] { return !is_busy_ && turns_.empty() && published_.empty(); });
}

Result<std::vector<std::byte>> Learner::state_of(const std::string& name) const {
  const Lock lock(mutex_);
  return state_bytes(*TRY(find(name))->state(), fit_);
}

// Adapters that are ready go before steps.
void Learner::work() {
  Lock lock(mutex_);
  while (true) {
    is_busy_ = false;
    if (turns_.empty() && published_.empty()) idle_changed_.notify_all();
    work_changed_.wait(lock,
                       [this] { return is_ending_ || !turns_.empty() || !published_.empty(); });
    if (is_ending_) return;
    is_busy_ = true;
    std::deque<std::string>& names = published_.empty() ? turns_ : published_;
    const std::string name = names.front();
    LearnInstance& instance = *instances_.at(name);
    const bool publishes = &names == &published_;
    names.pop_front();
    if (publishes) {
      publish(name, instance, lock);
    } else {
      take_turn(name, instance, lock);
      if (instance.next_turn() && std::ranges::find(turns_, name) == turns_.end()) {
        turns_.push_back(name);
      }
    }
  }
}

// Generation 0 has files from the first time that it is gone back to.
void Learner::publish(const std::string& name, LearnInstance& instance, Lock& lock) {
  if (!publish_) return;
  const uint64_t generation = instance.generation();
  const std::string folder = instance.adapter_folder(generation);
  lock.unlock();
  Status done;
  if (generation == 0) {
    model_->put(initial_->numbers);
    done = make_folder(folder);
    if (done.ok()) {
      done = write_peft_adapter(model_->model(), model_->adapter(), model_->parameters(), folder);
    }
  }
  if (done.ok()) done = publish_(name, folder);
  lock.lock();
  if (!done.ok()) instance.give_up(done);
}

// A step that cannot be computed is refused like one that the gate refuses. Files are written last,
// when it is known that they are wanted, and before the journal names them.
Learner::Outcome Learner::learn(const LearnInstance& instance, const LearnTurn& turn,
                                const LearnState& before, const JudgedText* again) {
  Outcome outcome;
  const GatedLearner learner{*model_, *online_, *gate_, options_.limits};
  Result<GatedStep> step = learner.step(before, turn.number, turn.judgement, again);
  if (!step) {
    outcome.refusal = step.error().message();
    return outcome;
  }
  outcome.reading = step->reading;
  outcome.refusal = step->refusal;
  outcome.share = step->share;
  if (!outcome.refusal.empty()) return outcome;
  const auto state = std::make_shared<const LearnState>(std::move(step->state));
  const std::string folder = instance.adapter_folder(turn.generation);
  outcome.failure = instance.write_state(turn.generation, *state);
  if (outcome.failure.ok()) outcome.failure = make_folder(folder);
  if (outcome.failure.ok()) {
    outcome.failure =
        write_peft_adapter(model_->model(), model_->adapter(), model_->parameters(), folder);
  }
  outcome.state = state;
  return outcome;
}

// Copies what the step needs, as another thread may undo meanwhile; accept() and refuse() notice.
void Learner::take_turn(const std::string& name, LearnInstance& instance, Lock& lock) {
  const std::optional<LearnTurn> turn = instance.next_turn();
  if (!turn) return;
  const std::shared_ptr<const LearnState> state = instance.state();
  std::optional<JudgedText> again;
  if (const std::optional<uint64_t> number = online_->next_replay(*state)) {
    if (const Judgement* const kept = instance.kept(*number)) again = kept->text;
  }
  lock.unlock();
  Outcome outcome = learn(instance, *turn, *state, again ? &*again : nullptr);
  lock.lock();
  if (!outcome.failure.ok()) return instance.give_up(outcome.failure);
  const bool accepted = outcome.refusal.empty();
  const Result<bool> done =
      accepted ? instance.accept(*turn, std::move(outcome.state), outcome.reading, outcome.share)
               : instance.refuse(*turn, outcome.refusal, outcome.reading);
  if (done && *done && accepted) published_.push_back(name);
}

}  // namespace ruv
