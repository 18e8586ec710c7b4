// KvVerdict: what a measurement said about storing one model's keys and values in one type
// (`ruvllm kv-gate`), and the rule by which a type may be used at all.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ruv/kv_type.h"

namespace ruv {

// More than this share of perplexity lost refuses a type.
inline constexpr double kMostPerplexityLost = 0.01;
// At least this share of the needles that f16 finds must be found.
inline constexpr double kLeastNeedlesKept = 0.9;

// Measured on one calibration text beside f16.
struct KvVerdict {
  KvType type = KvType::f16;
  double bytes_of_f16 = 1;  // share, scales included
  double perplexity = 0;
  double perplexity_loss = 0;   // share of f16's
  double kl = 0;                // mean Kullback-Leibler divergence from f16, nats
  double greedy_agreement = 1;  // share of positions with the same likeliest token
  int64_t needles_found = 0;
  int64_t needles_of_f16 = 0;

  bool passed() const { return why_refused().empty(); }
  // Empty where it passed.
  std::string why_refused() const;
};

std::string kv_verdicts_text(std::string_view model, std::span<const KvVerdict> verdicts);
// Fails: corrupt, naming `source` and the member.
Result<std::vector<KvVerdict>> read_kv_verdicts(std::string_view text, std::string_view source);

// Whether a model with these verdicts may use a type: f16 and int8 always, others where a recorded
// measurement passed. Fails: unsupported, with the reason and the way out.
Status check_kv_type(KvType type, std::span<const KvVerdict> verdicts);

}  // namespace ruv
