// SuffixAutomaton: finds, for a growing text of tokens, the longest suffix that occurred in it
// before, and how the text continued there. It recognises every substring of the text and grows by
// one token in amortised constant time (Blumer et al., "The smallest automaton recognizing the
// subwords of a text", 1985).
//
// A state represents the substrings that end at the same set of places; `longest` is the length of
// the longest of them, and `link` leads to the state of the longest suffix that ends at more
// places. Following links from the last state therefore visits ever shorter suffixes of the text.
// Most states have one outgoing edge, which is stored in the state; the others are in one hash
// table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ruv/token.h"

namespace ruv {

class SuffixAutomaton {
 public:
  // A suffix of the text that occurred earlier. No match: length 0.
  struct Match {
    int32_t state = 0;
    int64_t length = 0;  // tokens
    int64_t end = 0;     // where it last ended earlier: the token after it is token(end)
  };

  // Keeps at most max_tokens (at least 2); when one more is appended, the older half is forgotten.
  explicit SuffixAutomaton(int64_t max_tokens);

  // Allocates ahead for up to n_tokens in all, about 100 bytes each.
  void reserve(int64_t n_tokens);
  // Amortised constant time a token.
  void append(std::span<const Token> tokens);

  // Places count from the oldest token that is kept.
  int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  std::span<const Token> tokens() const { return tokens_; }
  Token token(int64_t place) const { return tokens_[static_cast<size_t>(place)]; }

  // The longest suffix of the text that occurred earlier. `end` is its most recent place, unless
  // more than kMaxRefreshed shorter suffixes of one place also occur elsewhere; then it may be an
  // older place.
  Match longest() const;

  // Memory held now.
  int64_t n_bytes() const;

  static constexpr int64_t kMaxRefreshed = 64;

 private:
  static constexpr int32_t kNone = -1;

  struct State {
    int32_t longest = 0;
    int32_t link = kNone;  // of the longest suffix in another state
    Token token = kNone;   // the edge in the state: none when to is kNone
    int32_t to = kNone;
    int32_t more = kNone;  // further edges, a list in edges_
    int32_t end = 0;       // most recent end, without the text's own end
    bool copied = false;   // split off another state
  };
  struct Edge {
    int32_t from = kNone;  // kNone: a free slot
    Token token = 0;
    int32_t to = 0;
    int32_t next = kNone;
  };

  State& state(int32_t index) { return states_[static_cast<size_t>(index)]; }
  const State& state(int32_t index) const { return states_[static_cast<size_t>(index)]; }
  const Edge& edge(int32_t slot) const { return edges_[static_cast<size_t>(slot)]; }
  void clear();
  void extend(Token token);
  int32_t split(int32_t from, Token token, int32_t to);
  void refresh_one();
  void refresh_all();
  Match match_of(int32_t index) const;

  size_t slot_of(int32_t from, Token token) const;
  int32_t* find_edge(int32_t from, Token token);
  int32_t edge_or_add(int32_t from, Token token, int32_t to);
  void add_edge(int32_t from, Token token, int32_t to);
  // Room for n more; true when that moved the edges.
  bool make_room(int64_t n);
  void grow_edges(size_t n_slots);

  int64_t max_tokens_;
  std::vector<Token> tokens_;
  std::vector<State> states_;
  std::vector<Edge> edges_;  // open addressing, a power of two
  int64_t n_edges_ = 0;
  int32_t last_ = 0;
  bool pending_ = false;  // the text's own end is not in `end` yet
};

}  // namespace ruv
