// BoundedLanguages: builds languages together with bounds of their size, so that what would be too
// large is not made at all. A Languages that has overflowed is of no more use, so readers of
// grammars that others wrote look before they build.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/language/alphabet.h"
#include "grammar/language/languages.h"

namespace ruv {

// At most how large the expression of a language is, and the expressions of what is left of it
// after some bytes. Deriving goes through a sequence as far as its parts may be empty, so the
// number of these adds to the height.
struct LanguageBounds {
  uint32_t size = 1;          // expressions that it was made of; those used twice count twice
  uint32_t height = 1;        // of expressions in each other that deriving goes through
  uint32_t width = 0;         // parts that may be empty, in a row at the beginning
  uint32_t front_height = 1;  // both of the language itself, before any byte
  uint32_t front_width = 0;
};

struct BoundedLanguage {
  Language language = Language::nothing;
  LanguageBounds bounds = {};
};

// Everything but `text` and `character` makes nothing and returns nothing where the limits would be
// passed. Costs what Languages says.
class BoundedLanguages {
 public:
  static constexpr LanguageBounds kEmpty = {};

  BoundedLanguages(Languages& languages, LanguageBounds limits)
      : languages_(languages), limits_(limits) {}

  // This text, and one character of a set, as UTF-8.
  BoundedLanguage text(std::string_view text);
  BoundedLanguage character(const CodePointSet& set);

  // What Languages makes of the parts. No parts: the empty text, nothing, and all texts.
  std::optional<BoundedLanguage> concat(std::span<const BoundedLanguage> parts);
  std::optional<BoundedLanguage> any_of(std::span<const BoundedLanguage> parts);
  std::optional<BoundedLanguage> all_of(std::span<const BoundedLanguage> parts);
  // Requires: min <= max.
  std::optional<BoundedLanguage> repeat(const BoundedLanguage& part, uint32_t min, uint32_t max);
  // All texts of whole characters that are not of the language.
  std::optional<BoundedLanguage> complement(const BoundedLanguage& part);

  // The bounds of the same made of `parts`, before it is made.
  LanguageBounds bounds_of_concat(std::span<const BoundedLanguage> parts) const;
  static LanguageBounds bounds_of_sum(std::span<const BoundedLanguage> parts);
  bool fits(const LanguageBounds& bounds) const {
    return bounds.size <= limits_.size && bounds.height <= limits_.height;
  }

  Languages& languages() { return languages_; }
  const Languages& languages() const { return languages_; }
  // Characters of any number.
  const BoundedLanguage& any_text();

 private:
  Languages& languages_;
  LanguageBounds limits_;
  std::optional<BoundedLanguage> any_text_;
  std::map<std::vector<uint32_t>, BoundedLanguage> characters_;  // by the ends of their ranges
};

// The bounds of a sequence with another part before it, of a union or intersection with another
// part, and of a loop.
LanguageBounds bounds_before(const LanguageBounds& first, bool first_has_empty,
                             const LanguageBounds& rest);
LanguageBounds bounds_beside(const LanguageBounds& part, const LanguageBounds& sum);
LanguageBounds bounds_of_loop(const LanguageBounds& part);
// `all` without the texts of the part.
LanguageBounds bounds_of_complement(LanguageBounds part, const LanguageBounds& all);
// Sizes end at the largest number.
uint32_t add_sizes(uint32_t a, uint32_t b);

}  // namespace ruv
