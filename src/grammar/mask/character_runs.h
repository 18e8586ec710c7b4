// CharacterRuns: the tokens of a vocabulary as runs of characters of one set, as strings of JSON
// and loops of patterns are. Found once for the set; a run of at most n characters then has the
// tokens of at most n, whatever n is, so limits of length cost nothing.
#pragma once

#include <map>

#include "grammar/language/languages.h"
#include "grammar/mask/language_tokens.h"
#include "grammar/mask/token_trie.h"

namespace ruv {

class LanguageMasks;

class CharacterRuns {
 public:
  // `character`: the texts of one character, of which none begins another. Visits the nodes of the
  // vocabulary that are of such characters.
  CharacterRuns(LanguageMasks& masks, Language character);

  // The tokens of min to max characters and then a text of `rest`, which no character begins like.
  std::shared_ptr<const LanguageTokens> tokens(LanguageMasks& masks, uint32_t min, uint32_t max,
                                               Language rest);

  static constexpr uint32_t kLongRun = 255;  // lengths from here on are one
  // Tokens that stay in the run and have n <= kLongRun characters, an unfinished one included.
  std::span<const Token> inside_of(uint32_t n) const { return inside_[n]; }
  // Tokens that end inside `rest` after a run, by its length. Valid as long as the object.
  std::span<const Token> ends_in(LanguageMasks& masks, Language rest) {
    return rest_of(masks, rest).ends;
  }
  // Nodes that were visited to find them.
  uint64_t n_visited() const { return n_visited_; }
  // By token, the characters before it leaves the run.
  const std::shared_ptr<RunLengths>& lengths() const { return lengths_; }

 private:
  // A node of the vocabulary whose byte is the first after a run.
  struct Exit {
    uint32_t node;
    uint32_t depth;  // bytes before it
    uint8_t length;  // characters before it
  };
  // For one language after the run.
  struct Rest {
    std::vector<Token> ends;  // tokens that end inside it, by the length of their run
    std::shared_ptr<const LanguageTokens> unbounded;
    std::shared_ptr<const RestIndex> rests;
  };
  // Found once for each language that follows.
  Rest& rest_of(LanguageMasks& masks, Language rest);
  // Tokens that are runs of at most `max` characters.
  std::shared_ptr<const LanguageTokens> inside(uint32_t max);

  int64_t n_vocab_;
  uint64_t n_visited_ = 0;
  // Tokens that stay in the run, by the number of their characters; an unfinished one counts.
  std::vector<std::vector<Token>> inside_;
  std::vector<Exit> exits_;
  std::shared_ptr<RunLengths> lengths_;  // of the runs of tokens that leave it
  std::map<uint32_t, std::shared_ptr<const LanguageTokens>> inside_masks_;  // by limit
  std::map<Language, Rest> rests_;
};

}  // namespace ruv
