// A draft is accepted when the row before it chooses the same token from the same logits that a
// step without drafts would have computed. So drafts change how many tokens a step gives and
// nothing else.
#include "engine/draft_verifier.h"

#include "base/allocation.h"

namespace ruv {
namespace {

// Logits of one row; the sampler changes them in place.
std::span<float> row_of(HostRows logits, int64_t i) {
  return {logits.row(i), static_cast<size_t>(logits.n_cols)};
}

// Reports tokens until one differs from its draft, or the answer ends, and counts the drafts that
// were right. Throws std::bad_alloc.
void advance(Sequence& sequence, const PackedRows& rows, HostRows logits, int64_t now_ns,
             int64_t& n_accepted) {
  for (bool is_right = true; is_right && !sequence.is_finished();) {
    const bool is_last = n_accepted == rows.n_drafts;
    const Token draft =
        is_last ? Token{-1} : sequence.drafts()->draft.tokens[static_cast<size_t>(n_accepted)];
    const std::span<float> row = row_of(logits, rows.first_output + n_accepted);
    is_right = sequence.advance(row, draft, now_ns);
    if (!is_right) return;
    ++n_accepted;
    if (!sequence.is_finished()) sequence.computed(1);  // the draft's own row
  }
}

}  // namespace

DraftVerifier::DraftVerifier(Executor& executor, Speculator& speculator, PrefixCache& prefixes,
                             int64_t max_sequences, int64_t n_vocab)
    : executor_(&executor),
      speculator_(&speculator),
      prefixes_(&prefixes),
      choices_(max_sequences, n_vocab) {}

void DraftVerifier::choose(std::span<const PackedRows> rows, HostRows logits) {
  choices_.clear();
  for (const PackedRows& packed : rows) {
    if (packed.first_output >= 0) {
      choices_.add(*packed.sequence, row_of(logits, packed.first_output));
    }
  }
  choices_.choose(*executor_);
}

int64_t DraftVerifier::accept(const PackedRows& rows, HostRows logits, int64_t now_ns) {
  Sequence& sequence = *rows.sequence;
  sequence.drafted(rows.n_drafts);
  int64_t n_accepted = 0;
  const bool has_memory = !sequence.choosing_failed() && try_allocating([&] {
    advance(sequence, rows, logits, now_ns, n_accepted);
  });
  if (!has_memory) sequence.run_out_of_memory(now_ns);
  speculator_->record(sequence, rows.n_drafts, n_accepted);
  if (!sequence.is_finished()) return n_accepted;
  prefixes_->keep(sequence);
  // Without memory its answer helps no later draft.
  (void)try_allocating([&] { speculator_->finished(sequence); });
  return n_accepted;
}

}  // namespace ruv
