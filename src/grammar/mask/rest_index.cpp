#include "grammar/mask/rest_index.h"

namespace ruv {

// Children are sorted by byte, so the one that is asked for is found by passing those before it.
const SuffixTrie& RestIndex::beginning_with(uint8_t byte) const {
  const auto known = tries_.find(byte);
  if (known != tries_.end()) return known->second;
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  std::vector<SuffixTrie::Suffix> suffixes;
  for (const End& end : ends_) {
    uint32_t child = end.node + 1;
    while (child < nodes[end.node].end && nodes[child].byte < byte) child = nodes[child].end;
    if (child >= nodes[end.node].end || nodes[child].byte != byte) continue;
    for (uint32_t i = child; i < nodes[child].end; ++i) {
      for (const Token token : trie_.tokens(nodes[i])) {
        suffixes.push_back({prefixes_.bytes(token).substr(end.depth), token});
      }
    }
  }
  return tries_.emplace(byte, SuffixTrie(std::move(suffixes))).first->second;
}

}  // namespace ruv
