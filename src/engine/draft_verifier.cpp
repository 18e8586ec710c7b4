// A draft is accepted when the row before it chooses the same token from the same logits that a
// step without drafts would have computed. So drafts change how many tokens a step gives and
// nothing else.
#include "engine/draft_verifier.h"

#include <algorithm>

#include "base/allocation.h"

namespace ruv {
namespace {

// Logits of one row; the sampler changes them in place.
std::span<float> row_of(HostRows logits, int64_t i) {
  return {logits.row(i), static_cast<size_t>(logits.n_cols)};
}

// Reports tokens until one differs from its draft, or the answer ends, and counts the drafts that
// were right. False: memory ran out when a row was chosen. Throws std::bad_alloc.
bool advance(Sequence& sequence, const PackedRows& rows, int64_t now_ns, int64_t& n_accepted) {
  while (!sequence.is_finished()) {
    if (!sequence.can_advance()) return false;
    const bool is_last = n_accepted == rows.n_drafts;
    const Token draft =
        is_last ? Token{-1} : sequence.drafts()->draft.tokens[static_cast<size_t>(n_accepted)];
    if (!sequence.advance(draft, now_ns)) return true;
    ++n_accepted;
    if (!sequence.is_finished()) sequence.computed(1);  // the draft's own row
  }
  return true;
}

}  // namespace

DraftVerifier::DraftVerifier(Executor& executor, Speculator& speculator, const Clock& clock,
                             int64_t max_outputs, int64_t n_vocab)
    : executor_(&executor),
      speculator_(&speculator),
      clock_(&clock),
      choices_(max_outputs, n_vocab) {}

HostWork DraftVerifier::begin(std::span<const PackedRows> rows) {
  masked_.clear();
  for (const PackedRows& packed : rows) {
    if (packed.first_output < 0) continue;
    packed.sequence->begin_step(packed.n_drafts);
    if (packed.sequence->is_constrained()) masked_.push_back({packed.sequence});
  }
  return {std::ssize(masked_), [this](int64_t i) { build_masks(masked_[static_cast<size_t>(i)]); }};
}

// On any thread.
void DraftVerifier::build_masks(Masked& masked) const {
  const int64_t start_ns = clock_->now_ns();
  masked.failed = !try_allocating([&] { masked.sequence->build_masks(); });
  masked.ns = clock_->now_ns() - start_ns;
}

void DraftVerifier::choose(std::span<const PackedRows> rows, HostRows logits) {
  choices_.clear();
  for (const Masked& masked : masked_) {
    const int64_t n = masked.sequence->n_masks();
    if (n > 0) mask_times_.add(static_cast<double>(masked.ns) * 1e-9 / static_cast<double>(n), n);
  }
  for (const PackedRows& packed : rows) {
    for (int64_t i = 0; i < packed.n_scored; ++i) {
      choices_.add_scored(*packed.sequence, i, row_of(logits, packed.first_scored + i));
    }
    const auto is_lost = [&](const Masked& m) { return m.sequence == packed.sequence && m.failed; };
    if (packed.first_output < 0 || std::ranges::any_of(masked_, is_lost)) continue;
    for (int64_t row = 0; row <= packed.n_drafts; ++row) {
      choices_.add(*packed.sequence, row, row_of(logits, packed.first_output + row));
    }
  }
  choices_.choose(*executor_);
}

int64_t DraftVerifier::accept(const PackedRows& rows, int64_t now_ns) {
  Sequence& sequence = *rows.sequence;
  sequence.drafted(rows.n_drafts);
  int64_t n_accepted = 0;
  bool was_chosen = false;
  const bool has_memory =
      try_allocating([&] { was_chosen = advance(sequence, rows, now_ns, n_accepted); });
  if (!has_memory || !was_chosen) sequence.run_out_of_memory(now_ns);
  speculator_->record(sequence, rows.n_drafts, n_accepted);
  if (!sequence.is_finished()) return n_accepted;
  // Without memory its answer helps no later draft.
  (void)try_allocating([&] { speculator_->finished(sequence); });
  return n_accepted;
}

}  // namespace ruv
