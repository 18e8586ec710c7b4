// PrefixCell: what decides the keys and values of one place of a text: a token, or a row of a
// medium (an image, a sound). Texts with equal cells share pages.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "ruv/token.h"
#include "tensor/page.h"

namespace ruv {

// 64 bits. The top bit of a row's cell is set and the other 63 are a keyed hash; a token's cell is
// its id. So a row never equals a token. Ordered by its bits, tokens first.
class PrefixCell {
 public:
  PrefixCell() = default;  // token 0
  // Requires: token >= 0.
  constexpr explicit PrefixCell(Token token) : bits_(static_cast<uint32_t>(token)) {}
  static constexpr PrefixCell of_hash(uint64_t hash) { return of_bits(hash | kContent); }
  // `bits` of a cell, or any others, which is_valid() tells.
  static constexpr PrefixCell of_bits(uint64_t bits) {
    PrefixCell cell;
    cell.bits_ = bits;
    return cell;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool is_content() const { return bits_ >= kContent; }
  constexpr bool is_valid() const { return bits_ <= INT32_MAX || bits_ >= kContent; }
  friend constexpr auto operator<=>(const PrefixCell&, const PrefixCell&) = default;

 private:
  static constexpr uint64_t kContent = uint64_t{1} << 63;

  uint64_t bits_ = 0;
};

using PageCells = std::array<PrefixCell, kPageTokens>;

// Makes `cells` those of a text without media. Throws std::bad_alloc where `cells` must grow.
inline void set_cells(std::span<const Token> tokens, std::vector<PrefixCell>& cells) {
  cells.resize(tokens.size());
  std::ranges::transform(tokens, cells.begin(), [](Token token) { return PrefixCell(token); });
}

}  // namespace ruv
