// DraftHistory: finished answers of all requests, so that text which agents request repeatedly is
// drafted at once. A ring of tokens, with a hash table from the last kKeyTokens tokens to the
// places where they occurred.
//
// Scopes separate tenants: a text is found only by the scope that added it. Other scopes can only
// displace older text, by as much as they add; the hash has a secret seed, so no client can
// construct collisions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ruv/token.h"

namespace ruv {

class DraftHistory {
 public:
  static constexpr int64_t kKeyTokens = 4;    // tokens that a look-up compares first
  static constexpr int64_t kMaxTried = 16;    // places of equal hash that are compared
  static constexpr int64_t kMaxMatched = 64;  // longer matches count as this long

  // Keeps the last max_tokens (rounded up to a power of two, at least 64), at 16 bytes each, all
  // allocated here. More tokens find older answers at the cost of this memory. `seed`: a secret,
  // any number.
  DraftHistory(int64_t max_tokens, uint64_t seed);

  // Adds a finished answer. Put the last few tokens of its prompt before it, so that its beginning
  // is found too. If it is longer than half the ring, only its end is kept.
  void add(std::string_view scope, std::span<const Token> tokens);

  struct Match {
    int64_t length = 0;  // tokens that agree, at most kMaxMatched; 0: nothing found
    uint32_t next = 0;   // place of the token that followed
  };
  // The place where the longest suffix of `tokens` occurred, among the newest kMaxTried places with
  // these last kKeyTokens tokens; the most recent among equally long ones.
  Match find(std::string_view scope, std::span<const Token> tokens) const;
  // Appends at most n tokens from the place that find() returned, up to the end of that answer.
  void copy(const Match& match, int64_t n, std::vector<Token>& out) const;

  int64_t n_tokens() const;  // kept now, ends of answers included
  int64_t n_scopes() const { return static_cast<int64_t>(scopes_.size()); }
  int64_t n_bytes() const;

 private:
  struct Place {
    Token token = 0;
    uint32_t scope = 0;     // 0: the end of an answer
    uint32_t previous = 0;  // with the same hash
  };
  struct Scope {
    uint32_t number = 0;
    int64_t n_tokens = 0;
  };

  const Place& at(uint32_t place) const { return ring_[place & mask_]; }
  bool kept(uint32_t place) const { return n_added_ - place - 1 < n_kept_; }
  size_t slot_of(uint32_t scope, std::span<const Token> key) const;
  int64_t agreement(uint32_t scope, uint32_t end, std::span<const Token> tokens) const;
  void push(uint32_t scope, Token token);
  void forget_oldest();

  uint64_t seed_;
  uint32_t mask_;
  std::vector<Place> ring_;
  std::vector<uint32_t> table_;  // the newest place after a key with this hash
  uint32_t n_added_ = 1;         // wraps; place 0 means none
  uint32_t n_kept_ = 0;
  std::map<std::string, Scope, std::less<>> scopes_;
  std::map<uint32_t, std::string_view> names_;
  uint32_t next_scope_ = 1;
};

}  // namespace ruv
