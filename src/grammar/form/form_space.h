// FormSpace: what all forms over one vocabulary share: its languages and what is known of their
// tokens. One lock guards it, since reading a form makes languages; a step of a model takes
// milliseconds, a mask microseconds.
#pragma once

#include <map>
#include <memory>

#include "base/thread.h"
#include "grammar/goal/goals.h"
#include "grammar/mask/language_masks.h"
#include "grammar/schema/formats.h"

namespace ruv {

class FormSpace {
 public:
  // Languages that fit: about 100 bytes each, plus what is known of their tokens.
  static constexpr size_t kMaxLanguages = size_t{1} << 20;
  static constexpr size_t kMaxMaskBytes = size_t{64} << 20;

  // Takes some milliseconds per 100,000 tokens.
  // `ends`: the tokens that end an answer.
  FormSpace(std::shared_ptr<const TokenPrefixes> tokens, int64_t n_vocab,
            std::vector<Token> ends = {});

  Mutex& mutex() { return mutex_; }
  const TokenPrefixes& tokens() const { return *tokens_; }
  const TokenTrie& trie() const { return trie_; }
  const std::vector<Token>& ends() const { return ends_; }
  // All else needs the lock. Languages and masks are those of every form that was made here, so a
  // form that comes later finds most of what it needs.
  Languages& languages() { return languages_; }
  LanguageMasks& masks() { return masks_; }
  // The texts of one way to write JSON, and the formats in it.
  struct Style {
    Style(Languages& languages, JsonStyle style)
        : text(languages, style), formats(languages, text) {}
    JsonText text;
    Formats formats;
  };
  // Valid as long as the object.
  Style& style(JsonStyle style);
  // Whether a new space should be made for further forms.
  bool is_worn() const { return languages_.overflowed() || languages_.size() > kMaxLanguages / 2; }

 private:
  Mutex mutex_;
  std::shared_ptr<const TokenPrefixes> tokens_;
  TokenTrie trie_;
  std::vector<Token> ends_;
  Languages languages_;
  LanguageMasks masks_;
  std::map<std::pair<JsonEscapes, JsonSpacing>, std::unique_ptr<Style>> styles_;
};

}  // namespace ruv
