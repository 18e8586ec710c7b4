#include "model/gated_recurrence.h"

#include "model/hparams.h"

namespace ruv {

Result<GatedRecurrencePlan> read_gated_recurrence(const ModelFile& file,
                                                  const FamilyRecord& family) {
  constexpr std::string_view kWidth = "recurrence.inner_size", kHeads = "attention.head_count";
  GatedRecurrencePlan plan;
  if (family.block.mixers != Mixers::gated_recurrence) return plan;
  plan.n_columns = TRY(read_dimension(file, kWidth));
  plan.n_heads = TRY(read_dimension(file, kHeads));
  if (plan.n_columns % plan.n_heads != 0) {
    return fail(Code::corrupt, "{}: '{}' {} is not a multiple of '{}' {}", file.path(),
                file.shown_key(kWidth), plan.n_columns, file.shown_key(kHeads), plan.n_heads);
  }
  return plan;
}

}  // namespace ruv
