#include "engine/sample/step_order.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "engine/sample/gap_cuts.h"

namespace ruv {
namespace {

constexpr std::pair<std::string_view, SampleStep> kSteps[] = {
    {"penalties", SampleStep::penalties},
    {"dry", SampleStep::dry},
    {"top_n_sigma", SampleStep::top_n_sigma},
    {"top_k", SampleStep::top_k},
    {"typ_p", SampleStep::typical_p},
    {"typical_p", SampleStep::typical_p},
    {"top_p", SampleStep::top_p},
    {"min_p", SampleStep::min_p},
    {"tfs_z", SampleStep::tail_free},
    {"xtc", SampleStep::xtc},
    {"temperature", SampleStep::temperature},
    {"temp", SampleStep::temperature},
    {"infill", SampleStep::infill},
    {"adaptive_p", SampleStep::adaptive_p}};
static_assert(std::ranges::equal(kSteps, kSampleStepNames, {},
                                 &std::pair<std::string_view, SampleStep>::first));

SampleStep step_of(std::string_view name) {
  return std::ranges::find(kSteps, name, &std::pair<std::string_view, SampleStep>::first)->second;
}

Status check_few_are_left(const std::vector<SampleStep>& before, int64_t top_k) {
  const bool comes_after = std::ranges::find(before, SampleStep::top_k) != before.end();
  if (comes_after && top_k >= 1 && top_k <= GapCuts::kMaxTokens) return {};
  return fail(Code::invalid, "samplers: infill needs top_k before it, from 1 to {}",
              GapCuts::kMaxTokens);
}

}  // namespace

Status check_samplers(const GenerateParams& params) {
  if (!params.samplers) return {};
  if (params.mirostat > 0) {
    return fail(Code::invalid, "samplers: not with mirostat, which replaces them");
  }
  std::vector<SampleStep> steps;
  for (const std::string& name : *params.samplers) {
    const SampleStep step = step_of(name);
    if (!steps.empty() && steps.back() == SampleStep::adaptive_p) {
      return fail(Code::invalid, "samplers: {} after adaptive_p, which draws the token", name);
    }
    if (std::ranges::find(steps, step) != steps.end()) {
      return fail(Code::invalid, "samplers: {} comes twice", name);
    }
    if (step == SampleStep::infill) TRY(check_few_are_left(steps, params.top_k));
    steps.push_back(step);
  }
  return {};
}

StepOrder::StepOrder(const GenerateParams& params) {
  if (!params.samplers) return;
  steps_.emplace();
  for (const std::string& name : *params.samplers) steps_->push_back(step_of(name));
}

bool StepOrder::has(SampleStep step) const {
  return !steps_ || std::ranges::find(*steps_, step) != steps_->end();
}

GenerateParams StepOrder::without_others(GenerateParams params) const {
  if (!has(SampleStep::penalties)) {
    params.repetition_penalty = 1;
    params.presence_penalty = 0;
    params.frequency_penalty = 0;
  }
  if (!has(SampleStep::dry)) params.dry_multiplier = 0;
  if (!has(SampleStep::top_n_sigma)) params.top_n_sigma = 0;
  if (!has(SampleStep::top_k)) params.top_k = 0;
  if (!has(SampleStep::typical_p)) params.typical_p = 1;
  if (!has(SampleStep::top_p)) params.top_p = 1;
  if (!has(SampleStep::min_p)) params.min_p = 0;
  if (!has(SampleStep::xtc)) params.xtc_probability = 0;
  if (!has(SampleStep::adaptive_p)) params.adaptive_target = -1;
  if (!has(SampleStep::temperature)) {
    params.temperature = 1;
    params.dynatemp_range = 0;
  }
  return params;
}

}  // namespace ruv
