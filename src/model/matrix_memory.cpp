#include "model/matrix_memory.h"

#include <cmath>

#include "model/hparams.h"

namespace ruv {

Result<MatrixMemoryPlan> read_matrix_memory(const ModelFile& file, const FamilyRecord& family) {
  constexpr int64_t kMostHeads = 4096, kMostNumbers = 1024;
  constexpr std::string_view kHeads = "matrix_memory.head_count";
  constexpr std::string_view kCap = "matrix_memory.gate_softcapping";
  constexpr std::string_view kEps = "matrix_memory.epsilon";
  MatrixMemoryPlan plan;
  if (family.block.mixers != Mixers::matrix_memory) return plan;
  plan.n_heads = TRY(read_dimension(file, kHeads));
  plan.key_dim = TRY(read_dimension(file, "matrix_memory.key_length"));
  plan.value_dim = TRY(read_dimension(file, "matrix_memory.value_length"));
  if (plan.n_heads > kMostHeads || plan.key_dim > kMostNumbers || plan.value_dim > kMostNumbers) {
    return fail(Code::unsupported, "{}: '{}' = {}: heads of {} keys and {} values are too many",
                file.path(), file.shown_key(kHeads), plan.n_heads, plan.key_dim, plan.value_dim);
  }
  plan.gate_cap = static_cast<float>(TRY(file.number(kCap)));
  plan.eps = static_cast<float>(TRY(file.number(kEps)));
  if (!std::isfinite(plan.gate_cap) || plan.gate_cap <= 0) {
    return fail(Code::corrupt, "{}: '{}' is not above 0", file.path(), file.shown_key(kCap));
  }
  if (!std::isfinite(plan.eps) || plan.eps < 0) {
    return fail(Code::corrupt, "{}: '{}' is not a number from 0", file.path(),
                file.shown_key(kEps));
  }
  return plan;
}

}  // namespace ruv
