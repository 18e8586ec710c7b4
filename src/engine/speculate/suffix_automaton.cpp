#include "engine/speculate/suffix_automaton.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace ruv {
namespace {

constexpr int32_t kRoot = 0;
// Longer pieces refresh all ends at once instead of token by token.
constexpr int64_t kBulkTokens = 256;

}  // namespace

SuffixAutomaton::SuffixAutomaton(int64_t max_tokens) : max_tokens_(max_tokens) {
  CHECK(max_tokens >= 2 && max_tokens <= int64_t{1} << 29);
  clear();
}

void SuffixAutomaton::clear() {
  tokens_.clear();
  states_.assign(1, State{});
  std::fill(edges_.begin(), edges_.end(), Edge{});
  n_edges_ = 0;
  last_ = kRoot;
  pending_ = false;
}

void SuffixAutomaton::reserve(int64_t n_tokens) {
  const auto n = static_cast<size_t>(std::min(n_tokens, max_tokens_));
  tokens_.reserve(n);
  states_.reserve(2 * n + 1);
  const size_t n_slots = std::bit_ceil(std::max<size_t>(64, n + n / 2));
  if (n_slots > edges_.size()) grow_edges(n_slots);
}

void SuffixAutomaton::append(std::span<const Token> tokens) {
  const auto max = static_cast<size_t>(max_tokens_);
  if (tokens.size() > max) tokens = tokens.last(max);
  if (tokens_.size() + tokens.size() > max) {
    // At most half of the text is kept then, so forgetting is rare.
    const size_t n_kept = std::min({max / 2, max - tokens.size(), tokens_.size()});
    const std::vector<Token> kept(tokens_.end() - static_cast<ptrdiff_t>(n_kept), tokens_.end());
    clear();
    append(kept);
  }
  const auto n = static_cast<int64_t>(tokens.size());
  if (n < std::max(kBulkTokens, n_tokens() / 8)) {
    for (const Token token : tokens) {
      refresh_one();
      extend(token);
      pending_ = true;
    }
    return;
  }
  reserve(n_tokens() + n);
  for (const Token token : tokens) extend(token);
  pending_ = true;
  refresh_all();
}

// Blumer's construction for one token.
void SuffixAutomaton::extend(Token token) {
  const auto added = static_cast<int32_t>(states_.size());
  tokens_.push_back(token);
  const auto n = static_cast<int32_t>(tokens_.size());
  states_.push_back({.longest = n, .link = kRoot, .end = n});
  int32_t from = last_;
  last_ = added;
  int32_t target = kNone;
  for (; from != kNone; from = state(from).link) {
    target = edge_or_add(from, token, added);
    if (target != kNone) break;
  }
  if (target == kNone) return;
  const bool fits = state(target).longest == state(from).longest + 1;
  state(added).link = fits ? target : split(from, token, target);
}

// The substrings of `to` that arrive through an edge from `from` now also end here and the longer
// ones do not, so the shorter ones get a state of their own.
int32_t SuffixAutomaton::split(int32_t from, Token token, int32_t to) {
  const auto copy = static_cast<int32_t>(states_.size());
  State copied = state(to);
  copied.longest = state(from).longest + 1;
  copied.copied = true;
  const int32_t more = copied.more;
  copied.more = kNone;
  states_.push_back(copied);
  int64_t n_more = 0;
  for (int32_t e = more; e != kNone; e = edge(e).next) ++n_more;
  const bool moved = make_room(n_more);  // now, so that the list stays in place while it is read
  for (int32_t e = moved ? state(to).more : more; e != kNone; e = edge(e).next) {
    add_edge(copy, edge(e).token, edge(e).to);
  }
  state(to).link = copy;
  for (; from != kNone; from = state(from).link) {
    int32_t* target = find_edge(from, token);
    if (target == nullptr || *target != to) break;
    *target = copy;
  }
  return copy;
}

// The end of the text becomes one of the ends of all its suffixes.
void SuffixAutomaton::refresh_one() {
  if (!pending_) return;
  pending_ = false;
  const auto n = static_cast<int32_t>(tokens_.size());
  int32_t at = last_;
  for (int64_t i = 0; i < kMaxRefreshed && at != kRoot; ++i, at = state(at).link) {
    state(at).end = n;
  }
}

