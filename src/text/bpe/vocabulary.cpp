// Tables are sized once, at most two thirds full, and filled while the next slots are being
// prefetched.
#include "text/bpe/vocabulary.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace ruv {

void Vocabulary::reserve(size_t n_tokens, size_t n_bytes) {
  bytes_.reserve(n_bytes + kPadding);
  ends_.reserve(n_tokens + 1);
  findable_.reserve(n_tokens);
}

void Vocabulary::add(std::string_view text, bool findable) {
  CHECK(text.size() < UINT32_MAX - bytes_.size() - kPadding);
  bytes_ += text;
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  findable_.push_back(findable && !text.empty());
  if (findable) longest_ = std::max(longest_, text.size());
}

// Inserts with a delay of kAhead tokens: the slot of a token is prefetched when its key is computed
// and touched 16 tokens later. The filter has about 12 pairs of bits per token.
void Vocabulary::finish() {
  bytes_.append(kPadding, '\0');
  const size_t n_slots = std::bit_ceil(std::max<size_t>(16, size() + size() / 2));
  shift_ = 64 - std::countr_zero(n_slots);
  last_slot_ = n_slots - 1;
  entries_ = std::make_unique<Entry[]>(n_slots);
  const size_t n_filter = std::bit_ceil(std::clamp<size_t>(12 * size(), 1024, size_t{1} << 22));
  filter_.assign(n_filter / 32, 0);
  line_shift_ = 64 - std::countr_zero(n_filter / kPairsInLine);

  constexpr size_t kAhead = 16;
  struct Pending {
    WordKey key;
    Token id = -1;
  };
  Pending pending[kAhead];
  for (size_t i = 0; i < size() + kAhead; ++i) {
    Pending& next = pending[i % kAhead];
    if (next.id >= 0) insert(next.key, next.id);
    next.id = -1;
    if (i >= size() || !findable_[i]) continue;
    const auto id = static_cast<Token>(i);
    next = {padded_key(text(id).data(), length(id)), id};
    prefetch(hash_of(next.key));
    add_beginnings(text(id));
  }
}

// Linear probing. The first of equal texts stays.
void Vocabulary::insert(const WordKey& key, Token id) {
  size_t i = hash_of(key) >> shift_;
  for (; entries_[i].id >= 0; i = (i + 1) & last_slot_) {
    if (entries_[i].key == key && is_text_of(entries_[i], text(id).data())) return;
  }
  entries_[i].key = key;
  entries_[i].id = id;
}

// Sets kGoesOn for every proper prefix of two bytes or more, and kIsToken for the text itself.
void Vocabulary::add_beginnings(std::string_view text) {
  const size_t n = text.size();
  if (n > kMaxBeginning) return;
  const char* at = text.data();
  const uint64_t low = load_word(at);
  const uint64_t high = load_word(at + 8);
  for (size_t size = 2; size <= std::min(n, WordKey::kShort); ++size) {
    const uint64_t hash = hash_of(short_key(low, high, size));
    set_bits(place_of(low, size, hash), size < n ? kGoesOn : kIsToken);
  }
  if (n <= WordKey::kShort) return;
  LongHash hash;
  hash.take(low);
  for (size_t size = 16; size <= n; ++size) {
    if (size % 8 == 0) hash.take(load_word(at + size - 8));
    const WordKey key = hash.key(load_word(at + size / 8 * 8), size);
    set_bits(place_of(low, size, hash_of(key)), size < n ? kGoesOn : kIsToken);
  }
}

// Walks the prefixes until one that no token continues. Loads of different lengths are independent.
size_t Vocabulary::beginnings(const char* at, size_t limit, Beginning* out) const {
  limit = std::min({limit, longest_, kMaxBeginning});
  size_t n = 0;
  const uint64_t low = load_word(at);
  const uint64_t high = load_word(at + 8);
  const auto offer = [&](const WordKey& key, size_t size) {
    const uint64_t hash = hash_of(key);
    const uint32_t bits = bits_at(place_of(low, size, hash));
    if (bits & kIsToken) {
      prefetch(hash);
      out[n++] = {key, hash, static_cast<uint32_t>(size)};
    }
    return (bits & kGoesOn) != 0;
  };
  for (size_t size = 2; size <= std::min(limit, WordKey::kShort); ++size) {
    if (!offer(short_key(low, high, size), size)) return n;
  }
  LongHash hash;
  hash.take(low);
  for (size_t size = 16; size <= limit; ++size) {
    if (size % 8 == 0) hash.take(load_word(at + size - 8));
    if (!offer(hash.key(load_word(at + size / 8 * 8), size), size)) return n;
  }
  return n;
}

Token Vocabulary::find(std::string_view text) const {
  if (text.empty() || text.size() > longest_) return -1;
  const WordKey key = key_of(text);
  const Entry* entry = find(key, hash_of(key), text.data());
  return entry == nullptr ? -1 : entry->id;
}

}  // namespace ruv
