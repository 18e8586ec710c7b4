// TextSlice: the tokens that are runs of at most kMaxLength characters of one set, and a tree of
// all other tokens. Where every such run may come, as inside most patterns, the slice is allowed as
// a whole and only the other tokens need to be visited.
#pragma once

#include "grammar/language/languages.h"
#include "grammar/mask/language_tokens.h"
#include "grammar/mask/token_trie.h"

namespace ruv {

class TextSlice {
 public:
  static constexpr uint32_t kMaxLength = 24;
  // `character`: the texts of one character of the set. Visits the whole vocabulary.
  TextSlice(Languages& languages, Language character, const TokenPrefixes& prefixes,
            int64_t n_vocab);

  // Whether each run of at most kMaxLength characters can be followed by something of the language
  // and is not a text of it. False also where that takes too long to find out.
  bool is_inside(Languages& languages, Language language) const;

  const std::shared_ptr<const LanguageTokens>& tokens() const { return tokens_; }
  const TokenTrie& others() const { return others_; }

 private:
  static std::vector<bool> find(Languages& languages, Language character,
                                const TokenPrefixes& prefixes, int64_t n_vocab);
  TextSlice(Language character, const std::vector<bool>& in, const TokenPrefixes& prefixes,
            int64_t n_vocab);

  Language character_;
  std::shared_ptr<const LanguageTokens> tokens_;
  TokenTrie others_;
};

}  // namespace ruv
