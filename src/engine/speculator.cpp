#include "engine/speculator.h"

#include <algorithm>

#include "engine/sequence.h"

namespace ruv {
namespace {

// Of its prompt's end, so that the answer's beginning is found again.
constexpr int64_t kPromptTail = 16;

}  // namespace

int64_t Speculator::propose(Sequence& sequence, const Plan& plan) {
  const int64_t n_most = std::min(kMaxDraft, sequence.n_tokens_left() - 1);
  if (n_most < 1 || !sequence.may_draft()) return 0;
  std::unique_ptr<SequenceDrafts>& drafts = sequence.drafts();
  if (drafts == nullptr) {
    drafts.reset(new SequenceDrafts{
        SequenceDrafter(&history_, sequence.scope(), sequence.n_vocab(), sequence.n_ctx()),
        DraftLength(costs_, rates_),
        {},
        {}});
  }
  drafts->drafter.accept(
      std::span(sequence.tokens()).subspan(static_cast<size_t>(drafts->drafter.n_tokens())));
  drafts->drafter.propose(n_most, 1, drafts->draft);
  const Draft& draft = drafts->draft;
  drafts->chance = {.source = draft.source,
                    .n_matched = draft.n_matched,
                    .n_available = draft.empty() ? 0 : std::ssize(draft.chains[0]),
                    .n_rows = plan.n_sequences + plan.n_drafts,
                    .n_sequences = plan.n_sequences};
  return drafts->length.choose(drafts->chance);
}

void Speculator::record(Sequence& sequence, int64_t n_drafted, int64_t n_accepted) {
  if (SequenceDrafts* const drafts = sequence.drafts().get(); drafts != nullptr) {
    drafts->length.record(drafts->chance, n_drafted, n_accepted);
  }
}

void Speculator::record_step(const SpeculationMeter::Step& step) {
  costs_.record(step.n_sequences + step.n_drafted, step.ms);
  meter_.record(step);
}

void Speculator::finished(const Sequence& sequence) {
  if (!sequence.params().speculative) return;
  const int64_t begin = std::max<int64_t>(0, sequence.n_prompt() - kPromptTail);
  history_.add(sequence.scope(), std::span(sequence.tokens()).subspan(static_cast<size_t>(begin)));
}

}  // namespace ruv
