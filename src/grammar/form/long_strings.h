// LongStrings: strings of which only the number of characters is asked, and many of them. As an
// automaton a limit of 65,535 has as many states, each of them a language with masks of its own.
// Here a language counts only as far as one token can reach, and the head counts the rest: the
// state is the same for all characters that are further from both limits.
#pragma once

#include "grammar/goal/goals.h"

namespace ruv {

class LongStrings {
 public:
  using Length = Goals::StringLength;

  // References must outlive the object. `reach`: bytes of the longest token.
  LongStrings(Languages& languages, const JsonText& text, size_t reach);

  // Whether a limit is further away than one token reaches.
  bool is_long(const Length& length) const;
  // A whole string with its quotes, of which that many characters are asked; exact as far as one
  // token reaches. Requires: is_long().
  Language whole(const Length& length);
  // Whether a language is what is left of such a string between two characters.
  bool is_between(Language rest) const;
  // What is left of a string, with its last quote; exact unless is_long().
  Language rest(const Length& length);

 private:
  // Strings of that length without quotes; limits beyond reach are left out.
  Language characters(const Length& length);

  Languages& languages_;
  Language character_;
  Language quote_;
  uint32_t reach_;
};

}  // namespace ruv
