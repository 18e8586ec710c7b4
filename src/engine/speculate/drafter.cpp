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

// One place in the text that equals no other, outside the vocabulary.
void SequenceDrafter::skip(int64_t n) {
  const auto barrier = static_cast<Token>(-1 - n_tokens_);
  automaton_.append({&barrier, 1});
  n_tokens_ += n;
}

void SequenceDrafter::propose(int64_t max_tokens, Draft& out) const {
  out.clear();
  if (max_tokens < 1) return;
  const SuffixAutomaton::Match own = automaton_.longest();
  DraftHistory::Match past;
  if (history_ != nullptr) past = history_->find(scope_, automaton_.tokens());
  if (own.length >= kMinMatched && own.length >= past.length) {
    out.source = DraftSource::sequence;
    out.n_matched = own.length;
    copy_own(own.end, max_tokens, out.tokens);
  } else if (past.length > 0) {
    out.source = DraftSource::history;
    out.n_matched = past.length;
    history_->copy(past, max_tokens, out.tokens);
  }
  const auto unknown = std::ranges::find_if(
      out.tokens, [&](Token token) { return token < 0 || token >= vocabulary_; });
  out.tokens.erase(unknown, out.tokens.end());
}

// Copies the text from `place` on. Where the text ends it continues with the draft itself, as a
// loop repeats.
void SequenceDrafter::copy_own(int64_t place, int64_t n, std::vector<Token>& out) const {
  const int64_t n_text = automaton_.n_tokens();
  for (int64_t from = place; from < place + n; ++from) {
    out.push_back(from < n_text ? automaton_.token(from) : out[static_cast<size_t>(from - n_text)]);
  }
}

}  // namespace ruv
