// Keys of config.json: those a class reads here, those without effect on the logits of text, and
// those that must be neutral. tests/oracle/compare_config_keys.py compares them with the classes of
// the installed transformers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "family/family.h"

namespace ruv {

// The keys that the fields of a class and of its family stand for.
std::vector<std::string_view> claimed_keys(const FamilyRecord& family, const HfClass& hf);

// The class of drafting heads whose configs may leave it out (format/hf_values.h).
FoundClass class_of_parallel_heads();

// Keys of every class that change no logits of text: names, token ids, dropout, training, …
std::string_view hf_keys_without_effect();
// Keys that the machinery around every class reads.
std::span<const NeutralKey> hf_neutral_keys();
// What lists of the kinds of layers call selective scans and attention, between spaces.
std::string_view hf_scan_kinds();
std::string_view hf_attention_kinds();
// Keys of rope_parameters and rope_scaling that some kind of scaling reads here, and those that
// only kinds read which are refused.
std::string_view hf_rope_keys();
std::string_view hf_rope_keys_without_effect();
// Keys beside text_config in a nested config; the honoured ones and the others.
std::string_view hf_outer_keys();
std::string_view hf_outer_keys_without_effect();

}  // namespace ruv
