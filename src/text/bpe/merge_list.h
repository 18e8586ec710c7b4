// MergeList: reads ranked merges "left right" from their texts, as files hold them, into a table.
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
  // Writes the bytes of a stored text, at most as many, and returns their number; nothing when the
  // text is none of the vocabulary's. Null: texts are stored as they are.
  std::optional<size_t> (*decode)(std::string_view stored, char* out) = nullptr;
  // For texts that the vocabulary does not find: an id by the stored text, or -1.
  std::function<Token(std::string_view stored)> by_text;

  // Lowest rank first. Neither side holds a space, which is written Ġ or ▁. Fails: corrupt.
  Result<PairTable> read(std::span<const std::string> merges) const;

 private:
  struct Sides;
  void look_up(std::string_view merge, Sides& sides) const;
  std::array<Token, 3> find(const Sides& sides) const;
};

}  // namespace ruv
