// OnlineLearner: how an instance's numbers change with one feedback.
//
// A correction is a text to be made likelier: each judged token counts 1. A rating r of an answer
// counts r less the mean of the ratings before it (REINFORCE with a baseline; Williams, 1992), so
// that praise for what is always praised teaches nothing. The gradient is of the mean over judged
// tokens, with that of a text that is learned again where there is one; it is cut to a greatest
// norm, goes through Adam (whose first moment is the momentum), and the result is pulled to the
// anchors of earlier tasks (learn/weight_anchor.h).
//
// With the gradient goes that of the divergence from the base, KL(base ‖ adapted), on one of some
// texts by turns: where nothing is to be learned, the adapter is to change nothing.
#pragma once

#include <optional>

#include "learn/gradient_model.h"
#include "learn/learn_state.h"
#include "train/adam.h"

namespace ruv {

// Numbers of a step. Defaults are those that docs/learning.md measures.
struct StepNumbers {
  double rate = 2e-3;  // the larger, the faster it learns and forgets
  // A rating's step is shorter: it says one bit, and wrong ones must not add up. As a share of
  // rate.
  double rating_share = 0.1;
  double momentum = 0.9;      // share of earlier gradients in a step
  double scale_decay = 0.99;  // of the mean square that a step is divided by
  double greatest_norm = 1;   // of a gradient; 0: any
  double lambda = 0;          // of the penalty of anchors; 0: tasks leave none
  double fisher_decay = 0.999;
  size_t max_anchors = 10;     // older ones are merged
  double replay_share = 0.05;  // of corrections that are kept, and learned again; 0: none
  size_t max_kept = 1000;
  double rehearsal = 4;  // what the divergence from the base counts; 0: it is not computed
};
// Fails: invalid.
Status check(const StepNumbers& numbers);

// What a user said of a text.
struct Judgement {
  JudgedText text = {};               // judged tokens have the weight 1
  std::optional<double> rating = {};  // of it, in [-1, 1]; nothing: it is a correction
  std::string task = {};              // another one than before ends that
};

// What a step did: mean losses over judged tokens, times what they count.
struct OnlineResult {
  double loss_before = 0;  // 0 where the feedback counts nothing
  double loss_after = 0;
  double counts = 1;         // 1 for corrections, reward less baseline for ratings
  double gradient_norm = 0;  // before it was cut
};

class OnlineLearner {
 public:
  // `rehearsed`: texts on which the divergence from the base is kept small; none: it is not.
  // Requires: `model` outlives it. Fails: invalid, out_of_memory; as GradientModel::rows.
  static Result<OnlineLearner> create(GradientModel<float>& model, const StepNumbers& numbers,
                                      std::vector<JudgedText> rehearsed = {});

  // What an instance has that learned nothing: its adapter adds 0.
  LearnState initial_state() const;
  // Which kept feedback the next step learns again; nothing: none.
  std::optional<uint64_t> next_replay(const LearnState& state) const;
  // Learns the feedback of this number; `again` is the text of next_replay(). Leaves the new
  // numbers in the model. The state is as before where it fails: as GradientModel::add_gradient.
  Result<OnlineResult> step(LearnState& state, uint64_t number, const Judgement& judgement,
                            const JudgedText* again);
  // Leaves `share` of the difference to what numbers were at first.
  void pull_to_start(LearnState& state, float share) const;
  // The task that is being learned becomes an anchor, if lambda > 0 and it learned something.
  void end_task(LearnState& state) const;

 private:
  OnlineLearner(GradientModel<float>& model, const StepNumbers& numbers, Adam<float> adam);
  // The gradient of a step in the model, and what is known of it.
  Result<OnlineResult> gradient_of(LearnState& state, const JudgedText& text, double counts,
                                   const JudgedText* again);
  void keep(LearnState& state, uint64_t number) const;

  GradientModel<float>* model_;
  StepNumbers numbers_;
  Adam<float> adam_;
  std::vector<float> initial_;
  std::vector<int64_t> groups_;
  std::vector<JudgedText> rehearsed_;
  std::vector<std::vector<float>> base_logits_;  // by rehearsed text
};

}  // namespace ruv
