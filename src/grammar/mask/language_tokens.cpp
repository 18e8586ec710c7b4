#include "grammar/mask/language_tokens.h"

namespace ruv {

// A removed token stays where another language allowed it.
void LanguageTokens::add_to(TokenMask& mask) const {
  if (base) {
    std::vector<Token> gone;
    for (const Token token : removed) {
      if (!mask.has(token)) gone.push_back(token);
    }
    base->add_to(mask);
    for (const Token token : gone) mask.remove(token);
  }
  if (many) mask.add(*many);
  mask.add(few);
}

size_t LanguageTokens::n_bytes() const {
  const size_t lists = removed.size() + few.size() + removed_rests.size();
  size_t n = sizeof(LanguageTokens) + lists * sizeof(Token) + (many ? many->n_bytes() : 0);
  if (rests) n += rests->n_bytes();
  for (const Rests& part : rests_by_text) n += sizeof(Rests) + part.index->n_bytes();
  return n;
}

}  // namespace ruv
