// Every key of a config: honoured, without effect, refused, or not read by the model class at all.
#include <algorithm>

#include "family/config_keys.h"
#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

// A value for an error: of an object the name of the format of weights that it has, if any.
std::string shown_value(const Members& config, std::string_view name) {
  const Json& value = *config.find(name);
  const Json* const method = value.is_object() ? value.find("quant_method") : nullptr;
  if (method == nullptr || !method->is_string()) return config.shown(name);
  return fmt::format("{{\"quant_method\": \"{}\", …}}", quoted_name(method->get<std::string>()));
}

Status check_neutral(const Members& config, const NeutralKey& key) {
  if (key.required && !config.is_set(key.name)) {
    return config.wrong(key.name, fmt::format("is missing; supported:{}", key.allowed),
                        Code::unsupported);
  }
  if (!config.has(key.name)) return {};
  const std::string value = config.shown(key.name);
  if (value == "null" || is_word_of(key.allowed, value)) return {};
  return config.wrong(
      key.name,
      fmt::format("is {}, which is not supported; --ignore-key {} computes as if it were not there",
                  shown_value(config, key.name), config.path_of(key.name)),
      Code::unsupported);
}

void remark_on(const Members& config, std::string_view name, HfValues& out) {
  out.remark(fmt::format("key '{}' ({}) is not read by this model class", config.path_of(name),
                         config.shown(name)));
}

void remark_on_rope_keys(const Members& rope, HfValues& out) {
  for (const auto& [name, value] : rope.json().items()) {
    const bool known =
        is_word_of(hf_rope_keys(), name) || is_word_of(hf_rope_keys_without_effect(), name);
    const bool kind = out.hf().rope == HfRope::by_kind &&
                      (name == "full_attention" || name == "sliding_attention");
    if (kind && value.is_object()) {
      if (const auto inner = rope.object(name)) remark_on_rope_keys(*inner, out);
    } else if (!known && !kind) {
      remark_on(rope, name, out);
    }
  }
}

}  // namespace

Status check_hf_keys(const Members& config, HfValues& out) {
  const HfClass& hf = out.hf();
  const std::vector<std::string_view> claimed = claimed_keys(out.family(), hf);
  for (const NeutralKey& key : hf_neutral_keys()) {
    const bool has_own = std::ranges::count(hf.neutral, key.name, &NeutralKey::name) > 0 ||
                         std::ranges::count(claimed, key.name) > 0;
    if (!has_own) out.refuse(check_neutral(config, key));
  }
  for (const NeutralKey& key : hf.neutral) out.refuse(check_neutral(config, key));
  for (const auto& [name, value] : config.json().items()) {
    const auto is_named = [&name = name](const NeutralKey& key) { return key.name == name; };
    const bool known = std::ranges::count(claimed, name) > 0 ||
                       is_word_of(hf.without_effect, name) ||
                       is_word_of(hf_keys_without_effect(), name) ||
                       std::any_of(hf.neutral.begin(), hf.neutral.end(), is_named) ||
                       std::any_of(hf_neutral_keys().begin(), hf_neutral_keys().end(), is_named);
    // No class says what a drafting head ignores.
    if (!known && out.family().is_draft_head) {
      out.refuse(check_neutral(config, {.name = name}));
    } else if (!known) {
      remark_on(config, name, out);
    }
  }
  for (const std::string_view name : {"rope_parameters", "rope_scaling"}) {
    if (hf.rope == HfRope::none || !config.is_set(name)) continue;
    remark_on_rope_keys(TRY(config.object(name)), out);
  }
  return {};
}

Status check_hf_attention_keys(const Members& attention, HfValues& out) {
  const std::span<const NeutralKey> neutral = out.hf().attention_neutral;
  for (const NeutralKey& key : neutral) TRY(check_neutral(attention, key));
  constexpr std::string_view kKnown =
      " clip_qkv softmax_scale attn_pdrop attn_impl attn_type model_type ";
  for (const auto& [name, value] : attention.json().items()) {
    const bool known = is_word_of(kKnown, name) || is_word_of(hf_keys_without_effect(), name) ||
                       std::ranges::count(neutral, name, &NeutralKey::name) > 0;
    if (!known) remark_on(attention, name, out);
  }
  return {};
}

Status check_hf_outer_keys(const Members& config, HfValues& out) {
  // Keys of classes whose sides have objects of their own.
  const bool has_sides = out.family().block.unlike_sides;
  const std::span<const NeutralKey> own =
      has_sides ? out.hf().neutral : std::span<const NeutralKey>();
  for (const NeutralKey& key : own) out.refuse(check_neutral(config, key));
  for (const NeutralKey& key : hf_neutral_keys()) {
    if (std::ranges::count(own, key.name, &NeutralKey::name) > 0) continue;
    out.refuse(check_neutral(config, key));
  }
  for (const auto& [name, value] : config.json().items()) {
    const auto is_named = [&name = name](const NeutralKey& key) { return key.name == name; };
    const bool of_sides =
        has_sides && (name == "encoder" || name == "decoder" || name == "vocab_size" ||
                      is_word_of(out.hf().without_effect, name));
    const bool known = of_sides || is_word_of(hf_outer_keys(), name) ||
                       is_word_of(hf_outer_keys_without_effect(), name) ||
                       is_word_of(hf_keys_without_effect(), name) ||
                       std::any_of(hf_neutral_keys().begin(), hf_neutral_keys().end(), is_named);
    if (!known) remark_on(config, name, out);
  }
  return {};
}

}  // namespace ruv
