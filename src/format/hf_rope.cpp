// RoPE settings of config.json, with the meaning and precedence of transformers 5: rope_scaling
// before rope_parameters (Gemma 3: on top of it), members of these objects before members beside
// them, original_max_position_embeddings the other way round.
#include <cmath>
#include <utility>

#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/rope_scaling.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

class RopeReader {
 public:
  RopeReader(const Members& config, const HfHead& head, HfValues& out)
      : config_(config), head_(head), out_(out), hf_(out.hf()) {}

  Status read() {
    if (hf_.rope == HfRope::counted) return read_counted();
    return hf_.rope == HfRope::by_kind ? read_kinds() : read_one();
  }

 private:
  Status read_counted();
  Status read_one();
  Status read_kinds();
  Status read_base(const Members& rope, std::string_view key, std::string_view names,
                   double otherwise);
  Result<double> default_part() const;
  Status read_part(const Members& rope, bool scaled);
  Status read_share(const Members& rope);
  Status read_scaling(const Members& rope);
  Status read_local_scaling(const Members& rope);
  Status read_llama3(const Members& rope);
  Status read_yarn(const Members& rope);
  Result<double> yarn_magnitude_of(const Members& rope, double factor) const;
  Result<bool> yarn_truncates(const Members& rope);
  Status read_longrope(const Members& rope);
  Status read_angle_scale(const Members& rope);
  Result<int64_t> original_positions(const Members& rope);
  Result<double> factor_of(const Members& rope);
  Status copy_factors(const Members& rope, std::string_view name);
  Result<std::string> type_of(const Members& rope) const;
  tl::unexpected<Status> refused(const Members& rope, const std::string& type,
                                 std::string_view known) const;

  const Members& config_;
  HfHead head_;
  HfValues& out_;
  const HfClass& hf_;
  int64_t n_dims_ = 0;
};

// "rope_type" counts, or "type" of older files. Phi-3's long scaling had other names.
Result<std::string> RopeReader::type_of(const Members& rope) const {
  const std::string older = TRY(rope.text_or("type", "default"));
  std::string type = TRY(rope.text_or("rope_type", older));
  if (hf_.rope == HfRope::longrope && (type == "su" || type == "yarn")) return "longrope";
  return type;
}

tl::unexpected<Status> RopeReader::refused(const Members& rope, const std::string& type,
                                           std::string_view known) const {
  return rope.wrong(rope.has("rope_type") ? "rope_type" : "type",
                    fmt::format("is '{}'; {} are supported here", quoted_name(type), known),
                    Code::unsupported);
}

Status RopeReader::read_counted() {
  constexpr std::string_view kName = "rotary_dim";
  const int64_t n = TRY(config_.positive_or(kName, hf_.rotary_dims));
  if (n > head_.dim) return config_.wrong(kName, "is above the size of a head");
  if (n % 2 != 0) return config_.wrong(kName, "is odd", Code::unsupported);
  out_.set("rope.dimension_count", n, config_.path_of(kName));
  out_.set("rope.freq_base", hf_.rope_base, std::string());
  return {};
}

Status RopeReader::read_one() {
  const Members scaling = TRY(config_.object("rope_scaling"));
  const Members parameters = TRY(config_.object("rope_parameters"));
  if (!scaling.json().empty() && !parameters.json().empty()) {
    out_.remark("'rope_parameters' is not read, because 'rope_scaling' is there too");
  }
  const Members rope = TRY(rope_object(config_, out_));
  TRY(read_base(rope, "rope.freq_base", hf_.rope_base_key, hf_.rope_base));
  TRY(read_part(rope, TRY(type_of(rope)) != "default"));
  return read_scaling(rope);
}

