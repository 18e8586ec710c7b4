// Pages are reserved for the known tokens first and for drafts after them, so that a full pool
// costs a sequence its drafts and not its step.
#include "engine/step_packer.h"

#include <algorithm>

namespace ruv {

StepPacker::StepPacker(PrefixCache& prefixes, KvPages& memory, int64_t max_rows,
                       int64_t max_sequences, int64_t max_outputs)
    : prefixes_(&prefixes),
      memory_(&memory),
      max_sequences_(max_sequences),
      max_outputs_(max_outputs) {
  batch_.reserve(max_rows, max_sequences, max_outputs);
  rows_.reserve(static_cast<size_t>(max_sequences));
  prompts_.reserve(static_cast<size_t>(max_sequences));
}

void StepPacker::clear() {
  batch_.clear();
  rows_.clear();
  prompts_.clear();
  n_outputs_ = 0;
}

// Gets pages for n_tokens, evicting cached ones if needed.
bool StepPacker::reserve(Sequence& sequence, int64_t n_tokens) {
  return prefixes_->make_room(sequence.pages().missing_for(n_tokens)) &&
         sequence.pages().grow(n_tokens, *memory_);
}

// Rows of logits that the step has room for, beside one for each sequence that may follow.
int64_t StepPacker::n_outputs_free() const {
  return max_outputs_ - n_outputs_ - (max_sequences_ - std::ssize(rows_));
}

// Asks for the logits of the rows that are scored and of those that choose, which come after them.
void StepPacker::want_outputs(PackedRows& packed, bool chooses) {
  const int64_t n = packed.n_scored + (chooses ? 1 + packed.n_drafts : 0);
  if (n == 0) return;
  const int64_t first = batch_.want_logits(n);
  if (packed.n_scored > 0) packed.first_scored = first;
  if (chooses) packed.first_output = first + packed.n_scored;
  n_outputs_ += n;
}

void StepPacker::add(Sequence& sequence, const StepPlan::Rows& rows) {
  const int64_t first = sequence.n_computed();
  // A sequence that has just started may have found less of its prefix than the plan expected, so
  // that the planned rows would end inside a span that must stay whole.
  int64_t end = sequence.media().edge_before(std::min(first + rows.n_tokens, sequence.n_tokens()));
  if (sequence.wants_scores()) end = std::min(end, first + n_outputs_free());
  PackedRows packed{&sequence, end - first, 0, -1, sequence.n_hidden_wanted(end - first), -1};
  if (end <= first || !reserve(sequence, end)) return;
  const bool gives_logits = end == sequence.n_tokens() && !sequence.wants_hidden();
  if (gives_logits && reserve(sequence, end + rows.n_drafts)) packed.n_drafts = rows.n_drafts;
  sequence.pages().begin_step(batch_,
                              {first, packed.n_tokens, packed.n_drafts, sequence.n_tokens() - end});
  packed.in_prompt = sequence.in_prompt();
  if (packed.in_prompt) prompts_.push_back(sequence.id());
  batch_.set_adapters(sequence.adapters());
  sequence.add_rows(packed.n_tokens, batch_);
  if (packed.n_drafts > 0) {
    batch_.add(
        std::span(sequence.drafts()->draft.tokens).first(static_cast<size_t>(packed.n_drafts)));
  }
  packed.n_scored = sequence.n_scores_wanted(packed.n_tokens);
  want_outputs(packed, gives_logits);
  if (packed.n_hidden > 0) packed.hidden_output = batch_.want_hidden(packed.n_hidden);
  rows_.push_back(packed);
}

}  // namespace ruv
