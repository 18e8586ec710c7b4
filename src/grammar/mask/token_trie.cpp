// The tree is built in one pass over the sorted tokens; the path of the last token is the only
// state.
#include "grammar/mask/token_trie.h"

#include <algorithm>

namespace ruv {
namespace {

// Children from which on they are found by a table.
constexpr uint32_t kManyChildren = 16;

}  // namespace

// Tokens come in the order of their bytes, so each one shares a prefix with the one before it and
// adds nodes for the rest.
TokenTrie::TokenTrie(const TokenPrefixes& prefixes, int64_t n_vocab,
                     const std::function<bool(Token)>& holds)
    : depth_(prefixes.longest()), n_vocab_(n_vocab) {
  std::vector<uint32_t> path = {0};  // nodes of the bytes of the last token
  nodes_.push_back({});
  depths_.push_back(0);
  std::string_view last;
  for (const Token id : prefixes.beginning_with("")) {
    if (holds && !holds(id)) continue;
    const std::string_view text = prefixes.bytes(id);
    const auto shared = static_cast<size_t>(std::ranges::mismatch(last, text).in1 - last.begin());
    while (path.size() > shared + 1) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
    for (size_t at = shared; at < text.size(); ++at) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .first_token = static_cast<uint32_t>(tokens_.size()),
                        .n_tokens = 0,
                        .byte = static_cast<uint8_t>(text[at])});
      depths_.push_back(static_cast<uint16_t>(at + 1));
    }
    // Equal tokens come one after another, so those of a node lie together.
    Node& node = nodes_[path.back()];
    ++node.n_tokens;
    tokens_.push_back(id);
    last = text;
  }
  for (const uint32_t open : path) nodes_[open].end = static_cast<uint32_t>(nodes_.size());
  index_children();
}

// Few nodes are wide, and only one that is large can be.
void TokenTrie::index_children() {
  std::vector<uint32_t> children;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].end - i <= kManyChildren) continue;
    children.clear();
    ByteSet bytes;
    for (uint32_t child = i + 1; child < nodes_[i].end; child = nodes_[child].end) {
      children.push_back(child);
      bytes.add(nodes_[child].byte);
    }
    if (children.size() < kManyChildren) continue;
    nodes_[i].is_wide = true;
    wide_.push_back({i, static_cast<uint32_t>(children_.size()), bytes});
    children_.insert(children_.end(), children.begin(), children.end());
  }
}

uint32_t TokenTrie::child(uint32_t node, uint8_t byte) const {
  if (!nodes_[node].is_wide) {
    uint32_t child = node + 1;
    while (child < nodes_[node].end && nodes_[child].byte < byte) child = nodes_[child].end;
    return child < nodes_[node].end && nodes_[child].byte == byte ? child : 0;
  }
  const Wide& wide = *std::ranges::lower_bound(wide_, node, {}, &Wide::node);
  return wide.bytes.has(byte) ? children_[wide.first + wide.bytes.n_below(byte)] : 0;
}

}  // namespace ruv
