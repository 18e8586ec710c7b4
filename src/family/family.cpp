#include "family/family.h"

#include <algorithm>
#include <array>

#include "base/edit_distance.h"
#include "family/families.h"
#include "family/word_list.h"

namespace ruv {
namespace {

// One pointer for each line of families.h.
#define RUV_ADDRESS(name) &family::name,
constexpr auto kFamilies = std::to_array<const FamilyRecord*>({RUV_FAMILIES(RUV_ADDRESS)});
#undef RUV_ADDRESS
constexpr auto kDraftHeads = std::to_array<const FamilyRecord*>({&family::eagle3, &family::medusa});
// Those that GGUF files have.
constexpr auto kGgufHeads = std::span(kDraftHeads).first<1>();

// Architectures of which only the tokenizer is read.
struct TokenizerOnly {
  std::string_view architecture;
  VocabDefaults vocab;
};
constexpr TokenizerOnly kTokenizersOnly[] = {{"gptneox", {.splits = "gpt-2", .nfc = true}},
                                             {"phi2", {.splits = "gpt-2"}},
                                             {"starcoder", {.splits = "starcoder"}},
                                             {"falcon", {.splits = "falcon"}}};

// A name as it is compared: "Qwen3NextForCausalLM" and "qwen3_next" are alike.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_plain = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_plain) plain += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
  }
  for (const std::string_view head : {"forcausallm", "forconditionalgeneration", "lmheadmodel"}) {
    if (plain.ends_with(head)) plain.resize(plain.size() - head.size());
  }
  return plain;
}

// How unlike two names are: edits for each letter of the longer one, 0 to 1.
double unlikeness(std::string_view plain, std::string_view name) {
  const std::string other = plain_name(name);
  const size_t longer = std::max({plain.size(), other.size(), size_t{1}});
  return static_cast<double>(edits_between(plain, other)) / static_cast<double>(longer);
}

// The first class that fits, with its family.
template <class Fits>
FoundClass find_class(std::span<const FamilyRecord* const> records, Fits fits) {
  for (const FamilyRecord* const family : records) {
    const auto found = std::ranges::find_if(family->classes, fits);
    if (found != family->classes.end()) return {family, &*found};
  }
  return {};
}

}  // namespace

std::span<const FamilyRecord* const> families() { return kFamilies; }

const FamilyRecord* find_family(std::string_view name) {
  for (const auto records : {families(), std::span<const FamilyRecord* const>(kGgufHeads)}) {
    const auto found = std::ranges::find(records, name, &FamilyRecord::name);
    if (found != records.end()) return *found;
  }
  return nullptr;
}

std::string known_families() {
  std::string names;
  for (const FamilyRecord* const family : kFamilies) names.append(" ").append(family->name);
  return names;
}

std::vector<std::string_view> nearest_families(std::string_view architecture) {
  constexpr size_t kLongest = 64;
  constexpr size_t kMost = 3;
  constexpr double kUnlike = 0.5;  // names that share less than half their letters say nothing
  const std::string plain = plain_name(architecture.substr(0, kLongest));
  std::vector<std::pair<double, std::string_view>> ranked;
  for (const FamilyRecord* const family : kFamilies) {
    double least = unlikeness(plain, family->name);
    for (const HfClass& hf : family->classes) {
      least = std::min(least, unlikeness(plain, hf.model_type));
    }
    if (least <= kUnlike) ranked.emplace_back(least, family->name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, std::string_view>::first);
  std::vector<std::string_view> names;
  for (const auto& [least, name] : ranked) {
    if (names.size() < kMost) names.push_back(name);
  }
  return names;
}

bool has_generations(std::string_view model_type) {
  const auto has_it = [&](const FamilyRecord* family) {
    return !family->block.only_source &&
           std::ranges::any_of(family->classes, [&](const HfClass& hf) {
             return hf.model_type == model_type && !hf.shares_type;
           });
  };
  return std::ranges::count_if(kFamilies, has_it) > 1;
}

FoundClass find_hf_type(std::string_view model_type) {
  const auto fits = [&](const HfClass& hf) {
    return hf.model_type == model_type && !hf.shares_type;
  };
  const FoundClass found = find_class(kFamilies, fits);
  // Some classes of heads have no type.
  return found.hf != nullptr || model_type.empty() ? found : find_class(kDraftHeads, fits);
}

FoundClass find_hf_class(std::string_view class_name) {
  const auto fits = [&](const HfClass& hf) {
    return is_word_of(hf.class_names, class_name) ||
           is_word_of(hf.classifier.class_names, class_name);
  };
  const FoundClass found = find_class(kFamilies, fits);
  return found.hf != nullptr ? found : find_class(kDraftHeads, fits);
}

VocabDefaults vocab_defaults_of(std::string_view architecture) {
  const FamilyRecord* const family = find_family(architecture);
  if (family != nullptr) return family->vocab;
  const auto* const other =
      std::ranges::find(kTokenizersOnly, architecture, &TokenizerOnly::architecture);
  return other == std::end(kTokenizersOnly) ? VocabDefaults() : other->vocab;
}

}  // namespace ruv
