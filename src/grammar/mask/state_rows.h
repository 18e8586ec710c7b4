// StateRows: where each byte leads from a language. A state in which many bytes may come gets a
// table of 256 entries; a state inside a key or another literal is asked directly.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "grammar/language/languages.h"

namespace ruv {

class StateRows {
 public:
  using Row = std::array<Language, 256>;
  // Arcs of a state up to which no row is made of it.
  static constexpr size_t kFewArcs = 2;

  // `languages` must outlive the object.
  explicit StateRows(Languages& languages) : languages_(languages) {}

  // The state after `byte`; `nothing` where no text can follow, however it ends.
  Language after(Language language, uint8_t byte) {
    const auto index = static_cast<size_t>(language);
    if (index < rows_.size() && rows_[index]) return (*rows_[index])[byte];
    return after_new(language, byte);
  }
  // All of them, 1 KB that is kept until forget_many().
  const Row& row(Language language);
  // Drops all rows where there are too many.
  void forget_many();

 private:
  Language after_new(Language language, uint8_t byte);

  Languages& languages_;
  std::vector<std::unique_ptr<Row>> rows_;  // by language, those that were needed
  size_t n_rows_ = 0;
};

}  // namespace ruv
