#include "engine/speculate/drafter.h"

#include <algorithm>

namespace ruv {

SequenceDrafter::SequenceDrafter(const DraftHistory* history, std::string_view scope,
                                 int64_t vocabulary, int64_t max_tokens)
    : history_(history),
      scope_(scope),
      vocabulary_(vocabulary),
      automaton_(std::max<int64_t>(2, max_tokens)) {}

void SequenceDrafter::accept(std::span<const Token> tokens) {
  automaton_.append(tokens);
  n_tokens_ += static_cast<int64_t>(tokens.size());
}

void SequenceDrafter::propose(int64_t max_tokens, int64_t max_chains, Draft& out) const {
  out.clear();
  if (max_tokens < 1 || max_chains < 1) return;
  const Proposal to{max_tokens, max_chains, out};
  SuffixAutomaton::Match own = automaton_.longest();
  DraftHistory::Match past;
  if (history_ != nullptr) past = history_->find(scope_, automaton_.tokens());
  if (own.length >= kMinMatched && own.length >= past.length) {
    out.source = DraftSource::sequence;
    out.n_matched = own.length;
    add_own(own.end, to);
  } else if (past.length > 0) {
    out.source = DraftSource::history;
    out.n_matched = past.length;
    add_past(past, to);
  }
  if (past.length > 0) add_past(past, to);
  for (; own.length >= kMinMatched && !to.full(); own = automaton_.shorter(own)) {
    add_branches(own, to);
  }
}

// The text from `place` on; where it reaches its end, it goes on with the draft itself, as a loop
// does.
void SequenceDrafter::add_own(int64_t place, const Proposal& to) const {
  std::vector<Token> chain;
  chain.reserve(static_cast<size_t>(to.max_tokens));
  const int64_t n = automaton_.n_tokens();
  for (int64_t i = 0; i < to.max_tokens; ++i) {
    const int64_t from = place + i;
    chain.push_back(from < n ? automaton_.token(from) : chain[static_cast<size_t>(from - n)]);
  }
  add(std::move(chain), to);
}

void SequenceDrafter::add_branches(const SuffixAutomaton::Match& match, const Proposal& to) const {
  std::vector<SuffixAutomaton::Branch> branches;
  automaton_.branches(match, to.max_chains, branches);
  for (const SuffixAutomaton::Branch& branch : branches) {
    if (!to.full()) add_own(branch.end - 1, to);
  }
}

void SequenceDrafter::add_past(const DraftHistory::Match& match, const Proposal& to) const {
  std::vector<Token> chain;
  history_->copy(match, to.max_tokens, chain);
  add(std::move(chain), to);
}

void SequenceDrafter::add(std::vector<Token> chain, const Proposal& to) const {
  const auto unknown = std::find_if(chain.begin(), chain.end(),
                                    [&](Token token) { return token < 0 || token >= vocabulary_; });
  chain.erase(unknown, chain.end());
  if (chain.empty() || to.full()) return;
  for (const std::vector<Token>& other : to.out.chains) {
    if (other.front() == chain.front()) return;
  }
  to.out.chains.push_back(std::move(chain));
}

}  // namespace ruv