// From the longest texts to the shortest, each state gives its ends to its link.
void SuffixAutomaton::refresh_all() {
  std::vector<int32_t> first(tokens_.size() + 2);  // by length, where its states begin
  for (const State& s : states_) ++first[static_cast<size_t>(s.longest) + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<int32_t> order(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    State& s = states_[i];
    order[static_cast<size_t>(first[static_cast<size_t>(s.longest)]++)] = static_cast<int32_t>(i);
    s.end = s.copied ? 0 : s.longest;
  }
  state(last_).end = 0;
  for (size_t i = order.size(); i-- > 1;) {
    const State& s = state(order[i]);
    State& link = state(s.link);
    link.end = std::max(link.end, s.end);
  }
}

// The earlier occurrence that a state represents.
SuffixAutomaton::Match SuffixAutomaton::match_of(int32_t index) const {
  if (index <= kRoot) return {};
  const State& s = state(index);
  return {index, s.longest, s.end};
}

SuffixAutomaton::Match SuffixAutomaton::longest() const { return match_of(state(last_).link); }

int64_t SuffixAutomaton::n_bytes() const {
  return static_cast<int64_t>(tokens_.capacity() * sizeof(Token) +
                              states_.capacity() * sizeof(State) +
                              edges_.capacity() * sizeof(Edge));
}

// The slot of the edge, or the free one where it belongs.
size_t SuffixAutomaton::slot_of(int32_t from, Token token) const {
  const uint64_t key =
      static_cast<uint64_t>(static_cast<uint32_t>(from)) << 32 | static_cast<uint32_t>(token);
  const size_t mask = edges_.size() - 1;
  size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32) & mask;
  while (edges_[slot].from != kNone && (edges_[slot].from != from || edges_[slot].token != token)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

int32_t* SuffixAutomaton::find_edge(int32_t from, Token token) {
  State& s = state(from);
  if (s.to != kNone && s.token == token) return &s.to;
  if (s.more == kNone) return nullptr;
  Edge& found = edges_[slot_of(from, token)];
  return found.from == kNone ? nullptr : &found.to;
}

// Where the edge leads, or kNone: then it is added.
int32_t SuffixAutomaton::edge_or_add(int32_t from, Token token, int32_t to) {
  State& s = state(from);
  if (s.to == kNone) {
    s.token = token;
    s.to = to;
    return kNone;
  }
  if (s.token == token) return s.to;
  make_room(1);
  const size_t slot = slot_of(from, token);
  Edge& edge = edges_[slot];
  if (edge.from != kNone) return edge.to;
  edge = {from, token, to, s.more};
  s.more = static_cast<int32_t>(slot);
  ++n_edges_;
  return kNone;
}

void SuffixAutomaton::add_edge(int32_t from, Token token, int32_t to) {
  State& s = state(from);
  if (s.to == kNone) {
    s.token = token;
    s.to = to;
    return;
  }
  make_room(1);
  const size_t slot = slot_of(from, token);
  edges_[slot] = {from, token, to, s.more};
  s.more = static_cast<int32_t>(slot);
  ++n_edges_;
}

bool SuffixAutomaton::make_room(int64_t n) {
  const auto needed = static_cast<size_t>(2 * (n_edges_ + n));
  if (needed <= edges_.size()) return false;
  grow_edges(std::bit_ceil(std::max<size_t>(64, needed)));
  return true;
}

void SuffixAutomaton::grow_edges(size_t n_slots) {
  std::vector<Edge> old(n_slots);
  old.swap(edges_);
  for (const Edge& e : old) {
    if (e.from != kNone) state(e.from).more = kNone;
  }
  for (const Edge& e : old) {
    if (e.from == kNone) continue;
    const size_t slot = slot_of(e.from, e.token);
    State& s = state(e.from);
    edges_[slot] = {e.from, e.token, e.to, s.more};
    s.more = static_cast<int32_t>(slot);
  }
}

}  // namespace ruv
