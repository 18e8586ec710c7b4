// SuffixTrie: what follows inside tokens after the end of a language, as one tree for all of them.
// Tokens with the same rest lie together, so what may follow an end is asked once for each rest.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ruv/token.h"

namespace ruv {

class SuffixTrie {
 public:
  struct Suffix {
    std::string_view text;  // not empty
    Token token;
  };
  SuffixTrie() = default;
  // O(n log n). The texts are not needed afterwards.
  explicit SuffixTrie(std::vector<Suffix> suffixes);

  struct Node {
    uint32_t end;          // the node after the last one of the subtree
    uint32_t first_token;  // index into the tokens, of those whose rest ends here
    uint32_t n_tokens;
    uint8_t byte;
  };
  // In depth-first order; without a root, so the first nodes of two subtrees lie side by side.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Token> tokens(const Node& node) const {
    return std::span(tokens_).subspan(node.first_token, node.n_tokens);
  }
  bool empty() const { return nodes_.empty(); }
  size_t n_bytes() const { return nodes_.size() * sizeof(Node) + tokens_.size() * sizeof(Token); }

 private:
  std::vector<Node> nodes_;
  std::vector<Token> tokens_;
};

}  // namespace ruv
