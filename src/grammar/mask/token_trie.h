// TokenTrie: the bytes of a vocabulary's tokens as one tree, in one array. A walk visits a node's
// subtree by taking the next elements, and skips it by a jump, so finding which tokens a
// grammar allows is a scan of an array that leaves out what begins with a wrong byte.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "grammar/language/byte_set.h"
#include "text/token_prefixes.h"

namespace ruv {

class TokenTrie {
 public:
  // The tokens for which holds() is true, or all. Takes about 28 bytes a token and some
  // milliseconds per 100,000 tokens. Immutable afterwards. Requires: token texts below 65,536
  // bytes, as tokenizers guarantee.
  TokenTrie(const TokenPrefixes& prefixes, int64_t n_vocab,
            const std::function<bool(Token)>& holds = nullptr);

  struct Node {
    uint32_t end;          // the node after the last one of the subtree
    uint32_t first_token;  // index into the tokens, of those whose bytes end here
    uint16_t n_tokens;
    uint8_t byte;
    bool is_wide = false;  // has many children
  };
  // In depth-first order, bytes ascending; nodes()[0] is the root, whose byte means nothing.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Token> tokens(const Node& node) const {
    return std::span(tokens_).subspan(node.first_token, node.n_tokens);
  }
  // By node, the number of its bytes: what a scan needs to find the state of the node before.
  std::span<const uint16_t> depths() const { return depths_; }
  // The child of a node by its byte; 0: there is none.
  uint32_t child(uint32_t node, uint8_t byte) const;
  // Length of the longest token, which is the depth of the tree.
  size_t depth() const { return depth_; }
  int64_t n_vocab() const { return n_vocab_; }

 private:
  // Where the children of a wide node lie, by their bytes in ascending order.
  struct Wide {
    uint32_t node;
    uint32_t first;  // of children_
    ByteSet bytes;
  };
  void index_children();

  std::vector<Node> nodes_;
  std::vector<uint16_t> depths_;
  std::vector<Token> tokens_;
  std::vector<Wide> wide_;  // by node, ascending
  std::vector<uint32_t> children_;
  size_t depth_ = 0;
  int64_t n_vocab_;
};

}  // namespace ruv
