// LanguageMasks: how the tokens of a vocabulary lie to a language. A token whose bytes can be
// followed by something of the language may come; a token in which a text of the language ends may
// come if its other bytes may follow. The first are a mask, the others a small tree of these rests.
// Both are found by walking the vocabulary along the automaton of the language and kept by
// language, which is the state of that automaton.
//
// The first time a language is met, each node of the vocabulary whose bytes fit is visited, some
// nanoseconds each: a few for a key that must be spelled out, a million for any text. Later it is a
// lookup. max_bytes bounds what is kept: less is found again more often.
//
// Not thread-safe: an owner locks.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "grammar/language/languages.h"
#include "grammar/mask/suffix_trie.h"
#include "grammar/mask/token_trie.h"
#include "text/token_mask.h"

namespace ruv {

class LanguageMasks {
 public:
  // `languages` and `trie` must outlive this object.
  LanguageMasks(Languages& languages, const TokenTrie& trie, size_t max_bytes);

  // The state after `byte`; `nothing` where no text can follow, however it ends.
  Language after(Language language, uint8_t byte) { return row(language)[byte]; }
  Language after(Language language, std::string_view bytes);

  struct Tokens {
    // The tokens that may come: a list of few or a mask of many.
    std::vector<Token> few;
    std::unique_ptr<TokenMask> many;
    // The rests of tokens after a text of the language that is not empty.
    SuffixTrie rests;

    void add_to(TokenMask& mask) const;
    size_t n_bytes(int64_t n_vocab) const;
  };
  // Valid as long as it is held.
  std::shared_ptr<const Tokens> tokens(Language language);

  Languages& languages() { return languages_; }
  const TokenTrie& trie() const { return trie_; }

 private:
  using Row = std::array<Language, 256>;
  // All derivatives of a language, without those that lead nowhere.
  const Row& row(Language language);
  struct Walk;
  void walk(Language language, Walk& found);

  Languages& languages_;
  const TokenTrie& trie_;
  size_t max_bytes_;
  size_t n_bytes_ = 0;
  std::vector<std::unique_ptr<Row>> rows_;  // by language, those that were needed
  size_t n_rows_ = 0;
  std::unordered_map<Language, std::shared_ptr<const Tokens>> tokens_;
};

}  // namespace ruv
