// The snapshot is filled anew for each step: copying numbers of a few hundred sequences takes
// microseconds, and no later step can see a stale one.
#include "engine/schedule_input.h"

#include <algorithm>

#include "engine/speculator.h"

namespace ruv {
namespace {

// Waiting sequences whose prefixes are looked up and compared: the first ones. More would make
// planning a step slower than the step where thousands wait.
constexpr size_t kLookedUp = 64;

}  // namespace

ScheduleInput::ScheduleInput(const EngineOptions& options, const PagePool& pool,
                             PrefixCache& prefixes, TenantLedger& tenants, int64_t max_scored_rows)
    : pool_(&pool), prefixes_(&prefixes), tenants_(&tenants), max_scored_rows_(max_scored_rows) {
  snapshot_.limits.max_sequences = options.max_sequences;
  snapshot_.limits.max_batch_tokens = options.max_batch_tokens;
  snapshot_.limits.max_mixed_tokens = std::max<int64_t>(1, options.max_batch_tokens / 4);
  snapshot_.limits.low_watermark = options.kv.low_watermark;
  snapshot_.limits.high_watermark = options.kv.high_watermark;
  snapshot_.limits.page_tokens = kPageTokens;
}

const ScheduleSnapshot& ScheduleInput::take(const SequenceLists& lists, const StepCost& cost,
                                            bool admitting, int64_t now_ns) {
  snapshot_.n_pages = pool_->n_pages();
  snapshot_.n_free_pages = pool_->n_free();
  snapshot_.n_evictable_pages = pool_->n_evictable();
  snapshot_.admitting = admitting;
  snapshot_.cost = cost;
  snapshot_.tenants = tenants_->views(now_ns / 1'000'000);
  snapshot_.running.clear();
  snapshot_.waiting.clear();
  for (const auto& sequence : lists.running) {
    snapshot_.running.push_back(running_view(*sequence, now_ns));
  }
  for (const auto& sequence : lists.waiting) {
    snapshot_.waiting.push_back(waiting_view(*sequence, lists, now_ns));
  }
  return snapshot_;
}

// The scheduler leaves prompts out of a step now and then, to learn what the streams alone cost.
void ScheduleInput::computed(bool has_prompts, bool has_streams) {
  snapshot_.n_mixed_steps = has_prompts && has_streams ? snapshot_.n_mixed_steps + 1 : 0;
}

// The fields that running and waiting sequences share.
SequenceView ScheduleInput::view_of(const Sequence& sequence, int64_t now_ns) const {
  SequenceView view;
  view.n_tokens = sequence.n_tokens();
  view.whole = sequence.media().whole();
  if (sequence.wants_scores()) view.max_rows = max_scored_rows_;
  view.tenant = sequence.tenant();
  view.priority = sequence.terms().priority;
  view.waited_ms = sequence.waited_ms(now_ns);
  view.left_ms = sequence.left_ms(now_ns);
  return view;
}

// Pages that the sequence shares with the prefix tree alone count as its own: the tree can let them
// go once the sequence does.
SequenceView ScheduleInput::running_view(Sequence& sequence, int64_t now_ns) const {
  SequenceView view = view_of(sequence, now_ns);
  view.n_computed = sequence.n_computed();
  view.n_pages = sequence.pages().n_pages();
  view.n_own = std::ranges::count_if(sequence.pages().pages(), [&](PageId page) {
    return pool_->references(page) == (pool_->cached(page) ? 2 : 1);
  });
  if (!sequence.in_prompt()) view.n_drafts = Speculator::wanted(sequence);
  return view;
}

// A sequence beyond the first kLookedUp is planned as if nothing of it were cached; it is looked up
// when it comes near the front.
SequenceView ScheduleInput::waiting_view(Sequence& sequence, const SequenceLists& lists,
                                         int64_t now_ns) {
  SequenceView view = view_of(sequence, now_ns);
  if (snapshot_.waiting.size() < kLookedUp) {
    const CachedPrefix& cached = prefixes_->look_up(sequence);
    view.n_computed = cached.n_tokens;
    view.n_pages = cached.n_pages;
    view.n_pinned = cached.n_pinned;
    set_leader(sequence, lists, view);
  }
  return view;
}

// Compares with all running and the first waiting sequences; the longest common prefix wins. Done
// once, when the sequence arrives.
void ScheduleInput::find_leader(Sequence& sequence, const SequenceLists& lists) const {
  Leader& best = sequence.outlook().leader;
  if (!prefixes_->uses(sequence)) return;
  const auto compare = [&](const std::unique_ptr<Sequence>& other) {
    if (other->scope() != sequence.scope() || !prefixes_->uses(*other)) return;
    const int64_t n = sequence.n_shared(*other);
    if (n > best.n_tokens) best = {other->id(), n};
  };
  std::ranges::for_each(lists.running, compare);
  const auto n_compared = static_cast<int64_t>(std::min(lists.waiting.size(), kLookedUp));
  std::for_each(lists.waiting.begin(), lists.waiting.begin() + n_compared, compare);
}

// The leader may have ended, or computed the common prefix, since it was found.
void ScheduleInput::set_leader(const Sequence& sequence, const SequenceLists& lists,
                               SequenceView& view) {
  const Leader& leader = sequence.outlook().leader;
  if (leader.id == 0 || leader.n_tokens <= view.n_computed) return;
  const auto is_leader = [&](const auto& other) { return other->id() == leader.id; };
  const auto running = std::ranges::find_if(lists.running, is_leader);
  if (running != lists.running.end()) {
    if ((*running)->n_computed() >= leader.n_tokens) return;  // the tree has what it computed
    view.leader = running - lists.running.begin();
  } else {
    const auto waiting = std::ranges::find_if(lists.waiting, is_leader);
    if (waiting == lists.waiting.end()) return;
    view.leader = std::ssize(lists.running) + (waiting - lists.waiting.begin());
  }
  view.n_coming = leader.n_tokens - view.n_computed;
}

}  // namespace ruv
