// RestWalk: which tokens may come in which a language ends, by the rests of their bytes after that
// end. Where the bytes before the rest differ from token to token, and what may follow depends on
// them (a key's name, an item that must not come again), each token is tried by itself.
#pragma once

#include "grammar/form/form_reader.h"

namespace ruv {

class FormReader::RestWalk {
 public:
  // The rests after any text, and those after one text, whose bytes can be told apart. References
  // must outlive the object. Puts the reader's text back when it goes. Requires: `tokens` has
  // rests; `rests` is of its rests_by_text.
  RestWalk(const FormReader& reader, const LanguageTokens& tokens, const TokenMask& mask,
           std::vector<Token>& found);
  RestWalk(const FormReader& reader, const LanguageTokens& tokens,
           const LanguageTokens::Rests& rests, const TokenMask& mask, std::vector<Token>& found);
  ~RestWalk();
  RestWalk(const RestWalk&) = delete;
  RestWalk& operator=(const RestWalk&) = delete;

  // Adds the tokens whose rests may follow where `next` comes next to `found`. Tokens that the mask
  // has are not tried by themselves.
  void run(FormNode next);

 private:
  struct Level {
    uint32_t end;  // of the nodes at this level
    bool is_sure;  // all that may follow is in the frontier
    Frontier frontier;
  };
  // The rests that begin with one byte.
  void run(const Frontier& frontier, const SuffixTrie& trie);
  // Adds tokens, but those that are left out.
  void add(std::span<const Token> tokens);
  // Tries the tokens of the nodes from one to another, which is exact and slow.
  void try_tokens(const SuffixTrie& trie, uint32_t from, uint32_t to);
  // Bytes that may come next.
  ByteSet first_bytes(const Frontier& frontier) const;

  const FormReader& reader_;
  const LanguageTokens& tokens_;
  const RestIndex& rests_;
  const TokenMask& mask_;
  std::vector<Token>& found_;
  size_t text_size_;  // of the reader's text before the token
};

}  // namespace ruv
