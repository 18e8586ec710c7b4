#include "model/state_space.h"

#include <algorithm>
#include <cmath>

#include "model/hparams.h"

namespace ruv {
namespace {

// Far above any real model, so that a state's bytes fit 64 bits thousands of times.
constexpr int64_t kMostState = 1024, kMostHeadDim = 1024, kMostHeads = 4096;

// Finite numbers of an array; nothing where the file has none.
Result<std::vector<float>> numbers_of(const ModelFile& file, std::string_view key, size_t n,
                                      bool finite) {
  std::vector<float> numbers;
  if (file.find(key) == nullptr) return numbers;
  for (const double x : TRY(file.numbers(key, n))) numbers.push_back(static_cast<float>(x));
  const auto is_wrong = [&](float x) { return finite ? !std::isfinite(x) : std::isnan(x); };
  if (std::ranges::none_of(numbers, is_wrong)) return numbers;
  return fail(Code::corrupt, "{}: '{}' has something that is not a {}number", file.path(),
              file.shown_key(key), finite ? "finite " : "");
}

Status check_multiple(const ModelFile& file, std::string_view key, int64_t number,
                      std::string_view of_key, int64_t of) {
  if (number % of == 0) return {};
  return fail(Code::corrupt, "{}: '{}' {} is not a multiple of '{}' {}", file.path(),
              file.shown_key(key), number, file.shown_key(of_key), of);
}

Status read_heads(const ModelFile& file, StateSpacePlan& plan) {
  constexpr std::string_view kInner = "ssm.inner_size", kHeads = "ssm.time_step_rank";
  constexpr std::string_view kGroups = "ssm.group_count";
  plan.n_groups = TRY(read_dimension(file, kGroups));
  TRY(check_multiple(file, kHeads, plan.n_steps, kGroups, plan.n_groups));
  TRY(check_multiple(file, kInner, plan.n_inner, kHeads, plan.n_steps));
  if (plan.n_steps > kMostHeads || plan.head_dim() > kMostHeadDim) {
    return fail(Code::corrupt, "{}: {} heads of {} numbers are out of range", file.path(),
                plan.n_steps, plan.head_dim());
  }
  const bool has_norms = std::ranges::any_of(
      file.tensors(), [](const TensorInfo& t) { return t.name.ends_with(".ssm_norm.weight"); });
  plan.norms_results = TRY(truth_or(file, "ssm.norm", has_norms));
  plan.norms_first = TRY(truth_or(file, "ssm.norm_before_gate", false));
  const std::vector<float> limits = TRY(numbers_of(file, "ssm.time_step_limit", 2, false));
  if (!limits.empty()) {
    plan.least_step = limits[0];
    plan.most_step = limits[1];
  }
  return {};
}

}  // namespace

Result<StateSpacePlan> read_state_space(const ModelFile& file, const FamilyRecord& family) {
  constexpr std::string_view kState = "ssm.state_size";
  StateSpacePlan plan;
  plan.kind = family.block.state_space;
  if (!plan.exists()) return plan;
  plan.n_inner = TRY(read_dimension(file, "ssm.inner_size"));
  plan.n_state = TRY(read_dimension(file, kState));
  plan.n_steps = TRY(read_dimension(file, "ssm.time_step_rank"));
  if (plan.n_state > kMostState) {
    return fail(Code::corrupt, "{}: '{}' = {} is above {}", file.path(), file.shown_key(kState),
                plan.n_state, kMostState);
  }
  if (plan.by_head()) {
    TRY(read_heads(file, plan));
  } else {
    const double usual = TRY(file.number("attention.layer_norm_rms_epsilon"));
    const double eps = TRY(file.number_or("ssm.dt_b_c_rms_epsilon", usual));
    plan.norms_inputs = family.block.scan_norms || TRY(truth_or(file, "ssm.dt_b_c_rms", false));
    plan.input_norm_eps = static_cast<float>(eps);
  }
  const std::vector<float> scales = TRY(numbers_of(file, "ssm.scales", 7, true));
  if (!scales.empty()) {
    plan.in_scale = scales[0];
    plan.out_scale = scales[1];
    std::copy_n(scales.begin() + 2, plan.part_scales.size(), plan.part_scales.begin());
  }
  return plan;
}

Result<std::array<float, 2>> read_two_scales(const ModelFile& file, std::string_view key) {
  const std::vector<float> scales = TRY(numbers_of(file, key, 2, true));
  if (scales.empty()) return std::array<float, 2>{1, 1};
  return std::array<float, 2>{scales[0], scales[1]};
}

}  // namespace ruv
