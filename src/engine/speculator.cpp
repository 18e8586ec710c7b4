#include "engine/speculator.h"

#include <algorithm>

#include "engine/sequence.h"

namespace ruv {
namespace {

// Tokens of the prompt's end that are stored with an answer, so that its beginning is found again.
constexpr int64_t kPromptTail = 16;

int64_t most_for(const Sequence& sequence, int64_t n_left) {
  if (!sequence.may_draft()) return 0;
  // The last token that may come is drawn from the row before it.
  return std::min({Speculator::kMaxDraft, n_left, sequence.n_tokens_left() - 1});
}

// Reports what is new in the sequence. Rows of media are left out.
void follow(const Sequence& sequence, SequenceDrafter& drafter) {
  const auto accept = [&](Range places) {
    drafter.accept(std::span(sequence.tokens())
                       .subspan(static_cast<size_t>(places.begin),
                                static_cast<size_t>(places.end - places.begin)));
  };
  const auto skip = [&](const MediaSpan&, Range places) {
    drafter.skip(places.end - places.begin);
  };
  sequence.media().each_part({drafter.n_tokens(), sequence.n_tokens()}, accept, skip);
}

}  // namespace

SequenceDrafts& Speculator::drafts_of(Sequence& sequence) {
  std::unique_ptr<SequenceDrafts>& drafts = sequence.drafts();
  if (drafts == nullptr) {
    drafts.reset(new SequenceDrafts{
        .drafter =
            SequenceDrafter(&history_, sequence.scope(), sequence.n_vocab(), sequence.n_ctx()),
        .length = DraftLength(*costs_, rates_),
        .timeline = {},
        .head = {},
        .draft = {},
        .chance = {}});
  }
  return *drafts;
}

int64_t Speculator::wanted(Sequence& sequence) {
  return sequence.drafts() == nullptr ? 0 : sequence.drafts()->n_wanted;
}

void Speculator::propose(std::span<Sequence* const> decoding, int64_t max_drafts) {
  plain_ = {};
  for (const Sequence* const sequence : decoding) {
    plain_ = plain_ + StepShape::of(sequence->n_computed(), 1, 1);
  }
  step_ = plain_;
  n_left_ = costs_->is_due(plain_.n_rows) ? 0 : max_drafts;
  for (Sequence* const sequence : decoding) {
    if (sequence->drafts() != nullptr) sequence->drafts()->n_wanted = 0;
    if (const int64_t n_most = most_for(*sequence, n_left_); n_most > 0) {
      look_up(*sequence, n_most);
    }
  }
  if (draft_model_ != nullptr && n_left_ > 0) ask_model(decoding);
  if (head_ != nullptr && n_left_ > 0) ask_head(decoding);
}

void Speculator::look_up(Sequence& sequence, int64_t n_most) {
  SequenceDrafts& drafts = drafts_of(sequence);
  follow(sequence, drafts.drafter);
  drafts.drafter.propose(n_most, drafts.draft);
  sequence.cut_draft(drafts.draft.tokens);
  sequence.draft_foreseen(n_most, foreseen_);
  if (foreseen_.size() > drafts.draft.tokens.size()) {
    drafts.draft.tokens = foreseen_;
    drafts.draft.source = DraftSource::form;
    drafts.draft.n_matched = 0;
  }
  const Draft& draft = drafts.draft;
  drafts.chance = {.source = draft.source,
                   .n_matched = draft.n_matched,
                   .n_available = std::ssize(draft.tokens),
                   .step = step_,
                   .n_tokens = sequence.n_tokens(),
                   .n_sequences = plain_.n_rows};
  drafts.n_wanted = drafts.length.choose(drafts.chance);
  grant(sequence, drafts.n_wanted);
}

void Speculator::grant(const Sequence& sequence, int64_t n_drafts) {
  step_ = step_ + StepShape::drafts(sequence.n_tokens(), n_drafts);
  n_left_ -= n_drafts;
}

// Asks the draft model for the sequences without a draft, all in the same steps of that model.
void Speculator::ask_model(std::span<Sequence* const> decoding) {
  turns_.clear();
  asking_.clear();
  for (Sequence* const sequence : decoding) {
    const int64_t n_most = std::min(most_for(*sequence, n_left_), kMaxModelDraft);
    // The draft model cannot read media.
    if (n_most < 1 || wanted(*sequence) > 0 || !sequence->media().empty()) continue;
    SequenceDrafts& drafts = drafts_of(*sequence);
    const DraftChance chance = {
        .source = DraftSource::model,
        .n_available = n_most,
        .step = step_,
        .n_tokens = sequence->n_tokens(),
        .n_sequences = plain_.n_rows,
        .draft_token_ms = draft_model_->cost().step_ms(StepShape::of(sequence->n_tokens(), 1, 1))};
    const int64_t n = drafts.length.choose(chance);
    if (n == 0) continue;
    if (!drafts.timeline) drafts.timeline.emplace(*draft_model_);
    drafts.chance = chance;
    drafts.draft.source = DraftSource::model;
    drafts.draft.n_matched = 0;
    drafts.draft.tokens.clear();
    grant(*sequence, n);
    asking_.push_back(sequence);
    turns_.push_back({&*drafts.timeline, sequence->tokens(), n, &drafts.draft.tokens});
  }
  if (turns_.empty()) return;
  draft_model_->propose(turns_, *clock_);
  for (Sequence* const sequence : asking_) {
    SequenceDrafts& drafts = *sequence->drafts();
    sequence->cut_draft(drafts.draft.tokens);
    drafts.n_wanted = std::ssize(drafts.draft.tokens);
    drafts.chance.n_available = drafts.n_wanted;
  }
}

DraftChance Speculator::head_chance(Sequence& sequence, int64_t n_most,
                                    const StepShape& step) const {
  const int64_t n_tokens = sequence.n_tokens();
  return {.source = DraftSource::head,
          .n_available = n_most,
          .step = step,
          .n_tokens = n_tokens,
          .n_sequences = std::max<int64_t>(1, step.n_outputs),
          .draft_token_ms = head_->token_ms(n_tokens)};
}

HeadPlace& Speculator::head_of(Sequence& sequence) { return sequence.drafts()->head; }

HeadUse Speculator::head_use(Sequence& sequence, const StepShape& plain) {
  const int64_t n_most = std::min(most_for(sequence, kMaxDraft), kMaxModelDraft);
  const DraftLength& length = drafts_of(sequence).length;
  const DraftChance chance = head_chance(sequence, std::max<int64_t>(1, n_most), plain);
  const bool may_draft = n_most > 0 && !sequence.is_finished();
  if (may_draft && length.choose(chance) > 0) return HeadUse::drafts;
  return length.considers(chance, kHeadContext) ? HeadUse::reads : HeadUse::nothing;
}

// Asks the head for the sequences without a draft of which it knows the next token.
void Speculator::ask_head(std::span<Sequence* const> decoding) {
  head_turns_.clear();
  asking_.clear();
  for (Sequence* const sequence : decoding) {
    const std::span<const PageId> pages = sequence->pages().pages();
    const int64_t n_most = std::min({most_for(*sequence, n_left_), kMaxModelDraft,
                                     head_->most_tokens(pages, sequence->n_tokens())});
    if (n_most < 1 || wanted(*sequence) > 0) continue;
    SequenceDrafts& drafts = drafts_of(*sequence);
    if (!head_->knows(drafts.head, sequence->n_tokens())) continue;
    DraftChance chance = head_chance(*sequence, n_most, step_);
    chance.n_sequences = plain_.n_rows;
    const int64_t n = drafts.length.choose(chance);
    if (n == 0) continue;
    drafts.chance = chance;
    drafts.draft.source = DraftSource::head;
    drafts.draft.n_matched = 0;
    grant(*sequence, n);
    asking_.push_back(sequence);
    head_turns_.push_back({&drafts.head, pages, n, &drafts.draft.tokens});
  }
  if (head_turns_.empty()) return;
  head_->propose(head_turns_);
  for (Sequence* const sequence : asking_) {
    SequenceDrafts& drafts = *sequence->drafts();
    sequence->cut_draft(drafts.draft.tokens);
    drafts.n_wanted = std::ssize(drafts.draft.tokens);
    drafts.chance.n_available = drafts.n_wanted;
  }
}

void Speculator::record(Sequence& sequence, int64_t n_drafted, int64_t n_accepted) {
  if (SequenceDrafts* const drafts = sequence.drafts().get(); drafts != nullptr) {
    drafts->length.record(drafts->chance, n_drafted, n_accepted);
    if (drafts->chance.source != DraftSource::head) return;
    stats_.n_drafted_by_head += n_drafted;
    stats_.n_accepted_of_head += n_accepted;
  }
}

void Speculator::record_step(const SpeculativeStats& step, double ms) {
  stats_.n_drafted += step.n_drafted;
  stats_.n_accepted += step.n_accepted;
  stats_.n_passes += step.n_passes;
  stats_.n_tokens += step.n_tokens;
  if (plain_.n_rows == 0) return;
  measured_ms_ += ms;
  plain_ms_ += costs_->cost().step_ms(plain_) / static_cast<double>(plain_.n_rows) *
               static_cast<double>(step.n_tokens);
}

SpeculativeStats Speculator::stats() const {
  SpeculativeStats stats = stats_;
  if (stats.n_drafted > 0 && measured_ms_ > 0) stats.speed_up = plain_ms_ / measured_ms_;
  return stats;
}

void Speculator::finished(const Sequence& sequence) {
  if (!sequence.params().speculative) return;
  const int64_t begin = std::max(sequence.n_prompt() - kPromptTail, sequence.media().end());
  history_.add(sequence.scope(), std::span(sequence.tokens()).subspan(static_cast<size_t>(begin)));
}

}  // namespace ruv
