// Learner: learns from what users say of answers, while a model serves. Each name is an instance of
// its own, a tenant's or a session's, with an adapter that nothing of another's flows into.
//
// Taking a feedback checks it and writes it to the instance's journal. One thread learns, one
// feedback after the other and instances by turns: it computes the step, asks the gate
// (learn/update_gate.h), writes what was made, and hands it over to be served. No request waits for
// it. What an instance learned depends on its journal alone, not on times or threads.
#pragma once

#include <atomic>

#include "base/append_file.h"
#include "base/thread.h"
#include "learn/teaching.h"

namespace ruv {

struct LearnOptions {
  std::string folder;  // made if need be; one process at a time uses it
  GradientOptions gradient = {};
  StepNumbers step = {};
  UpdateLimits limits = {};
  UpdateTexts texts = {};  // none: usual_update_texts()
  InstanceOptions instance = {};
  size_t max_instances = 1000;
};

// Hands an adapter over to be served under an instance's name: a folder as PEFT has it, which stays
// at least until the next call for the name. Called by the thread that learns, and by open().
using PublishAdapter = std::function<Status(const std::string& name, const std::string& folder)>;

// Any thread may call.
class Learner final : public Teaching {
 public:
  // Loads the model once more, for learning: it shares the pages of its file with one that serves.
  // Continues what instances of the folder had not learned. Fails: invalid (options; a rank above
  // 2), unavailable (another process uses the folder), corrupt (a journal); as
  // GradientModel::create and UpdateGate::create.
  static Result<std::unique_ptr<Learner>> open(const std::string& model,
                                               const LearnOptions& options,
                                               PublishAdapter publish = {});
  // Ends after the feedback that is being learned; others wait in journals for the next open().
  ~Learner() override;

  // Returns the number of the feedback once it is in the journal. Fails: invalid (a name that is
  // not 1 to 64 of A-Z a-z 0-9 . _ - or begins with a dot; as judgement_of), out_of_memory
  // (max_instances); as LearnInstance::take.
  Result<uint64_t> adapt(const std::string& name, const AdaptFeedback& feedback) override;
  // Takes back the last n accepted steps. Returns the generation that is current now; it is served
  // as soon as the thread comes to it. Fails: not_found; as LearnInstance::undo.
  Result<uint64_t> undo(const std::string& name, uint64_t n) override;
  // Fails: not_found.
  Result<InstanceSummary> summary(const std::string& name) const;
  // By name.
  std::vector<InstanceSummary> summaries() const override;
  // Returns when nothing waits to be learned or served.
  void wait() const;
  // The bytes of an instance's current state. Fails: not_found.
  Result<std::vector<std::byte>> state_of(const std::string& name) const;

  // Memory of an instance's A and B, as float32.
  int64_t adapter_bytes() const { return model_->n_numbers() * int64_t{sizeof(float)}; }

 private:
  explicit Learner(const LearnOptions& options) : options_(options) {}
  Status prepare(const std::string& model, PublishAdapter publish);
  Result<LearnInstance*> find(const std::string& name) const;    // requires: the mutex
  Result<LearnInstance*> find_or_make(const std::string& name);  // requires: the mutex
  void work();
  // One feedback of an instance. Requires: the mutex is held, which is given away meanwhile.
  void take_turn(const std::string& name, LearnInstance& instance, Lock& lock);
  void publish(const std::string& name, LearnInstance& instance, Lock& lock);
  // Without the mutex: the step, the gate and the files.
  struct Outcome;
  Outcome learn(const LearnInstance& instance, const LearnTurn& turn, const LearnState& state,
                const JudgedText* again);

  LearnOptions options_;
  std::optional<FileLock> lock_;
  std::unique_ptr<GradientModel<float>> model_;  // used by the thread alone, once it runs
  std::optional<OnlineLearner> online_;
  std::optional<UpdateGate> gate_;
  PublishAdapter publish_;
  StateFit fit_;
  std::shared_ptr<const LearnState> initial_;

  mutable Mutex mutex_;
  mutable Condition work_changed_, idle_changed_;
  std::map<std::string, std::unique_ptr<LearnInstance>> instances_;
  std::deque<std::string> turns_;      // names with feedback that waits, each once
  std::deque<std::string> published_;  // names whose current adapter is to be served
  bool is_busy_ = false, is_ending_ = false;
  Thread thread_;
};

}  // namespace ruv