// One object for each kind of layer. An object for all of them (rope_scaling) changes the one for
// layers without a window.
Status RopeReader::read_kinds() {
  const bool is_usual = !config_.is_set("rope_parameters") && !out_.default_rope().empty();
  const Members own = TRY(config_.object("rope_parameters"));
  const Members usual(out_.default_rope(), config_.source(), "rope_parameters.");
  const Members& parameters = is_usual ? usual : own;
  const Members scaling = TRY(config_.object("rope_scaling"));
  Json full = TRY(parameters.object("full_attention")).json();
  if (!config_.is_set("rope_parameters") && !is_usual) full = {{"rope_type", "default"}};
  const bool flat = !parameters.json().empty() && !parameters.has("full_attention");
  if (config_.is_set("rope_scaling") && flat) {
    return config_.wrong("rope_parameters", "has no full_attention for 'rope_scaling' to change",
                         Code::unsupported);
  }
  if (flat) out_.remark("'rope_parameters' has no full_attention, so nothing of it is read");
  for (const auto& [name, value] : scaling.json().items()) full[name] = value;
  const std::string source = config_.source();
  const Members global(
      full, source,
      scaling.json().empty() ? parameters.path_of("full_attention.") : "rope_scaling.");
  Json windowed = TRY(parameters.object("sliding_attention")).json();
  if (hf_.scales_every_kind) {
    for (const auto& [name, value] : scaling.json().items()) windowed[name] = value;
  }
  const Members local(windowed, source, parameters.path_of("sliding_attention."));
  TRY(read_base(global, "rope.freq_base", hf_.rope_base_key, hf_.rope_base));
  TRY(read_base(local, "rope.freq_base_swa", hf_.local_base_key,
                hf_.local_base > 0 ? hf_.local_base : out_.family().local_rope_base));
  const bool is_share = TRY(type_of(global)) == "proportional";
  TRY(is_share ? read_share(global) : read_part(global, TRY(type_of(global)) != "default"));
  if (head_.local_dim > 0) {
    const auto dims = n_dims_;
    std::swap(head_.dim, head_.local_dim);
    TRY(read_part(local, TRY(type_of(local)) != "default"));
    std::swap(head_.dim, head_.local_dim);
    out_.set("rope.dimension_count_swa", n_dims_, local.path_of("partial_rotary_factor"));
    out_.set("rope.dimension_count", dims, global.path_of("partial_rotary_factor"));
    n_dims_ = dims;
  } else {
    TRY(read_part(local, TRY(type_of(local)) != "default"));
  }
  TRY(read_local_scaling(local));
  return is_share ? Status() : read_scaling(global);
}

Status RopeReader::read_base(const Members& rope, std::string_view key, std::string_view names,
                             double otherwise) {
  std::string_view beside;  // the first of the names that is set
  const auto own = TRY(rope.number("rope_theta"));
  for (const std::string_view name : words_of(names)) {
    if (beside.empty() || (!config_.is_set(beside) && config_.is_set(name))) beside = name;
  }
  const auto other = TRY(config_.number(beside));
  const std::string name = own ? rope.path_of("rope_theta") : config_.path_of(beside);
  const double base = own ? *own : other.value_or(otherwise);
  if (!(base > 0)) return fail(Code::corrupt, "{}: '{}' is not above 0", config_.source(), name);
  out_.set(key, base, name);
  return {};
}

Result<double> RopeReader::default_part() const {
  const std::string_view key = hf_.rotated_dims_key;
  if (key.empty() || !config_.is_set(key)) return hf_.rotary_part;
  return static_cast<double>(TRY(config_.positive(key))) / static_cast<double>(head_.dim);
}

