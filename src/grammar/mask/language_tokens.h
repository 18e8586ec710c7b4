// LanguageTokens: how the tokens of a vocabulary lie to a language. A token whose bytes can be
// followed by something of the language may come; a token in which a text of the language ends may
// come if its other bytes may follow.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "grammar/mask/rest_index.h"
#include "text/token_mask.h"

namespace ruv {

// By token, how many characters of a run a token has before the run ends in it.
using RunLengths = std::vector<uint8_t>;

// Immutable. Languages that are nearly equal share most of it.
struct LanguageTokens {
  // The tokens that may come: those of `base` without `removed`, and these, a list of few or a mask
  // of many.
  std::shared_ptr<const LanguageTokens> base;
  std::vector<Token> removed;  // ascending
  std::vector<Token> few;
  std::shared_ptr<const TokenMask> many;

  // The rests of tokens after a text of the language that is not empty, of all such texts; null
  // where there are none. If the texts are few, also apart: what may follow can depend on the text.
  struct Rests {
    std::string before;
    std::shared_ptr<const RestIndex> index;
  };
  std::shared_ptr<const RestIndex> rests;
  std::vector<Rests> rests_by_text;
  // Some of these tokens are left out: those in `removed_rests`, and those whose run is not of
  // min_run to max_run characters.
  std::vector<Token> removed_rests;  // ascending
  std::shared_ptr<const RunLengths> runs;
  uint32_t min_run = 0;
  uint32_t max_run = 0;

  // Adds the tokens that may come; those of rests are found by RestWalk.
  void add_to(TokenMask& mask) const;
  // Whether a token of the rests is not left out; whether none is.
  bool keeps_all_rests() const { return removed_rests.empty() && !runs; }
  bool keeps_rest(Token token) const {
    if (runs) {
      const uint8_t length = (*runs)[static_cast<size_t>(token)];
      if (length < min_run || length > max_run) return false;
    }
    return !std::ranges::binary_search(removed_rests, token);
  }
  // What it takes besides the parts that it shares.
  size_t n_bytes() const;
};

}  // namespace ruv
