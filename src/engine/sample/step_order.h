// StepOrder: the steps of the sampler in the order in which a request names them
// (GenerateParams::samplers), as llama.cpp has it. A step that is not named is left out.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ruv/params.h"
#include "ruv/status.h"

namespace ruv {

enum class SampleStep : uint8_t {
  penalties,  // repetition, presence and frequency
  dry,
  top_n_sigma,
  top_k,
  typical_p,
  top_p,
  min_p,
  xtc,
  temperature,  // with dynatemp_range: by the entropy of what is left there
  infill,       // see GapCuts
  adaptive_p,   // the last one
  tail_free,    // does nothing: other values of tfs_z than 1 are refused
};

// What requests may name; some steps have two names.
inline constexpr std::array<std::string_view, 14> kSampleStepNames = {
    "penalties", "dry",   "top_n_sigma", "top_k",       "typ_p", "typical_p", "top_p",
    "min_p",     "tfs_z", "xtc",         "temperature", "temp",  "infill",    "adaptive_p"};

// Fails: invalid, naming the samplers that contradict each other, mirostat or top_k: infill comes
// after a top_k that leaves few tokens. Requires: all are of kSampleStepNames.
Status check_samplers(const GenerateParams& params);

class StepOrder {
 public:
  // Requires: params passed check_params.
  explicit StepOrder(const GenerateParams& params);
  // Whether the request gave an order.
  bool is_given() const { return steps_.has_value(); }
  // Requires: is_given().
  const std::vector<SampleStep>& steps() const { return *steps_; }
  // Whether the request named that step.
  bool names(SampleStep step) const { return is_given() && has(step); }
  // The params with the neutral values of all steps that are left out.
  GenerateParams without_others(GenerateParams params) const;

 private:
  bool has(SampleStep step) const;
  std::optional<std::vector<SampleStep>> steps_;
};

}  // namespace ruv
