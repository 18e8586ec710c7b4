// CompletionBounds: how far the states of an automaton are from the end of a text, at most. A limit
// of length does not matter while it is further away than that.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "grammar/language/languages.h"

namespace ruv {

class CompletionBounds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Both hold for every state that the language leads to before `rest` has begun. In bytes, so no
  // less than in characters.
  struct Bounds {
    uint32_t shortest = kNone;    // some text ends within this
    uint32_t any_length = kNone;  // from this number of characters on, texts of every number end
  };

  // `character`: the texts of one character. `rest` begins like none.
  CompletionBounds(Languages& languages, Language character, Language rest);

  // Visits all states of the language, at first. kNone where they are too many. Requires: its
  // texts are characters and then one of `rest`.
  const Bounds& of(Language language);

 private:
  struct Automaton;
  void explore(Language language, Automaton& automaton);
  bool repeats_a_character(Language state, const Languages::Arc& arc);

  Languages& languages_;
  Language character_;
  std::unordered_set<Language> after_rest_;  // the states once `rest` has begun
  std::unordered_map<Language, Bounds> bounds_;
};

}  // namespace ruv
