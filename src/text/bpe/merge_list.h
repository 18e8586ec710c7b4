// MergeList: reads ranked merges from their stored form, texts "left right", into a PairTable.
// Texts are decoded and looked up several merges ahead, so that their cache misses overlap.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "text/bpe/pair_table.h"
#include "text/bpe/vocabulary.h"

namespace ruv {

struct MergeList {
  const Vocabulary& vocabulary;
  // Writes the bytes of a stored text to `out`, at most as many as the text has, and returns their
  // number; nothing when the text is not in the alphabet. Null: texts are stored as they are.
  std::optional<size_t> (*decode)(std::string_view stored, char* out) = nullptr;
  // For texts that the vocabulary does not find: an id by the stored text, or -1.
  std::function<Token(std::string_view stored)> by_text;

  // `merges` in order of rank, lowest first. A space separates the sides; inside them it is written
  // Ġ or ▁. Fails: corrupt, with the index of the merge.
  Result<PairTable> read(std::span<const std::string> merges) const;

 private:
  struct Sides;
  void look_up(std::string_view merge, Sides& sides) const;
  std::array<Token, 3> find(const Sides& sides) const;
};

}  // namespace ruv
