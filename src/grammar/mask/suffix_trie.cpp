#include "grammar/mask/suffix_trie.h"

#include <algorithm>

namespace ruv {

// Sorted texts share their beginnings with the one before, as in TokenTrie.
SuffixTrie::SuffixTrie(std::vector<Suffix> suffixes) {
  std::ranges::sort(suffixes, [](const Suffix& a, const Suffix& b) {
    return a.text != b.text ? a.text < b.text : a.token < b.token;
  });
  std::vector<uint32_t> path;  // nodes of the last text
  std::string_view last;
  tokens_.reserve(suffixes.size());
  for (const auto& [text, token] : suffixes) {
    const auto shared = static_cast<size_t>(std::ranges::mismatch(last, text).in1 - last.begin());
    while (path.size() > shared) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
    for (size_t at = shared; at < text.size(); ++at) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {0, static_cast<uint32_t>(tokens_.size()), 0, static_cast<uint8_t>(text[at])});
    }
    ++nodes_[path.back()].n_tokens;
    tokens_.push_back(token);
    last = text;
  }
  for (const uint32_t open : path) nodes_[open].end = static_cast<uint32_t>(nodes_.size());
}

}  // namespace ruv
