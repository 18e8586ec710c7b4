// RunObjective: what `ruvllm train` was asked to learn, over all steps of a run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ruv/pooling.h"
#include "train/objectives.h"
#include "train_call.h"
#include "train_texts.h"

namespace ruv {

// Words of --objective.
std::vector<std::string> objective_names();
// What its lines have. Requires: a word of objective_names().
LineKind lines_of_objective(std::string_view objective);
// Whether it learns from a vector beside the model.
bool has_head(std::string_view objective);
// Options that are of no use to the objective of a call, or that it needs; empty: nothing is wrong.
std::string fault_of_objective(const CommandLine& line, const TrainCall& call);

class RunObjective {
 public:
  // Loads the teacher, if there is one. Fails: as Teacher::create. The call and the trainer must
  // outlive it.
  static Result<std::unique_ptr<RunObjective>> create(const TrainCall& call, Trainer& trainer);

  // Takes the examples; computes what the model that the run begins with says of those that are
  // `used`. Must come before the trainer resumes. Fails: as Trainer::log_probs.
  Status prepare(std::vector<TrainExample> examples, std::span<const size_t> used);
  // A step that learns these, by number. Fails: as Trainer::step.
  Result<StepReport> step(std::span<const size_t> chosen);
  // Their loss, and how much it counts beside others: Σ weights of targets, or examples.
  struct Measured {
    double loss = 0, weight = 0;
  };
  Result<Measured> loss(std::span<const size_t> chosen);
  // What depends on other files, for the facts of the run.
  std::vector<RunFact> facts() const;

 private:
  // The sequences of a step, what belongs to them, and its objective, which points to both.
  struct Step {
    std::vector<TrainSequence> sequences;
    SequenceLogs reference;
    DrawnAnswers answers;
    std::vector<ContrastGroup> groups;
    std::unique_ptr<StepObjective> objective;  // null: cross entropy
    double weight = 0;
  };
  RunObjective(const TrainCall& call, Trainer& trainer) : call_(call), trainer_(trainer) {}
  std::unique_ptr<Step> step_of(std::span<const size_t> chosen);
  std::unique_ptr<StepObjective> objective_of(const Step& step);
  Status choose_pooling();

  const TrainCall& call_;
  Trainer& trainer_;
  std::unique_ptr<Teacher> teacher_;
  Pooling pooling_ = Pooling::last;
  std::vector<TrainExample> examples_;
  // By example; empty where they are not needed. What the answers were drawn from is the reference
  // unless a run begins with an adapter.
  std::vector<SequenceLogs> reference_, old_;
};

}  // namespace ruv
