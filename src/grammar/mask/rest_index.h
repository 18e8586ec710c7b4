// RestIndex: what follows inside tokens after the end of a language, by its first byte. A language
// such as one space ends in a third of all tokens, but few bytes can follow it at a time: the trees
// of rests are built when their first byte is asked for.
#pragma once

#include <map>

#include "grammar/mask/suffix_trie.h"
#include "grammar/mask/token_trie.h"

namespace ruv {

class RestIndex {
 public:
  // A node of the vocabulary after whose bytes a text of the language ended.
  struct End {
    uint32_t node;
    uint32_t depth;  // number of these bytes
  };
  // References must outlive the object.
  RestIndex(const TokenTrie& trie, const TokenPrefixes& prefixes, std::vector<End> ends)
      : trie_(trie), prefixes_(prefixes), ends_(std::move(ends)) {}

  // The rests that begin with this byte. Kept; an owner locks.
  const SuffixTrie& beginning_with(uint8_t byte) const;
  size_t n_bytes() const { return sizeof(RestIndex) + ends_.size() * sizeof(End); }

 private:
  const TokenTrie& trie_;
  const TokenPrefixes& prefixes_;
  std::vector<End> ends_;
  mutable std::map<uint8_t, SuffixTrie> tries_;
};

}  // namespace ruv
