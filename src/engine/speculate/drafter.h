// SequenceDrafter: drafts a continuation by looking up where the sequence's last tokens occurred
// before, in its own text or in finished answers of its scope (prompt lookup). Costs no model time.
#pragma once

#include <string>
#include <string_view>

#include "engine/speculate/draft_history.h"
#include "engine/speculate/suffix_automaton.h"

namespace ruv {

// Where a draft was found.
enum class DraftSource : uint8_t { sequence, history, model, form, head };

// A proposed continuation of a sequence.
struct Draft {
  std::vector<Token> tokens;
  DraftSource source = DraftSource::sequence;
  int64_t n_matched = 0;  // how many last tokens of the sequence were matched

  bool empty() const { return tokens.empty(); }
  void clear() {
    tokens.clear();
    n_matched = 0;
  }
};

class SequenceDrafter {
 public:
  // `history` may be null; it must outlive the drafter. Only tokens below `vocabulary` are
  // proposed. max_tokens: the longest that the sequence can become; bounds memory (about 100 bytes
  // a token, allocated as it grows).
  SequenceDrafter(const DraftHistory* history, std::string_view scope, int64_t vocabulary,
                  int64_t max_tokens);

  // Appends the prompt first, then what is generated.
  void accept(std::span<const Token> tokens);
  // The next n places of the sequence have no tokens: no match and no draft reaches over them.
  void skip(int64_t n);
  // Proposes at most max_tokens tokens; none when no match is long enough.
  void propose(int64_t max_tokens, Draft& out) const;

  // Places so far, skipped ones too.
  int64_t n_tokens() const { return n_tokens_; }
  int64_t n_bytes() const { return automaton_.n_bytes(); }

  static constexpr int64_t kMinMatched = 2;

 private:
  void copy_own(int64_t place, int64_t n, std::vector<Token>& out) const;

  const DraftHistory* history_;
  std::string scope_;
  int64_t vocabulary_;
  int64_t n_tokens_ = 0;
  SuffixAutomaton automaton_;
};

}  // namespace ruv
