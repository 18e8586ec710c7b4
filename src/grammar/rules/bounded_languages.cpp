#include "grammar/rules/bounded_languages.h"

#include <algorithm>
#include <vector>

namespace ruv {
namespace {

// An expression of UTF-8 chooses a first byte and concatenates sets of bytes after it.
constexpr uint32_t kHeightOfCharacter = 3;
constexpr uint32_t kHeightOfText = 2;
constexpr uint32_t kNodesOfRange = 4;

std::vector<Language> languages_of(std::span<const BoundedLanguage> parts) {
  std::vector<Language> made;
  made.reserve(parts.size());
  for (const BoundedLanguage& part : parts) made.push_back(part.language);
  return made;
}

}  // namespace

uint32_t add_sizes(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

// Deriving goes through the first part, and on into the rest if the first may be empty. A first
// part that is a sequence becomes part of the whole one, so its height then adds to the rest's.
LanguageBounds bounds_before(const LanguageBounds& first, bool first_has_empty,
                             const LanguageBounds& rest) {
  const uint32_t height = first_has_empty ? add_sizes(first.height, rest.height) + 1
                                          : std::max(first.height + 1, rest.height);
  return {.size = add_sizes(add_sizes(first.size, rest.size), 1), .height = height};
}

LanguageBounds bounds_beside(const LanguageBounds& part, const LanguageBounds& sum) {
  return {.size = add_sizes(sum.size, part.size),
          .height = std::max(sum.height, add_sizes(part.height, 1))};
}

BoundedLanguage BoundedLanguages::text(std::string_view text) {
  return {languages_.text(text),
          {.size = add_sizes(static_cast<uint32_t>(text.size()), 1), .height = kHeightOfText}};
}

// Grammars repeat their classes, and making one of all scripts takes some microseconds.
BoundedLanguage BoundedLanguages::character(const CodePointSet& set) {
  std::vector<uint32_t> key;
  for (const CodePointRange& range : set.ranges()) key.insert(key.end(), {range.first, range.last});
  const auto found = characters_.find(key);
  if (found != characters_.end()) return found->second;
  const auto n_ranges = static_cast<uint32_t>(set.ranges().size());
  const BoundedLanguage made = {
      Utf8Alphabet().character(languages_, set),
      {.size = 1 + kNodesOfRange * n_ranges, .height = kHeightOfCharacter}};
  characters_.emplace(std::move(key), made);
  return made;
}

LanguageBounds BoundedLanguages::bounds_of_concat(std::span<const BoundedLanguage> parts) const {
  LanguageBounds bounds = kEmpty;
  for (size_t i = parts.size(); i-- > 0;) {
    bounds = bounds_before(parts[i].bounds, languages_.has_empty(parts[i].language), bounds);
  }
  return bounds;
}

LanguageBounds BoundedLanguages::bounds_of_sum(std::span<const BoundedLanguage> parts) {
  LanguageBounds bounds = kEmpty;
  for (const BoundedLanguage& part : parts) bounds = bounds_beside(part.bounds, bounds);
  return bounds;
}

std::optional<BoundedLanguage> BoundedLanguages::concat(std::span<const BoundedLanguage> parts) {
  const LanguageBounds bounds = bounds_of_concat(parts);
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.concat(languages_of(parts)), bounds};
}

std::optional<BoundedLanguage> BoundedLanguages::any_of(std::span<const BoundedLanguage> parts) {
  const LanguageBounds bounds = bounds_of_sum(parts);
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.any_of(languages_of(parts)), bounds};
}

std::optional<BoundedLanguage> BoundedLanguages::all_of(std::span<const BoundedLanguage> parts) {
  const LanguageBounds bounds = bounds_of_sum(parts);
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.all_of(languages_of(parts)), bounds};
}

// What is left of a round is followed by the loop.
std::optional<BoundedLanguage> BoundedLanguages::repeat(const BoundedLanguage& part, uint32_t min,
                                                        uint32_t max) {
  const LanguageBounds bounds = {.size = add_sizes(part.bounds.size, 1),
                                 .height = add_sizes(part.bounds.height, 2)};
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.repeat(part.language, min, max), bounds};
}

std::optional<BoundedLanguage> BoundedLanguages::complement(const BoundedLanguage& part) {
  const LanguageBounds other = {.size = add_sizes(part.bounds.size, 1),
                                .height = add_sizes(part.bounds.height, 1)};
  const BoundedLanguage any = any_text();
  const LanguageBounds bounds =
      bounds_of_sum(std::array{any, BoundedLanguage{Language::nothing, other}});
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.but(any.language, part.language), bounds};
}

const BoundedLanguage& BoundedLanguages::any_text() {
  if (!any_text_) {
    const BoundedLanguage one = character(CodePointSet::of(0, kLastCodePoint));
    any_text_ = {languages_.star(one.language),
                 {.size = one.bounds.size + 1, .height = one.bounds.height + 2}};
  }
  return *any_text_;
}

}  // namespace ruv
