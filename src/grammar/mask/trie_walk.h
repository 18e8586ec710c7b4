// TrieWalk: the tokens of a tree whose bytes can be followed by something of a language, and the
// places at which a text of the language ends.
#pragma once

#include <vector>

#include "grammar/mask/rest_index.h"
#include "grammar/mask/state_rows.h"
#include "grammar/mask/token_trie.h"

namespace ruv {

class TrieWalk {
 public:
  // References must outlive the object.
  TrieWalk(Languages& languages, StateRows& rows, const TokenTrie& trie)
      : languages_(languages), rows_(rows), trie_(trie) {}

  // Visits the nodes that fit: some nanoseconds each, and a few more for those beside them.
  void run(Language language);

  // Nodes that were looked at.
  uint64_t n_visited() const { return n_visited_; }
  const std::vector<Token>& inside() const { return inside_; }
  // Places that have nodes below them.
  const std::vector<RestIndex::End>& ends() const { return ends_; }

 private:
  // A node whose bytes lead to a state.
  struct Place {
    uint32_t node;
    uint32_t depth;  // number of the bytes
    Language state;
  };
  // Looks up the children that may come; scans all below a node.
  void look_up(const Place& place);
  void scan(const Place& place);
  // Takes a node's tokens. True: there are more below it.
  bool take(const Place& place);
  bool is_narrow(Language state);

  Languages& languages_;
  StateRows& rows_;
  const TokenTrie& trie_;
  std::vector<Place> open_;
  std::vector<const StateRows::Row*> path_;  // of a scan, by depth
  std::vector<RestIndex::End> ends_;
  std::vector<Token> inside_;
  uint64_t n_visited_ = 0;
};

}  // namespace ruv
