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

// A first part that is a sequence becomes part of the whole one, and all its parts precede the
// rest. What is left of the first part may be empty though it was not. Where deriving finds two
// ways, it makes a sum of them, which is one level more.
LanguageBounds bounds_before(const LanguageBounds& first, bool first_has_empty,
                             const LanguageBounds& rest) {
  LanguageBounds made = {
      .size = add_sizes(add_sizes(first.size, rest.size), 1),
      .height = std::max({first.height + 2, rest.height, rest.front_height + first.width + 1}),
      .width = std::max(first.width + rest.front_width, rest.width),
      .front_height = first.front_height + 1,
      .front_width = first.front_width};
  if (first_has_empty) {
    made.front_height = std::max(made.front_height, rest.front_height + first.front_width);
    made.front_width += rest.front_width;
    made.height = std::max(made.height, made.front_height);
  }
  return made;
}

// A sum is one part of a sequence, unless only one of its own is left.
LanguageBounds bounds_beside(const LanguageBounds& part, const LanguageBounds& sum) {
  return {.size = add_sizes(sum.size, part.size),
          .height = std::max(sum.height, part.height + 2),
          .width = std::max({sum.width, part.width, uint32_t{1}}),
          .front_height = std::max(sum.front_height, part.front_height + 1),
          .front_width = std::max({sum.front_width, part.front_width, uint32_t{1}})};
}

LanguageBounds bounds_of_complement(LanguageBounds part, const LanguageBounds& all) {
  ++part.height;
  ++part.front_height;
  return bounds_beside(part, bounds_beside(all, {}));
}

// What is left of a round is followed by the loop.
LanguageBounds bounds_of_loop(const LanguageBounds& part) {
  return {.size = add_sizes(part.size, 1),
          .height = std::max(part.height + 2, part.front_height + part.width + 2),
          .width = part.width + 1,
          .front_height = part.front_height + 1,
          .front_width = std::max(part.front_width, uint32_t{1})};
}

BoundedLanguage BoundedLanguages::text(std::string_view text) {
  return {languages_.text(text),
          {.size = add_sizes(static_cast<uint32_t>(text.size()), 1),
           .height = kHeightOfText,
           .front_height = kHeightOfText}};
}

// Grammars repeat their classes, and making one of all scripts takes some microseconds.
BoundedLanguage BoundedLanguages::character(const CodePointSet& set) {
  std::vector<uint32_t> key;
  for (const CodePointRange& range : set.ranges()) key.insert(key.end(), {range.first, range.last});
  const auto found = characters_.find(key);
  if (found != characters_.end()) return found->second;
  const auto n_ranges = static_cast<uint32_t>(set.ranges().size());
  const BoundedLanguage made = {Utf8Alphabet().character(languages_, set),
                                {.size = 1 + kNodesOfRange * n_ranges,
                                 .height = kHeightOfCharacter,
                                 .front_height = kHeightOfCharacter}};
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

std::optional<BoundedLanguage> BoundedLanguages::repeat(const BoundedLanguage& part, uint32_t min,
                                                        uint32_t max) {
  const LanguageBounds bounds = bounds_of_loop(part.bounds);
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.repeat(part.language, min, max), bounds};
}

std::optional<BoundedLanguage> BoundedLanguages::complement(const BoundedLanguage& part) {
  const BoundedLanguage any = any_text();
  const LanguageBounds bounds = bounds_of_complement(part.bounds, any.bounds);
  if (!fits(bounds)) return std::nullopt;
  return BoundedLanguage{languages_.but(any.language, part.language), bounds};
}

const BoundedLanguage& BoundedLanguages::any_text() {
  if (!any_text_) {
    const BoundedLanguage one = character(CodePointSet::of(0, kLastCodePoint));
    any_text_ = {languages_.star(one.language), bounds_of_loop(one.bounds)};
  }
  return *any_text_;
}

}  // namespace ruv
