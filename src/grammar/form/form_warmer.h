// FormWarmer: finds masks of a form before a token waits for them: those of patterns whose sets of
// characters the vocabulary has not met, some milliseconds each. All others take microseconds and
// are found when they are needed.
#pragma once

#include <deque>
#include <unordered_set>

#include "grammar/mask/language_masks.h"

namespace ruv {

class FormWarmer {
 public:
  // `masks` must outlive the object, and its owner's lock be held in each call.
  explicit FormWarmer(LanguageMasks& masks) : masks_(masks), n_before_(masks.n_visited()) {}

  // A language that the form may ask for, whose states are looked at breadth-first.
  void add(Language language);
  // Finds the next mask. False: there is none, or all together took kMaxVisits.
  bool step();

 private:
  // Nodes of vocabularies that all masks together may visit: some nanoseconds each.
  static constexpr uint64_t kMaxVisits = 200'000;
  // States of one language that are looked at, and of all.
  static constexpr size_t kMaxStates = 24;
  static constexpr size_t kMaxSeen = 4096;

  struct Open {
    Language state;
    uint32_t language;  // number of the language it is a state of
  };
  bool is_wide(Language state);

  LanguageMasks& masks_;
  uint64_t n_before_;
  std::deque<Open> open_;
  std::vector<size_t> n_states_;  // by number of a language
  std::unordered_set<Language> seen_;
};

}  // namespace ruv
