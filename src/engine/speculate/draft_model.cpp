#include "engine/speculate/draft_model.h"

#include <algorithm>

#include "base/check.h"
#include "engine/sample/sampler.h"

namespace ruv {
namespace {

Status check_limits(const DraftModelLimits& limits) {
  if (limits.n_ctx < 1 || limits.max_sequences < 1 || limits.n_pages < 0 ||
      limits.max_batch_tokens < limits.max_sequences) {
    return fail(Code::invalid,
                "draft model: n_ctx {}, max_sequences {}, n_pages {}, max_batch_tokens {}: give at "
                "least 1, 1, 0 and max_sequences",
                limits.n_ctx, limits.max_sequences, limits.n_pages, limits.max_batch_tokens);
  }
  return {};
}

}  // namespace

DraftTimeline::DraftTimeline(DraftModel& model) : text_(model.vocabularies_), pages_(model.pool_) {}

Token DraftTimeline::token(int64_t place) const {
  const auto index = static_cast<size_t>(place);
  const std::vector<Token>& text = text_.tokens();
  return index < text.size() ? text[index] : drafted_[index - text.size()];
}

Result<std::unique_ptr<DraftModel>> DraftModel::create(const Model& draft, const Model& target,
                                                       const DraftModelLimits& limits) {
  TRY(check_limits(limits));
  if (draft.cache_layout().state_bytes() > 0) {
    return fail(Code::unsupported,
                "draft model: '{}' keeps running states, which cannot go back to the first wrong "
                "draft; use a model whose layers are all attention",
                draft.family->name);
  }
  VocabularyPair vocabularies = TRY(VocabularyPair::create(
      target.tokenizer.get(), target.n_usable_tokens(), draft.tokenizer.get(), draft.h.n_vocab));
  DraftModelLimits complete = limits;
  if (draft.h.ends_with_context) {
    complete.n_ctx = std::min(complete.n_ctx, draft.h.n_ctx_train);
  }
  if (complete.n_pages == 0) complete.n_pages = pages_for(complete.n_ctx);
  std::unique_ptr<Executor> executor =
      TRY(Executor::create(draft, {.n_threads = complete.n_threads,
                                   .n_pages = complete.n_pages,
                                   .max_rows = complete.max_batch_tokens,
                                   .max_outputs = complete.max_sequences,
                                   .n_ctx = complete.n_ctx,
                                   .kv_type = complete.kv_type}));
  return std::unique_ptr<DraftModel>(
      new DraftModel(draft, complete, vocabularies, std::move(executor)));
}

DraftModel::DraftModel(const Model& draft, const DraftModelLimits& limits,
                       VocabularyPair vocabularies, std::unique_ptr<Executor> executor)
    : model_(&draft),
      limits_(limits),
      vocabularies_(vocabularies),
      executor_(std::move(executor)),
      pool_(limits.n_pages),
      costs_(draft.h.share_of_experts()) {}

void DraftModel::propose(std::span<const Turn> turns, const Clock& clock) {
  CHECK(static_cast<int64_t>(turns.size()) <= limits_.max_sequences);
  drafting_.clear();
  for (const Turn& turn : turns) {
    turn.out->clear();
    if (prepare(turn)) drafting_.push_back(&turn);
  }
  while (!drafting_.empty()) {
    pack();
    step(clock);
  }
  for (const Turn& turn : turns) {
    turn.timeline->text_.translate(turn.timeline->drafted_, *turn.out);
    if (static_cast<int64_t>(turn.out->size()) > turn.max_tokens) {
      turn.out->resize(static_cast<size_t>(turn.max_tokens));
    }
  }
}

// Takes the timeline back to what it shares with the sequence, and gets pages for the drafts.
bool DraftModel::prepare(const Turn& turn) {
  DraftTimeline& timeline = *turn.timeline;
  timeline.drafted_.clear();
  if (turn.max_tokens < 1 || !timeline.text_.update(turn.sequence)) return false;
  const std::vector<Token>& text = timeline.text_.tokens();
  const int64_t n_wanted = timeline.n_known() + turn.max_tokens;
  if (text.empty() || n_wanted > limits_.n_ctx) return false;
  std::vector<Token>& computed = timeline.computed_;
  const auto shared = std::ranges::mismatch(computed, text).in1;
  // The last token is computed again in place: its logits are where drafts begin.
  const auto n_shared = static_cast<size_t>(shared - computed.begin());
  computed.resize(std::min(n_shared, text.size() - 1));
  if (timeline.pages_.grow(n_wanted, executor_->pages())) return true;
  // Others need the pages more than a timeline that cannot draft.
  timeline.pages_.clear();
  computed.clear();
  return false;
}

// The rows of the next step: what the timelines have not read. A turn whose text is not read to its
// end in this step drafts in a later call.
void DraftModel::pack() {
  batch_.clear();
  shape_ = {};
  in_batch_.clear();
  for (const Turn* turn : drafting_) {
    DraftTimeline& timeline = *turn->timeline;
    const int64_t first = timeline.n_computed();
    const int64_t n_rows =
        std::min(timeline.n_known() - first, limits_.max_batch_tokens - batch_.n_rows());
    if (n_rows == 0) continue;
    batch_.begin_sequence(first, timeline.pages_.pages());
    for (int64_t place = first; place < first + n_rows; ++place) {
      batch_.add(timeline.token(place));
      timeline.computed_.push_back(timeline.token(place));
    }
    const bool is_read = timeline.n_computed() == timeline.n_known();
    shape_ = shape_ + StepShape::of(first, n_rows, is_read ? 1 : 0);
    if (!is_read) continue;
    batch_.want_logits();
    in_batch_.push_back(turn);
  }
}

void DraftModel::step(const Clock& clock) {
  const int64_t begin_ns = clock.now_ns();
  const HostRows logits = executor_->run(batch_.batch()).logits;
  costs_.add(shape_, static_cast<double>(clock.now_ns() - begin_ns) * 1e-6);
  drafting_.clear();
  const auto n_usable = static_cast<size_t>(model_->n_usable_tokens());
  for (size_t i = 0; i < in_batch_.size(); ++i) {
    const Turn* turn = in_batch_[i];
    const Token best = argmax({logits.row(static_cast<int64_t>(i)), n_usable});
    if (model_->tokenizer != nullptr && model_->tokenizer->ends_answer(best)) continue;
    std::vector<Token>& drafted = turn->timeline->drafted_;
    drafted.push_back(best);
    if (static_cast<int64_t>(drafted.size()) < turn->max_tokens) drafting_.push_back(turn);
  }
}

}  // namespace ruv
