// SequenceDrafter: guesses how a sequence goes on by where its last tokens stood before: in its own
// text, or in finished answers of its scope.
#pragma once

#include <string>
#include <string_view>

#include "engine/speculate/draft_history.h"
#include "engine/speculate/suffix_automaton.h"

namespace ruv {

enum class DraftSource : uint8_t { sequence, history, model };

struct Draft {
  // Best first. chains[0] is the main one; all differ in their first token. None is empty.
  std::vector<std::vector<Token>> chains;
  DraftSource source = DraftSource::sequence;  // of chains[0]
  int64_t n_matched = 0;                       // last tokens of the sequence it was found by

  bool empty() const { return chains.empty(); }
  void clear() {
    chains.clear();
    n_matched = 0;
  }
};

class SequenceDrafter {
 public:
  // `history` may be null; it must outlive the drafter. Only tokens below `vocabulary` are
  // proposed. max_tokens: the longest the sequence can become; bounds memory (about 100 bytes a
  // token, allocated as it grows).
  SequenceDrafter(const DraftHistory* history, std::string_view scope, int64_t vocabulary,
                  int64_t max_tokens);

  // The prompt at first, then what was generated.
  void accept(std::span<const Token> tokens);
  // At most max_chains chains of at most max_tokens tokens. Empty when nothing is likely enough.
  void propose(int64_t max_tokens, int64_t max_chains, Draft& out) const;

  int64_t n_tokens() const { return n_tokens_; }
  int64_t n_bytes() const { return automaton_.n_bytes(); }

  static constexpr int64_t kMinMatched = 2;

 private:
  // One proposal being put together.
  struct Proposal {
    int64_t max_tokens;
    int64_t max_chains;
    Draft& out;
    bool full() const { return static_cast<int64_t>(out.chains.size()) >= max_chains; }
  };
  void add_own(int64_t place, const Proposal& to) const;
  void add_branches(const SuffixAutomaton::Match& match, const Proposal& to) const;
  void add_past(const DraftHistory::Match& match, const Proposal& to) const;
  void add(std::vector<Token> chain, const Proposal& to) const;

  const DraftHistory* history_;
  std::string scope_;
  int64_t vocabulary_;
  int64_t n_tokens_ = 0;
  SuffixAutomaton automaton_;
};

}  // namespace ruv
