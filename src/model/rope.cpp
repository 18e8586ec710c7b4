// Frequencies are computed in double precision and rounded to float32 at the end of each step.
#include "model/rope.h"

#include <cmath>
#include <numbers>

#include "base/elementary.h"
#include "format/rope_scaling.h"
#include "format/tensor_names.h"
#include "model/encoder_numbers.h"

namespace ruv {
namespace {

// The error of a key that is out of range.
tl::unexpected<Status> out_of_range(const ModelFile& file, std::string_view key) {
  return fail(Code::corrupt, "{}: '{}' is out of range", file.path(), file.shown_key(key));
}

// base^(-2i/n_dims) for pair i.
std::vector<float> plain_frequencies(int64_t n_dims, double base) {
  std::vector<float> freq(static_cast<size_t>(n_dims / 2));
  for (size_t i = 0; i < freq.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(n_dims);
    freq[i] = static_cast<float>(1.0 / exact_pow(base, exponent));
  }
  return freq;
}

// Divisors of the frequencies stored as a tensor (GGUF) or an array (config.json).
Result<std::vector<float>> divisors(const ModelFile& file, std::string_view tensor,
                                    std::string_view key, size_t n) {
  std::vector<float> result;
  if (const TensorInfo* info = file.find_tensor(tensor); info != nullptr) {
    if (info->dtype != DType::f32 || info->n_elements() != static_cast<int64_t>(n)) {
      return fail(Code::corrupt, "{}: tensor '{}' must be {} float32", file.path(), tensor, n);
    }
    result.resize(n);
    format_of(info->dtype).decode(info->bytes.data(), result.data(), static_cast<int64_t>(n));
  } else if (const MetaValue* value = file.find(key); value != nullptr) {
    const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(value);
    if (array == nullptr || (*array)->size() != n) {
      return fail(Code::corrupt, "{}: '{}' must be an array of {} numbers", file.path(),
                  file.shown_key(key), n);
    }
    for (double x : (*array)->numbers) result.push_back(static_cast<float>(x));
    for (int64_t x : (*array)->integers) result.push_back(static_cast<float>(x));
  }
  for (float x : result) {
    if (!(x > 0))
      return fail(Code::corrupt, "{}: '{}' has a divisor that is not positive", file.path(),
                  file.shown_key(key));
  }
  if (!result.empty() && result.size() != n) {
    return fail(Code::corrupt, "{}: '{}' must hold numbers", file.path(), file.shown_key(key));
  }
  return result;
}

void divide(std::vector<float>& freq, const std::vector<float>& by) {
  for (size_t i = 0; i < by.size(); ++i) freq[i] /= by[i];
}

Status scale_llama3(const ModelFile& file, std::vector<float>& freq) {
  const Llama3Scaling scaling = TRY(llama3_scaling_of(file));
  if (!scaling.is_valid()) return out_of_range(file, "rope.scaling.factor");
  for (float& f : freq) {
    const double kept = scaling.kept_share(2 * std::numbers::pi / double{f});
    f = static_cast<float>((1 - kept) * double{f} / scaling.factor + kept * double{f});
  }
  return {};
}

// Fails: as file.number; corrupt (out of range).
Result<RopePlan> scaled_by_yarn(const ModelFile& file, const HParams& h, double base,
                                std::vector<float> freq) {
  constexpr std::string_view kTruncate = "rope.scaling.yarn_truncate";
  YarnScaling scaling;
  scaling.factor = TRY(file.number("rope.scaling.factor"));
  scaling.original = TRY(
      file.number_or("rope.scaling.original_context_length", static_cast<double>(h.n_ctx_train)));
  scaling.beta_fast = TRY(file.number_or("rope.scaling.yarn_beta_fast", scaling.beta_fast));
  scaling.beta_slow = TRY(file.number_or("rope.scaling.yarn_beta_slow", scaling.beta_slow));
  if (const MetaValue* const value = file.find(kTruncate); value != nullptr) {
    const bool* const truth = std::get_if<bool>(value);
    if (truth == nullptr) return out_of_range(file, kTruncate);
    scaling.truncates = *truth;
  }
  if (!scaling.is_valid()) return out_of_range(file, "rope.scaling.factor");
  if (base == 1) return out_of_range(file, "rope.freq_base");
  const std::vector<double> kept = scaling.kept_shares(static_cast<int64_t>(2 * freq.size()), base);
  for (size_t i = 0; i < freq.size(); ++i) {
    freq[i] = static_cast<float>((1 - kept[i]) * double{freq[i]} / scaling.factor +
                                 kept[i] * double{freq[i]});
  }
  // Files state what comes on top of the magnitude by length. With latent attention the multiplier
  // is one of scores (HParams), and the magnitudes by mscale and mscale_all_dim are the same.
  const double stated = TRY(file.number_or("rope.scaling.attn_factor", 1));
  const double log_multiplier = TRY(file.number_or("rope.scaling.yarn_log_multiplier", 0));
  const bool scales_scores = h.latent.kv_rank > 0 && log_multiplier != 0;
  const double by_length = scales_scores ? 1
                                         : yarn_magnitude(scaling.factor) /
                                               yarn_magnitude(scaling.factor, log_multiplier);
  const double magnitude = stated * by_length;
  if (!std::isfinite(static_cast<float>(magnitude))) {
    return out_of_range(file, "rope.scaling.attn_factor");
  }
  return RopePlan{std::move(freq), static_cast<float>(magnitude)};
}

Status read_longrope(const ModelFile& file, const HParams& h, RopePlans& plans) {
  RopePlan& original = plans.plans.front();
  const size_t n = original.inv_freq.size();
  const std::vector<float> near =
      TRY(divisors(file, "rope_factors_short.weight", "rope.scaling.short_factor", n));
  const std::vector<float> far =
      TRY(divisors(file, "rope_factors_long.weight", "rope.scaling.long_factor", n));
  if (near.empty() != far.empty()) {
    return fail(Code::corrupt, "{}: rope factors: one of short and long is missing", file.path());
  }
  if (near.empty()) return {};
  plans.original_ctx = TRY(file.integer("rope.scaling.original_context_length"));
  if (plans.original_ctx < 2) {
    return out_of_range(file, "rope.scaling.original_context_length");
  }
  const double stretch = double(h.n_ctx_train) / double(plans.original_ctx);
  const double by_length = longrope_magnitude(stretch, plans.original_ctx);
  original.magnitude =
      static_cast<float>(TRY(file.number_or("rope.scaling.attn_factor", by_length)));
  plans.extended = plans.plans;
  divide(original.inv_freq, near);
  divide(plans.extended.front().inv_freq, far);
  return {};
}

// "none" where the file names no scaling. GGUF files that give a factor alone mean linear.
Result<std::string> scaling_of(const ModelFile& file) {
  constexpr std::string_view kType = "rope.scaling.type";
  if (file.find(kType) == nullptr) {
    return file.find("rope.scaling.factor") != nullptr ? "linear" : "none";
  }
  std::string type = TRY(file.text(kType));
  for (const std::string_view known : {"none", "linear", "llama3", "yarn", "longrope", "su"}) {
    if (type == known) return type;
  }
  return fail(Code::unsupported,
              "{}: '{}' is '{}'; none, linear, llama3, yarn and longrope are supported",
              file.path(), file.shown_key(kType), quoted_name(type));
}

Result<double> linear_factor(const ModelFile& file, std::string_view key) {
  const double factor = TRY(file.number(key));
  if (!(factor > 0)) return out_of_range(file, key);
  return factor;
}

void divide(std::vector<float>& freq, double by) {
  for (float& f : freq) f = static_cast<float>(double{f} / by);
}

Status read_local(const ModelFile& file, const FamilyRecord& family, const HParams& h,
                  int64_t n_dims, RopePlans& plans) {
  const bool has_base = file.find("rope.freq_base_swa") != nullptr;
  if (family.local_rope_base <= 0 && !family.plain_local_rope && !has_base) return {};
  const double own = family.plain_local_rope ? TRY(file.number_or("rope.freq_base", 10000))
                                             : double{family.local_rope_base};
  constexpr std::string_view kFactor = "rope.scaling.factor_swa";
  const double base = TRY(file.number_or("rope.freq_base_swa", own));
  if (!(base > 0)) return out_of_range(file, "rope.freq_base_swa");
  if (family.block.unlike_layers) {
    constexpr std::string_view kDims = "rope.dimension_count_swa";
    n_dims = file.find(kDims) != nullptr ? TRY(file.integer(kDims)) : h.local_head_dim;
    if (n_dims < 2 || n_dims > h.local_head_dim || n_dims % 2 != 0) {
      return out_of_range(file, kDims);
    }
  }
  RopePlan local{plain_frequencies(n_dims, base)};
  if (file.find(kFactor) != nullptr) divide(local.inv_freq, TRY(linear_factor(file, kFactor)));
  if (!plans.extended.empty()) plans.extended.push_back(local);
  plans.plans.push_back(std::move(local));
  return {};
}

Result<RopePlans> read_plans(const ModelFile& file, const FamilyRecord& family, const HParams& h) {
  RopePlans plans;
  if (h.positions != Positions::rope || h.n_heads == 0) return plans;
  const double base = TRY(file.number_or("rope.freq_base", 10000));
  int64_t n_dims = h.head_dim;
  if (file.find("rope.dimension_count") != nullptr)
    n_dims = TRY(file.integer("rope.dimension_count"));
  if (n_dims < 2 || n_dims > h.head_dim || n_dims % 2 != 0 || !(base > 0)) {
    return fail(Code::corrupt, "{}: '{}' {} or '{}' {} is out of range", file.path(),
                file.shown_key("rope.dimension_count"), n_dims, file.shown_key("rope.freq_base"),
                base);
  }
  std::vector<float> freq = plain_frequencies(n_dims, base);
  const std::string scaling = TRY(scaling_of(file));
  const std::vector<float> stored =
      TRY(divisors(file, "rope_freqs.weight", "rope.freq_divisors", freq.size()));
  if (!stored.empty()) {
    divide(freq, stored);
  } else if (scaling == "llama3") {
    TRY(scale_llama3(file, freq));
  }
  if (scaling == "linear") {
    divide(freq, TRY(linear_factor(file, "rope.scaling.factor")));
  }
  if (scaling == "yarn") {
    plans.plans.push_back(TRY(scaled_by_yarn(file, h, base, std::move(freq))));
    TRY(read_local(file, family, h, n_dims, plans));
    return plans;
  }
  plans.plans.push_back({std::move(freq)});
  TRY(read_longrope(file, h, plans));
  const double magnitude = TRY(file.number_or("rope.scaling.attn_factor", 1));
  if (plans.original_ctx == 0 && magnitude != 1) {
    return fail(Code::unsupported, "{}: '{}' is {}, which is supported with yarn and longrope only",
                file.path(), file.shown_key("rope.scaling.attn_factor"), magnitude);
  }
  TRY(read_local(file, family, h, n_dims, plans));
  return plans;
}

}  // namespace

namespace {

// Those of an encoder with numbers of its own, and then the decoder's.
Result<RopePlans> read_both_sides(const ModelFile& file, const FamilyRecord& family,
                                  const HParams& h) {
  RopePlans plans = TRY(read_plans(EncoderNumbers(file), family, *h.encoder));
  const RopePlans answer = TRY(read_plans(file, family, h));
  if (plans.original_ctx > 0 || answer.original_ctx > 0) {
    return fail(
        Code::unsupported, "{}: '{}' is longrope, which is not supported beside an encoder",
        file.path(),
        file.shown_key(plans.original_ctx > 0 ? "encoder.rope.scaling.type" : "rope.scaling.type"));
  }
  plans.n_of_source = std::ssize(plans.plans);
  plans.plans.insert(plans.plans.end(), answer.plans.begin(), answer.plans.end());
  return plans;
}

}  // namespace

Result<RopePlans> read_rope(const ModelFile& file, const FamilyRecord& family, const HParams& h) {
  RopePlans plans =
      TRY(h.encoder != nullptr ? read_both_sides(file, family, h) : read_plans(file, family, h));
  if (!family.turns_backwards) return plans;
  for (std::vector<RopePlan>* all : {&plans.plans, &plans.extended}) {
    for (RopePlan& plan : *all) {
      for (float& frequency : plan.inv_freq) frequency = -frequency;
    }
  }
  return plans;
}

}  // namespace ruv
