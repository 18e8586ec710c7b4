#include "model/time_mix.h"

#include <cmath>

#include "device/kv_pages.h"
#include "model/hparams.h"

namespace ruv {

Result<TimeMixPlan> read_time_mix(const ModelFile& file, const FamilyRecord& family,
                                  int64_t n_embd) {
  constexpr std::string_view kHead = "wkv.head_size", kEps = "attention.group_norm_epsilon";
  constexpr std::string_view kInner = "time_mix.inner_size";
  TimeMixPlan plan;
  plan.kind = family.block.time_mix;
  if (!plan.exists()) return plan;
  plan.n_inner = n_embd;
  if (plan.kind == TimeMix::averages) {
    if (file.find(kInner) != nullptr) plan.n_inner = TRY(read_dimension(file, kInner));
    return plan;
  }
  plan.head_dim = TRY(read_dimension(file, kHead));
  if (plan.head_dim > kMaxHeadDim || n_embd % plan.head_dim != 0) {
    return fail(Code::corrupt, "{}: '{}' = {} is above {} or does not divide {} numbers",
                file.path(), file.shown_key(kHead), plan.head_dim, kMaxHeadDim, n_embd);
  }
  plan.norm_eps = static_cast<float>(TRY(file.number_or(kEps, family.head_norm_eps)));
  if (!(plan.norm_eps >= 0)) {
    return fail(Code::corrupt, "{}: '{}' is below 0", file.path(), file.shown_key(kEps));
  }
  return plan;
}

}  // namespace ruv
