#include "family/family.h"

#include <algorithm>
#include <array>

#include "family/families.h"
#include "family/word_list.h"

namespace ruv {
namespace {

// One pointer for each line of families.h.
#define RUV_ADDRESS(name) &family::name,
constexpr auto kFamilies = std::to_array<const FamilyRecord*>({RUV_FAMILIES(RUV_ADDRESS)});
#undef RUV_ADDRESS

// Architectures of which only the tokenizer is read.
struct TokenizerOnly {
  std::string_view architecture;
  VocabDefaults vocab;
};
constexpr TokenizerOnly kTokenizersOnly[] = {{"gptneox", {.splits = "gpt-2", .nfc = true}},
                                             {"phi2", {.splits = "gpt-2"}},
                                             {"starcoder", {.splits = "starcoder"}},
                                             {"falcon", {.splits = "falcon"}}};

// The first class that fits, with its family.
template <class Fits>
FoundClass find_class(Fits fits) {
  for (const FamilyRecord* const family : kFamilies) {
    const auto found = std::ranges::find_if(family->classes, fits);
    if (found != family->classes.end()) return {family, &*found};
  }
  return {};
}

}  // namespace

std::span<const FamilyRecord* const> families() { return kFamilies; }

const FamilyRecord* find_family(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, &FamilyRecord::name);
  return found == kFamilies.end() ? nullptr : *found;
}

std::string known_families() {
  std::string names;
  for (const FamilyRecord* const family : kFamilies) names.append(" ").append(family->name);
  return names;
}

FoundClass find_hf_type(std::string_view model_type) {
  return find_class([&](const HfClass& hf) { return hf.model_type == model_type; });
}

FoundClass find_hf_class(std::string_view class_name) {
  return find_class([&](const HfClass& hf) { return is_word_of(hf.class_names, class_name); });
}

VocabDefaults vocab_defaults_of(std::string_view architecture) {
  const FamilyRecord* const family = find_family(architecture);
  if (family != nullptr) return family->vocab;
  const auto* const other =
      std::ranges::find(kTokenizersOnly, architecture, &TokenizerOnly::architecture);
  return other == std::end(kTokenizersOnly) ? VocabDefaults() : other->vocab;
}

}  // namespace ruv