// Where heads are rotated as a whole, plain frequencies do not read the part, and scaled
// ones would not fit the heads.
Status RopeReader::read_part(const Members& rope, bool scaled) {
  const auto own = TRY(rope.number("partial_rotary_factor"));
  const Members& place = own ? rope : config_;
  const std::string_view beside = hf_.rotary_part_key;
  const auto given = own ? own : TRY(config_.number(beside));
  const double part = given.value_or(TRY(default_part()));
  const bool by_dims = !given && config_.has(hf_.rotated_dims_key);
  const std::string_view key = by_dims          ? hf_.rotated_dims_key
                               : own            ? "partial_rotary_factor"
                               : beside.empty() ? "num_attention_heads"
                                                : beside;
  const std::string name = place.path_of(key);
  n_dims_ = head_.dim;
  if (head_.plain_dim > 0) {
    const auto whole = static_cast<double>(head_.dim + head_.plain_dim);
    if (given && static_cast<int64_t>(whole * part) != head_.dim) {
      return place.wrong(key, "is not what qk_rope_head_dim is of a head", Code::unsupported);
    }
  } else if (hf_.rope == HfRope::partial || hf_.rope == HfRope::longrope) {
    if (part <= 0 || part > 1) {
      return place.wrong(key, "is not in the range above 0 to 1");
    }
    n_dims_ = static_cast<int64_t>(static_cast<double>(head_.dim) * part);
    if (n_dims_ < 2 || n_dims_ % 2 != 0) {
      return place.wrong(key,
                         fmt::format("rotates {} of a head's {} numbers; an even number above 0 is "
                                     "supported",
                                     n_dims_, head_.dim),
                         Code::unsupported);
    }
  } else if (part != 1 && scaled) {
    return place.wrong(key,
                       fmt::format("is {} beside a scaling of positions, which fits no head of "
                                   "this model class",
                                   place.shown(key)),
                       Code::unsupported);
  } else if (part != 1) {
    out_.remark(fmt::format("'{}' ({}) is not read by this model class", name, place.shown(key)));
  }
  if (n_dims_ % 2 != 0) {
    return config_.wrong("head_dim",
                         fmt::format("gives heads of {} numbers; positions rotate an "
                                     "even number",
                                     n_dims_),
                         Code::unsupported);
  }
  out_.set("rope.dimension_count", n_dims_, name);
  return {};
}

// Heads have the frequencies of their whole size, of which only the first share turns anything: the
// others are divided by 10^30, as in GGUF files.
Status RopeReader::read_share(const Members& rope) {
  constexpr std::string_view kShare = "partial_rotary_factor";
  constexpr double kStill = 1e30;
  const double share = TRY(rope.number(kShare)).value_or(1);
  if (!(share >= 0 && share <= 1)) return rope.wrong(kShare, "is not in the range 0 to 1");
  if (head_.dim % 2 != 0) {
    return config_.wrong("head_dim", "is odd; positions rotate an even number", Code::unsupported);
  }
  const double factor = rope.has("factor") ? TRY(factor_of(rope)) : 1;
  const auto n = static_cast<int64_t>(std::floor(share * static_cast<double>(head_.dim) / 2));
  auto divisors = std::make_shared<MetaArray>();
  for (int64_t i = 0; i < head_.dim / 2; ++i) divisors->numbers.push_back(i < n ? factor : kStill);
  out_.set("rope.freq_divisors", std::shared_ptr<const MetaArray>(divisors), rope.path_of(kShare));
  n_dims_ = head_.dim;
  out_.set("rope.dimension_count", n_dims_, rope.path_of(kShare));
  return {};
}

Result<double> RopeReader::factor_of(const Members& rope) {
  const auto factor = TRY(rope.number("factor"));
  if (!factor) return rope.wrong("factor", "is missing");
  if (!(*factor > 0)) return rope.wrong("factor", "is not above 0");
  return *factor;
}

Status RopeReader::read_scaling(const Members& rope) {
  const std::string type = TRY(type_of(rope));
  if (type == "default") return {};
  const bool only_long = hf_.rope == HfRope::longrope;
  constexpr std::string_view kKnown = " linear llama3 yarn dynamic longrope ";
  if (only_long ? type != "longrope" : !is_word_of(kKnown, type)) {
    return refused(
        rope, type,
        only_long ? "default and longrope" : "default, linear, llama3, yarn, dynamic and longrope");
  }
  if (type == "dynamic") {
    // Up to the context of the config it changes nothing; beyond it, every length has frequencies
    // of its own, so that there are no keys to be kept.
    TRY(factor_of(rope));
    out_.set("rope.scaling.ends_with_context", true, rope.path_of("rope_type"));
    return {};
  }
  out_.set("rope.scaling.type", type, rope.path_of("rope_type"));
  if (type == "llama3") return read_llama3(rope);
  if (type == "yarn") return read_yarn(rope);
  if (type == "longrope") return read_longrope(rope);
  out_.set("rope.scaling.factor", TRY(factor_of(rope)), rope.path_of("factor"));
  return {};
}

