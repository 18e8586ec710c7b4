// LanguageMasks: finds and keeps LanguageTokens by language, which is the state of its automaton.
//
// In general each node of the vocabulary whose bytes fit is visited, some nanoseconds each: a few
// for a key that must be spelled out, a million for any text. Two kinds of languages are found
// without that from what is known of simpler ones: runs of characters, whatever limits their
// length, and languages without finitely many of their texts. Later a language is a lookup.
// max_bytes bounds what is kept: less is found again more often.
//
// Not thread-safe: an owner locks.
#pragma once

#include <memory>
#include <unordered_map>

#include "grammar/language/languages.h"
#include "grammar/mask/character_runs.h"
#include "grammar/mask/completion_bounds.h"
#include "grammar/mask/language_tokens.h"
#include "grammar/mask/state_rows.h"
#include "grammar/mask/text_slice.h"
#include "grammar/mask/token_trie.h"

namespace ruv {

class LanguageMasks {
 public:
  // References must outlive this object.
  LanguageMasks(Languages& languages, const TokenTrie& trie, const TokenPrefixes& prefixes,
                size_t max_bytes);

  // The state after `byte`; `nothing` where no text can follow, however it ends.
  Language after(Language language, uint8_t byte) { return rows_.after(language, byte); }
  Language after(Language language, std::string_view bytes);
  // The states after each byte. Valid until the next mask is made.
  const StateRows::Row& row(Language language) { return rows_.row(language); }

  // Prepares for languages inside which any run of these characters may come. Takes some ten
  // milliseconds and megabytes per 100,000 tokens. Those of the most tokens come first.
  void add_slice(Language character);

  // Valid as long as it is held.
  const std::shared_ptr<const LanguageTokens>& tokens(Language language);

  // Nodes of the vocabulary that were visited so far: what finding masks cost.
  uint64_t n_visited() const { return n_visited_; }
  Languages& languages() { return languages_; }
  const TokenTrie& trie() const { return trie_; }
  const TokenPrefixes& prefixes() const { return prefixes_; }
  std::string_view bytes(Token token) const { return prefixes_.bytes(token); }

 private:
  using Made = std::shared_ptr<const LanguageTokens>;
  // What tokens() keeps: found from simpler languages, or by a walk.
  Made make(Language language);
  Made walk(Language language);
  Made walk(Language language, const TokenTrie& trie);
  void add_rests(LanguageTokens& made, const TokenTrie& trie,
                 const std::vector<RestIndex::End>& ends);
  std::string bytes_of(const TokenTrie& trie, const RestIndex::End& end) const;
  // What was taken away from a base that is simpler, also where more follows both.
  std::optional<Languages::Exclusion> exclusion_of(Language language);
  Made without(Language language, const Languages::Exclusion& exclusion);
  bool is_run(const Languages::Repetition& repetition);
  CharacterRuns& runs_of(Language character);
  // The tokens of an intersection with runs; nothing where that is not faster than a walk.
  Made limited(Language language, const Languages::Intersection& both);
  Made limited(Language language, const Languages::Repetition& run, Language base);
  Language merge_runs(const Languages::Intersection& both, Languages::Repetition& run);

  Languages& languages_;
  const TokenTrie& trie_;
  const TokenPrefixes& prefixes_;
  size_t max_bytes_;
  size_t n_bytes_ = 0;
  uint64_t n_visited_ = 0;
  StateRows rows_;
  std::vector<std::unique_ptr<TextSlice>> slices_;
  std::unordered_map<Language, Made> tokens_;
  std::unordered_map<Language, std::unique_ptr<CharacterRuns>> runs_;       // by character
  std::unordered_map<Language, std::unique_ptr<CompletionBounds>> bounds_;  // by unlimited run
};

}  // namespace ruv
