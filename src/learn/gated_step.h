// A step that the gate has measured.
//
// Where the model with the step would be too far from the base, the step is tried again, each time
// from numbers that are nearer to where the instance began. Without that an instance that has come
// to a limit would have all its later feedback refused: each step from there passes the limit.
#pragma once

#include <array>
#include <string>

#include "learn/online_step.h"
#include "learn/update_gate.h"

namespace ruv {

// The shares of what an instance has learned that further tries begin with. Lower ones leave more
// room to learn, and cost more of what is known; each try costs a step and a reading of the gate.
inline constexpr std::array kPulledShares{0.9F, 0.6F, 0.3F};

struct GatedStep {
  LearnState state;  // with the step
  UpdateReading reading;
  std::string refusal;  // of the last try; empty: the step may be used
  float share = 1;      // of what was learned before that it began with
};

// What steps are made with. Requires: `online` and `gate` are of `model`; all outlive it.
struct GatedLearner {
  GradientModel<float>& model;
  OnlineLearner& online;
  const UpdateGate& gate;
  UpdateLimits limits = {};

  // Learns a feedback, as OnlineLearner::step has it. Leaves the new numbers in the model, if
  // nothing is refused. Fails: as OnlineLearner::step, UpdateGate::read.
  Result<GatedStep> step(const LearnState& before, uint64_t number, const Judgement& judgement,
                         const JudgedText* again) const;
};

}  // namespace ruv