Status RopeReader::read_local_scaling(const Members& rope) {
  const std::string type = TRY(type_of(rope));
  if (type == "default") return {};
  if (type != "linear") return refused(rope, type, "default and linear");
  out_.set("rope.scaling.factor_swa", TRY(factor_of(rope)), rope.path_of("factor"));
  return {};
}

Status RopeReader::read_llama3(const Members& rope) {
  out_.set("rope.scaling.factor", TRY(factor_of(rope)), rope.path_of("factor"));
  const auto low = TRY(rope.number("low_freq_factor"));
  const auto high = TRY(rope.number("high_freq_factor"));
  if (!low) return rope.wrong("low_freq_factor", "is missing");
  if (!high) return rope.wrong("high_freq_factor", "is missing");
  if (!(*low > 0) || !(*high > *low)) {
    return rope.wrong("high_freq_factor", "is not above low_freq_factor, or that is not above 0");
  }
  out_.set("rope.scaling.low_freq_factor", *low, rope.path_of("low_freq_factor"));
  out_.set("rope.scaling.high_freq_factor", *high, rope.path_of("high_freq_factor"));
  out_.set("rope.scaling.original_context_length", TRY(original_positions(rope)),
           rope.path_of("original_max_position_embeddings"));
  return {};
}

// A value beside the object wins, except where there is an object for each kind of layer. Some
// classes always have it there.
Result<int64_t> RopeReader::original_positions(const Members& rope) {
  constexpr std::string_view kName = "original_max_position_embeddings";
  if (hf_.rope != HfRope::by_kind && (config_.has(kName) || hf_.original_positions > 0)) {
    return config_.positive_or(kName, hf_.original_positions);
  }
  return rope.positive_or(kName, head_.max_positions);
}

// What cos and sin are multiplied by: stated, or by the formula, with both of its settings or none.
Result<double> RopeReader::yarn_magnitude_of(const Members& rope, double factor) const {
  if (rope.is_set("attention_factor")) return *TRY(rope.number("attention_factor"));
  const auto setting = [&](std::string_view name) -> Result<double> {
    return rope.is_set(name) ? TRY(rope.number(name)).value_or(0) : 0;
  };
  const double mscale = TRY(setting("mscale"));
  const double all_dims = TRY(setting("mscale_all_dim"));
  if (mscale == 0 || all_dims == 0) return yarn_magnitude(factor);
  return yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all_dims);
}

// The reference reads it beside the objects for each kind of layer, where no config has it.
Result<bool> RopeReader::yarn_truncates(const Members& rope) {
  constexpr std::string_view kName = "truncate";
  if (!rope.has(kName)) return true;
  const bool truth = rope.is_set(kName) && TRY(rope.truth(kName)).value_or(true);
  if (hf_.rope != HfRope::by_kind) return truth;
  if (!truth) out_.remark(fmt::format("'{}' is not read here", rope.path_of(kName)));
  return true;
}

