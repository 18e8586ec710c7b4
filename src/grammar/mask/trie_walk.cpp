// Inside a literal one byte may come, and a look-up of that child costs less than passing its
// siblings, which lie apart. Where many bytes may come, a scan in the order of the array is faster.
#include "grammar/mask/trie_walk.h"

namespace ruv {
namespace {

// Bytes up to which children are looked up.
constexpr size_t kFewChildren = 16;

}  // namespace

bool TrieWalk::is_narrow(Language state) {
  size_t n = 0;
  for (const Languages::Arc& arc : languages_.arcs(state)) n += arc.bytes.size();
  return n <= kFewChildren;
}

void TrieWalk::run(Language language) {
  open_ = {{0, 0, language}};
  while (!open_.empty()) {
    ++n_visited_;
    const Place place = open_.back();
    open_.pop_back();
    is_narrow(place.state) ? look_up(place) : scan(place);
  }
}

bool TrieWalk::take(const Place& place) {
  const TokenTrie::Node& node = trie_.nodes()[place.node];
  const std::span<const Token> tokens = trie_.tokens(node);
  inside_.insert(inside_.end(), tokens.begin(), tokens.end());
  if (node.end == place.node + 1) return false;
  if (languages_.has_empty(place.state)) ends_.push_back({place.node, place.depth});
  return true;
}

void TrieWalk::look_up(const Place& place) {
  const std::span<const Languages::Arc> span = languages_.arcs(place.state);
  for (const Languages::Arc& arc : std::vector(span.begin(), span.end())) {
    if (languages_.is_nothing(arc.next)) continue;
    arc.bytes.for_each([&](uint8_t byte) {
      const uint32_t child = trie_.child(place.node, byte);
      if (child == 0) return;
      const Place below = {child, place.depth + 1, arc.next};
      if (take(below)) open_.push_back(below);
    });
  }
}

// A byte after which nothing can follow skips its subtree.
void TrieWalk::scan(const Place& place) {
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  const size_t top = trie_.depths()[place.node];
  path_.resize(trie_.depth() + 1);
  path_[top] = &rows_.row(place.state);
  for (uint32_t i = place.node + 1; i < nodes[place.node].end;) {
    ++n_visited_;
    const size_t depth = trie_.depths()[i];
    const Language next = (*path_[depth - 1])[nodes[i].byte];
    if (next == Language::nothing) {
      i = nodes[i].end;
      continue;
    }
    const auto below = static_cast<uint32_t>(depth - top);
    if (take({i, place.depth + below, next})) path_[depth] = &rows_.row(next);
    ++i;
  }
}

}  // namespace ruv
