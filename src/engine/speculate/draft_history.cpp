#include "engine/speculate/draft_history.h"

#include <algorithm>
#include <bit>

#include "base/allocation.h"
#include "base/check.h"

namespace ruv {

DraftHistory::DraftHistory(int64_t max_tokens, uint64_t seed) : seed_(seed) {
  CHECK(max_tokens >= 1 && max_tokens <= int64_t{1} << 30);
  const auto n = std::bit_ceil(static_cast<uint32_t>(std::max<int64_t>(64, max_tokens)));
  mask_ = n - 1;
  ring_.resize(n);
  table_.resize(n);
}

void DraftHistory::add(std::string_view scope, std::span<const Token> tokens) {
  const size_t most = ring_.size() / 2;
  if (tokens.size() > most) tokens = tokens.last(most);
  if (tokens.size() <= static_cast<size_t>(kKeyTokens)) return;
  auto found = scopes_.find(scope);
  if (found == scopes_.end()) {
    found = scopes_.emplace(std::string(scope), Scope{next_scope_, 0}).first;
    Undo undo([&] { scopes_.erase(found); });
    names_.emplace(next_scope_, found->first);
    undo.keep();
    next_scope_ = next_scope_ == UINT32_MAX ? 1 : next_scope_ + 1;
  }
  const uint32_t number = found->second.number;
  // Counted first, so that the scope outlives the end of its own older answers.
  found->second.n_tokens += static_cast<int64_t>(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    push(number, tokens[i]);
    if (i + 1 < static_cast<size_t>(kKeyTokens)) continue;
    const uint32_t place = n_added_ - 1;
    uint32_t& newest = table_[slot_of(number, tokens.subspan(i + 1 - kKeyTokens, kKeyTokens))];
    ring_[place & mask_].previous = newest;
    newest = place;
  }
  push(0, 0);
}

DraftHistory::Match DraftHistory::find(std::string_view scope,
                                       std::span<const Token> tokens) const {
  Match best;
  if (tokens.size() < static_cast<size_t>(kKeyTokens)) return best;
  const auto found = scopes_.find(scope);
  if (found == scopes_.end()) return best;
  const uint32_t number = found->second.number;
  uint32_t place = table_[slot_of(number, tokens.last(kKeyTokens))];
  for (int64_t i = 0; i < kMaxTried && place != 0 && kept(place); ++i, place = at(place).previous) {
    if (at(place + 1).scope != number) continue;  // nothing follows
    const int64_t length = agreement(number, place, tokens);
    if (length < kKeyTokens || length <= best.length) continue;
    best = {length, place + 1};
    if (length == kMaxMatched) break;
  }
  return best;
}

void DraftHistory::copy(const Match& match, int64_t n, std::vector<Token>& out) const {
  const uint32_t number = at(match.next).scope;
  uint32_t place = match.next;
  for (int64_t i = 0; i < n && kept(place) && number != 0 && at(place).scope == number; ++i) {
    out.push_back(at(place++).token);
  }
}

// Tokens that end at `end` and agree with the end of `tokens`.
int64_t DraftHistory::agreement(uint32_t scope, uint32_t end, std::span<const Token> tokens) const {
  const auto most = std::min(kMaxMatched, static_cast<int64_t>(tokens.size()));
  int64_t length = 0;
  for (uint32_t place = end; length < most && kept(place); --place) {
    const Place& p = at(place);
    if (p.scope != scope || p.token != tokens[tokens.size() - 1 - static_cast<size_t>(length)]) {
      break;
    }
    ++length;
  }
  return length;
}

// Appends a token; the caller enters it into the hash table.
void DraftHistory::push(uint32_t scope, Token token) {
  if (n_kept_ == ring_.size()) forget_oldest();
  ring_[n_added_ & mask_] = {token, scope, 0};
  ++n_added_;
  ++n_kept_;
}

// Frees the place that the ring will reuse, and forgets scopes without tokens.
void DraftHistory::forget_oldest() {
  const uint32_t number = at(n_added_ - n_kept_).scope;
  --n_kept_;
  if (number == 0) return;
  const auto name = names_.find(number);
  const auto scope = scopes_.find(name->second);
  if (--scope->second.n_tokens > 0) return;
  names_.erase(name);
  scopes_.erase(scope);
}

size_t DraftHistory::slot_of(uint32_t scope, std::span<const Token> key) const {
  uint64_t hash = seed_ ^ scope;
  for (const Token token : key) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return static_cast<size_t>(hash & mask_);
}

int64_t DraftHistory::n_tokens() const { return n_kept_; }

int64_t DraftHistory::n_bytes() const {
  return static_cast<int64_t>(ring_.size() * sizeof(Place) + table_.size() * sizeof(uint32_t));
}

}  // namespace ruv