// YaRN (Peng et al., 2023). A factor of null is the ratio of the contexts; 0 and null as a beta
// mean its default. GGUF files hold what the magnitude by length is multiplied by.
Status RopeReader::read_yarn(const Members& rope) {
  const int64_t original = TRY(original_positions(rope));
  out_.set("rope.scaling.original_context_length", original,
           rope.path_of("original_max_position_embeddings"));
  const bool by_ratio = rope.has("factor") && !rope.is_set("factor");
  const double ratio = static_cast<double>(head_.max_positions) / static_cast<double>(original);
  const double factor = by_ratio ? ratio : TRY(factor_of(rope));
  out_.set("rope.scaling.factor", factor, rope.path_of("factor"));
  for (const std::string_view name : {"beta_fast", "beta_slow"}) {
    const double beta = rope.is_set(name) ? TRY(rope.number(name)).value_or(0) : 0;
    if (beta < 0) return rope.wrong(name, "is below 0");
    if (beta > 0) out_.set(fmt::format("rope.scaling.yarn_{}", name), beta, rope.path_of(name));
  }
  const double magnitude = TRY(yarn_magnitude_of(rope, factor));
  out_.set("rope.scaling.attn_factor", magnitude / yarn_magnitude(factor),
           rope.path_of("attention_factor"));
  if (!TRY(yarn_truncates(rope))) {
    out_.set("rope.scaling.yarn_truncate", false, rope.path_of("truncate"));
  }
  return {};
}

// LongRoPE (Ding et al., 2024). GGUF files hold the attention factor, configs may leave it to the
// formula.
Status RopeReader::read_longrope(const Members& rope) {
  const int64_t original = TRY(original_positions(rope));
  const std::string name = rope.path_of("original_max_position_embeddings");
  if (original < 2) return fail(Code::corrupt, "{}: '{}' is below 2", config_.source(), name);
  out_.set("rope.scaling.original_context_length", original, name);
  TRY(copy_factors(rope, "short_factor"));
  TRY(copy_factors(rope, "long_factor"));
  if (hf_.angle_scales) return read_angle_scale(rope);
  if (rope.is_set("attention_factor")) {
    const double given = TRY(rope.number("attention_factor")).value_or(1);
    out_.set("rope.scaling.attn_factor", given, rope.path_of("attention_factor"));
    return {};
  }
  const double by_length = static_cast<double>(head_.max_positions) / static_cast<double>(original);
  const double stretch = rope.is_set("factor") ? TRY(factor_of(rope)) : by_length;
  out_.set("rope.scaling.attn_factor", longrope_magnitude(stretch, original),
           rope.path_of("attention_factor"));
  return {};
}

// One for short and one for long texts.
Status RopeReader::read_angle_scale(const Members& rope) {
  const auto near = TRY(rope.number("short_mscale"));
  const auto far = TRY(rope.number("long_mscale"));
  if (!near) return rope.wrong("short_mscale", "is missing");
  if (far != near) {
    return rope.wrong("long_mscale", "differs from short_mscale, which is not supported",
                      Code::unsupported);
  }
  out_.set("rope.scaling.attn_factor", *near, rope.path_of("short_mscale"));
  return {};
}

Status RopeReader::copy_factors(const Members& rope, std::string_view name) {
  const Json* const value = rope.find(name);
  const int64_t n = n_dims_ / 2;
  if (value == nullptr || !value->is_array() || value->size() != static_cast<size_t>(n)) {
    return rope.wrong(
        name,
        fmt::format("is not an array of {} numbers, half the rotated dimensions of a head", n));
  }
  auto factors = std::make_shared<MetaArray>();
  for (const Json& factor : *value) {
    if (!factor.is_number() || !(factor.get<double>() > 0)) {
      return rope.wrong(name, "has something that is not a number above 0");
    }
    factors->numbers.push_back(factor.get<double>());
  }
  out_.set(fmt::format("rope.scaling.{}", name), std::shared_ptr<const MetaArray>(factors),
           rope.path_of(name));
  return {};
}

}  // namespace

Result<Members> rope_object(const Members& config, const HfValues& out) {
  const Members scaling = TRY(config.object("rope_scaling"));
  if (!scaling.json().empty()) return scaling;
  if (config.is_set("rope_parameters")) return config.object("rope_parameters");
  return Members(out.default_rope(), config.source(), config.path_of("rope_parameters."));
}

Status read_hf_rope(const Members& config, const HfHead& head, HfValues& out) {
  if (out.hf().rope == HfRope::none) return {};
  return RopeReader(config, head, out).read();
}

}  // namespace ruv
