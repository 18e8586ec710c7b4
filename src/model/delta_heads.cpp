// The keys are those that GGUF files have for state spaces: a head's keys are its state, a value
// head is a step of time.
#include "model/delta_heads.h"

#include "model/hparams.h"

namespace ruv {
namespace {

constexpr int64_t kMostHeads = 4096, kMostNumbers = 1024;

// Heads whose queries, keys and values are equally wide; as many as attention has, unless the file
// says it.
Result<DeltaHeads> read_square_heads(const ModelFile& file, DeltaHeads heads) {
  constexpr std::string_view kOwn = "ssm.group_count";
  const bool has_own = file.find(kOwn) != nullptr;
  heads.n_keys = TRY(read_dimension(file, has_own ? kOwn : "attention.head_count"));
  heads.n_values = heads.n_keys;
  heads.key_dim = TRY(read_dimension(file, "kda.head_dim"));
  heads.value_dim = heads.key_dim;
  if (heads.n_values <= kMostHeads && heads.key_dim <= kMostNumbers) return heads;
  return fail(Code::corrupt, "{}: {} heads of linear attention of {} numbers are out of range",
              file.path(), heads.n_values, heads.key_dim);
}

}  // namespace

Result<DeltaHeads> read_delta_heads(const ModelFile& file) {
  constexpr std::string_view kInner = "ssm.inner_size", kValues = "ssm.time_step_rank";
  constexpr std::string_view kKeys = "ssm.group_count", kKeyDim = "ssm.state_size";
  DeltaHeads heads;
  const FamilyRecord* const family = file.family();
  heads.by_channel = family != nullptr && family->block.mixers == Mixers::delta_or_latent;
  if (heads.by_channel) return read_square_heads(file, heads);
  heads.n_keys = TRY(read_dimension(file, kKeys));
  heads.n_values = TRY(read_dimension(file, kValues));
  heads.key_dim = TRY(read_dimension(file, kKeyDim));
  const int64_t n_inner = TRY(read_dimension(file, kInner));
  if (heads.n_values % heads.n_keys != 0) {
    return fail(Code::corrupt, "{}: '{}' {} is not a multiple of '{}' {}", file.path(),
                file.shown_key(kValues), heads.n_values, file.shown_key(kKeys), heads.n_keys);
  }
  if (n_inner % heads.n_values != 0) {
    return fail(Code::corrupt, "{}: '{}' {} is not a multiple of '{}' {}", file.path(),
                file.shown_key(kInner), n_inner, file.shown_key(kValues), heads.n_values);
  }
  heads.value_dim = n_inner / heads.n_values;
  if (heads.n_values > kMostHeads || heads.key_dim > kMostNumbers ||
      heads.value_dim > kMostNumbers) {
    return fail(Code::corrupt, "{}: {} value heads of {} keys and {} values are out of range",
                file.path(), heads.n_values, heads.key_dim, heads.value_dim);
  }
  heads.beta_scale = static_cast<float>(TRY(file.number_or("ssm.beta_scale", 1)));
  heads.tiled =
      file.container() == "gguf" && file.family() != nullptr && file.family()->tiled_value_heads;
  return heads;
}

}  // namespace ruv
