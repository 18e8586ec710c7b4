// Each merge looks up three texts in a large table, so they are decoded and prefetched several
// merges ahead. The result is often the token after the previous result, which needs no lookup.
#include "text/bpe/merge_list.h"

#include <algorithm>
#include <array>

namespace ruv {

// The bytes of both sides, consecutively.
struct MergeList::Sides {
  std::string_view left, right;  // as stored
  std::string bytes;             // with padding
  size_t n_left = 0;
  size_t n_bytes = 0;
  bool decoded = false;
  std::array<WordKey, 3> keys;  // left, right, joined
};

void MergeList::look_up(std::string_view merge, Sides& sides) const {
  const size_t space = std::min(merge.find(' '), merge.size());
  sides.left = merge.substr(0, space);
  sides.right = merge.substr(std::min(space + 1, merge.size()));
  sides.bytes.resize(merge.size() + 2 * Vocabulary::kPadding);
  const auto decode_to = [&](std::string_view stored, size_t at) -> std::optional<size_t> {
    if (decode != nullptr) return decode(stored, sides.bytes.data() + at);
    stored.copy(sides.bytes.data() + at, stored.size());
    return stored.size();
  };
  const auto n_left = decode_to(sides.left, 0);
  const auto n_right = n_left ? decode_to(sides.right, *n_left) : std::nullopt;
  sides.decoded = n_right && *n_left > 0 && *n_right > 0;
  if (!sides.decoded) return;
  sides.n_left = *n_left;
  sides.n_bytes = *n_left + *n_right;
  const char* at = sides.bytes.data();
  sides.keys = {padded_key(at, *n_left), padded_key(at + *n_left, *n_right),
                padded_key(at, sides.n_bytes)};
  for (const WordKey& key : sides.keys) vocabulary.prefetch(hash_of(key));
}

// The ids of left, right and joined; -1 where there is none.
std::array<Token, 3> MergeList::find(const Sides& sides) const {
  std::array<Token, 3> ids = {-1, -1, -1};
  if (sides.decoded) {
    const char* at = sides.bytes.data();
    const std::array<const char*, 3> begins = {at, at + sides.n_left, at};
    for (size_t i = 0; i < ids.size(); ++i) {
      const WordKey& key = sides.keys[i];
      const Vocabulary::Entry* entry = vocabulary.find(key, hash_of(key), begins[i]);
      if (entry != nullptr) ids[i] = entry->id;
    }
  }
  const bool all = (ids[0] | ids[1] | ids[2]) >= 0;
  if (all || !by_text || sides.left.empty() || sides.right.empty()) return ids;
  if (ids[0] < 0) ids[0] = by_text(sides.left);
  if (ids[1] < 0) ids[1] = by_text(sides.right);
  if (ids[2] < 0) ids[2] = by_text(std::string(sides.left).append(sides.right));
  return ids;
}

Result<PairTable> MergeList::read(std::span<const std::string> merges) const {
  PairTable table(merges.size());
  constexpr size_t kAhead = 8;
  std::array<Sides, kAhead> ahead;
  for (size_t i = 0; i < std::min(kAhead, merges.size()); ++i) look_up(merges[i], ahead[i]);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right, joined] = find(ahead[rank % kAhead]);
    if ((left | right | joined) < 0) {
      return fail(Code::corrupt,
                  "tokenizer: merges[{}] \"{}\": a side or the result is not a token", rank,
                  merges[rank]);
    }
    table.add(left, right, {static_cast<uint32_t>(rank), joined});
    if (rank + kAhead < merges.size()) look_up(merges[rank + kAhead], ahead[rank % kAhead]);
  }
  return table;
}

}  // namespace ruv
