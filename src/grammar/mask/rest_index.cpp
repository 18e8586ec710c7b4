#include "grammar/mask/rest_index.h"

namespace ruv {

const SuffixTrie& RestIndex::beginning_with(uint8_t byte) const {
  const auto known = tries_.find(byte);
  if (known != tries_.end()) return known->second;
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  std::vector<SuffixTrie::Suffix> suffixes;
  for (const End& end : ends_) {
    const uint32_t child = trie_.child(end.node, byte);
    if (child == 0) continue;
    for (uint32_t i = child; i < nodes[child].end; ++i) {
      for (const Token token : trie_.tokens(nodes[i])) {
        suffixes.push_back({prefixes_.bytes(token).substr(end.depth), token});
      }
    }
  }
  return tries_.emplace(byte, SuffixTrie(std::move(suffixes))).first->second;
}

}  // namespace ruv
