// LanguageMasks: which tokens may come where the rest of a text is of a language. A token may come
// when its bytes can be followed by something, so masks are found by walking the vocabulary along
// the automaton of the language; they are kept by language, which is the state of that automaton.
//
// The first mask of a language visits each node whose bytes fit, some nanoseconds each: a few for a
// key that must be spelled out, a million for any text. Further ones cost a lookup. A mask takes
// n_vocab / 8 bytes, so max_masks bounds the memory: fewer masks are found again more often.
//
// Not thread-safe: an owner locks.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "grammar/language/languages.h"
#include "grammar/mask/token_trie.h"
#include "text/token_mask.h"

namespace ruv {

class LanguageMasks {
 public:
  // Keeps the masks of at most max_masks languages. `languages` and `trie` must outlive this
  // object.
  LanguageMasks(Languages& languages, const TokenTrie& trie, size_t max_masks);

  // The state after `byte`; `nothing` where no text can follow, however it ends.
  Language after(Language language, uint8_t byte) { return row(language)[byte]; }
  Language after(Language language, std::string_view bytes);
  // The tokens whose bytes can come next. Valid until the next call.
  const TokenMask& mask(Language language);

 private:
  using Row = std::array<Language, 256>;
  // All derivatives of a language, without those that lead nowhere.
  const Row& row(Language language);
  void walk(Language language, TokenMask& mask);

  Languages& languages_;
  const TokenTrie& trie_;
  size_t max_masks_;
  std::vector<std::unique_ptr<Row>> rows_;  // by language, those that were needed
  size_t n_rows_ = 0;
  std::unordered_map<Language, TokenMask> masks_;
  std::vector<const Row*> path_;  // states after the bytes of the walk's nodes, by depth
  std::vector<uint32_t> ends_;    // of the subtrees around the walk's node
};

}  // namespace ruv
