// Keys of classes whose layers are a matrix memory (mLSTM).
#include <cmath>

#include "format/hf_values.h"

namespace ruv {
namespace {

constexpr int64_t kMostMemory = int64_t{1} << 24;

Result<double> above_zero(const Members& config, std::string_view key, double otherwise) {
  const double number = TRY(config.number(key)).value_or(otherwise);
  if (number > 0 && std::isfinite(number)) return number;
  return config.wrong(key, "is not above 0");
}

// The share of a width that a key says, rounded down.
Result<int64_t> share_of(const Members& config, std::string_view key, double otherwise,
                         int64_t width) {
  const double exact = TRY(above_zero(config, key, otherwise)) * static_cast<double>(width);
  if (exact >= 1 && exact < static_cast<double>(kMostMemory)) return static_cast<int64_t>(exact);
  return config.wrong(key, "is out of range");
}

// The width of each head of all.
Result<int64_t> head_width(const Members& config, std::string_view key, int64_t all,
                           int64_t n_heads) {
  if (all % n_heads == 0) return all / n_heads;
  return config.wrong(
      key, fmt::format("makes a width of {}, which {} heads do not divide", all, n_heads));
}

}  // namespace

Status read_hf_matrix_memory(const Members& config, int64_t width, HfValues& out) {
  constexpr std::string_view kKeys = "qk_dim_factor", kValues = "v_dim_factor";
  constexpr std::string_view kFf = "ffn_proj_factor", kMultiple = "ffn_round_up_to_multiple_of";
  constexpr std::string_view kGates = "gate_soft_cap", kLogits = "output_logit_soft_cap";
  const HfMatrixMemory& keys = out.hf().memory;
  const int64_t n_heads = TRY(config.positive_or(keys.heads, keys.n_heads));
  const int64_t n_keys = TRY(share_of(config, kKeys, keys.key_share, width));
  const int64_t n_values = TRY(share_of(config, kValues, keys.value_share, width));
  out.set("attention.head_count", int64_t{0}, "");
  out.set("matrix_memory.head_count", n_heads, config.path_of(keys.heads));
  out.set("matrix_memory.key_length", TRY(head_width(config, kKeys, n_keys, n_heads)),
          config.path_of(kKeys));
  out.set("matrix_memory.value_length", TRY(head_width(config, kValues, n_values, n_heads)),
          config.path_of(kValues));
  const int64_t multiple = TRY(config.positive_or(kMultiple, keys.ff_multiple));
  const double exact = TRY(above_zero(config, kFf, keys.ff_share)) * static_cast<double>(width);
  if (exact >= static_cast<double>(kMostMemory) || multiple >= kMostMemory) {
    return config.wrong(kFf, "is out of range");
  }
  const auto multiples = static_cast<int64_t>((exact + static_cast<double>(multiple - 1)) /
                                              static_cast<double>(multiple));
  out.set("feed_forward_length", multiples * multiple, config.path_of(kFf));
  out.set("matrix_memory.gate_softcapping", TRY(above_zero(config, kGates, keys.gate_cap)),
          config.path_of(kGates));
  out.set("final_logit_softcapping", TRY(above_zero(config, kLogits, keys.logit_cap)),
          config.path_of(kLogits));
  const double eps = TRY(config.number("eps")).value_or(keys.eps);
  if (!(eps >= 0)) return config.wrong("eps", "is below 0");
  out.set("matrix_memory.epsilon", eps, config.path_of("eps"));
  return {};
}

}  // namespace ruv
