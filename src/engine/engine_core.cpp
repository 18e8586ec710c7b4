#include "engine/engine_core.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
namespace {

// The number of waiting sequences, from the first, whose prefixes are looked up and compared.
constexpr size_t kLookedUp = 64;
// Tokens of finished answers kept for drafting.
constexpr int64_t kHistoryTokens = int64_t{1} << 18;

int64_t milliseconds_of(int64_t ns) { return ns / 1'000'000; }

}  // namespace

EngineCore::EngineCore(const Model& model, const EngineOptions& options, const Clock& clock,
                       EngineParts parts)
    : model_(&model),
      options_(options),
      clock_(&clock),
      executor_(std::move(parts.executor)),
      tails_(tails_for(executor_->pages(), options)),
      pool_(executor_->pages().n_pages(), tails_.get()),
      prefixes_(pool_, executor_->pages(), options.kv, std::move(parts.store)),
      tenants_(tenant_pages(options.kv)),
      speculator_(kHistoryTokens, parts.guess_seed, std::move(parts.draft_model)),
      choices_(options.max_sequences, model.h.n_vocab) {
  snapshot_.limits.max_sequences = options.max_sequences;
  snapshot_.limits.max_batch_tokens = options.max_batch_tokens;
  snapshot_.limits.max_mixed_tokens = std::max<int64_t>(1, options.max_batch_tokens / 4);
  snapshot_.limits.low_watermark = options.kv.low_watermark;
  snapshot_.limits.high_watermark = options.kv.high_watermark;
  snapshot_.limits.page_tokens = kPageTokens;
  const auto n_sequences = static_cast<size_t>(options.max_sequences);
  batch_.reserve(options.max_batch_tokens + kMaxDraftRows, options.max_sequences,
                 options.max_sequences + kMaxDraftRows);
  packed_.reserve(n_sequences);
  prompt_ids_.reserve(n_sequences);
}

int64_t EngineCore::tails_for_steps(const EngineOptions& options) {
  return TailSlots::enough_for(options.max_sequences, options.max_batch_tokens + kMaxDraftRows);
}

std::unique_ptr<TailSlots> EngineCore::tails_for(const KvPages& pages,
                                                 const EngineOptions& options) {
  if (!is_tiered(pages.shape().type)) return nullptr;
  CHECK(pages.tail().n_pages() >= std::min(pages.n_pages(), tails_for_steps(options)));
  return std::make_unique<TailSlots>(pages);
}

std::unique_ptr<Sequence> EngineCore::make_sequence(RequestId id, Request request) {
  return std::make_unique<Sequence>(id, std::move(request), *model_, pool_, options_.n_ctx,
                                    clock_->now_ns());
}

// Makes room for one more sequence in every list.
void EngineCore::make_places() {
  const size_t n = running_.size() + waiting_.size() + restoring_.size() + 1;
  for (Sequences* const list : {&running_, &waiting_, &restoring_, &started_}) {
    if (list->capacity() < n) list->reserve(2 * n);
  }
  if (planned_.capacity() < n) planned_.reserve(2 * n);
}

// Puts a sequence into the queue, or into restoring_ if part of its prefix must be read from disk.
void EngineCore::add(std::unique_ptr<Sequence> sequence) {
  find_leader(*sequence);
  try {
    make_places();
    sequence->set_tenant(tenants_.open(sequence->terms().tenant));
  } catch (const std::bad_alloc&) {
    sequence->run_out_of_memory(clock_->now_ns());
    return;
  }
  tenants_.queue(sequence->tenant(), milliseconds_of(clock_->now_ns()));
  if (prefixes_.begin_restore(*sequence)) {
    restoring_.push_back(std::move(sequence));
  } else {
    waiting_.push_back(std::move(sequence));
  }
}

// Sequences whose pages have been read join the queue.
void EngineCore::take_results() {
  prefixes_.poll([&](RequestId id) {
    const auto found =
        std::ranges::find_if(restoring_, [&](const auto& s) { return s->id() == id; });
    if (found == restoring_.end()) return;  // cancelled meanwhile
    waiting_.push_back(std::move(*found));
    restoring_.erase(found);
  });
}

int64_t EngineCore::ms_to_deadline() const {
  if (restoring_.empty()) return -1;
  const int64_t now_ns = clock_->now_ns();
  int64_t first_ms = -1;
  for (const auto& sequence : restoring_) {
    const int64_t left_ms = sequence->left_ms(now_ns);
    if (left_ms >= 0 && (first_ms < 0 || left_ms < first_ms)) first_ms = left_ms;
  }
  return first_ms;
}

// Sequences that are being restored are not in the plan, so their deadlines are checked here. What
// is read for them goes to the tree all the same.
void EngineCore::expire_restoring(int64_t now_ns) {
  std::erase_if(restoring_, [&](const auto& sequence) {
    if (sequence->left_ms(now_ns) != 0) return false;
    tenants_.leave_queue(sequence->tenant());
    end_late(*sequence);
    return true;
  });
}

// Ends a sequence whose deadline has passed; the caller erases it.
void EngineCore::end_late(Sequence& sequence) {
  try {
    const Status late(Code::deadline, "the request's time was over before its answer was complete");
    end(sequence, FinishReason::error, late);
  } catch (const std::bad_alloc&) {
    give_up(sequence);  // there was no room for the message, nothing else can throw
  }
}

// Ends a sequence from outside; its caller erases it.
void EngineCore::end(Sequence& sequence, FinishReason reason, const Status& status) {
  prefixes_.keep(sequence);
  sequence.finish(reason, status, clock_->now_ns());
  tenants_.close(sequence.tenant());
}

void EngineCore::cancel(std::span<const RequestId> ids) {
  const auto is_named = [&](const auto& sequence) {
    return std::ranges::find(ids, sequence->id()) != ids.end();
  };
  std::erase_if(running_, [&](const auto& sequence) {
    if (!is_named(sequence)) return false;
    end(*sequence, FinishReason::cancelled, {});
    return true;
  });
  const auto leave_queue = [&](const auto& sequence) {
    if (!is_named(sequence)) return false;
    tenants_.leave_queue(sequence->tenant());
    end(*sequence, FinishReason::cancelled, {});
    return true;
  };
  std::erase_if(waiting_, leave_queue);
  std::erase_if(restoring_, leave_queue);
}

// For shutdown.
void EngineCore::cancel_all() {
  for (const Sequences* const list : {&running_, &waiting_, &restoring_}) {
    while (!list->empty()) {
      const RequestId id = list->back()->id();
      cancel(std::span(&id, 1));
    }
  }
}

// Its caller erases it.
void EngineCore::give_up(Sequence& sequence) {
  prefixes_.keep(sequence);
  sequence.run_out_of_memory(clock_->now_ns());
  tenants_.close(sequence.tenant());
}

// Frees memory by ending the running sequence that started last, or else the last waiting one.
void EngineCore::give_up_youngest() {
  Sequences& list = running_.empty() ? waiting_ : running_;
  if (list.empty()) return;
  Sequence& youngest = *list.back();
  if (&list == &waiting_) tenants_.leave_queue(youngest.tenant());
  give_up(youngest);
  list.pop_back();
}

bool EngineCore::step(const StopFlag& stop) {
  try {
    return plan_and_compute(stop);
  } catch (const std::bad_alloc&) {
    give_up_youngest();
    return true;
  }
}

Status check_files(const Model& model, const EngineOptions& options) {
  const MappedFile* file = damaged_file(model);
  if (file == nullptr && options.draft_model != nullptr) file = damaged_file(*options.draft_model);
  if (file == nullptr) return {};
  const std::string& path = file->path();
  return fail(Code::internal,
              "{}: the file was cut, or could not be read, while it was in use; it must be made "
              "whole and the model loaded again",
              path.substr(path.find_last_of('/') + 1));
}

// If a file of the model was truncated or became unreadable, ends every request: the last step's
// results may come from zeros, so none of them is kept or reported.
bool EngineCore::files_are_lost() {
  const Status lost = check_files(*model_, options_);
  if (lost.ok()) return false;
  if (!std::exchange(told_of_loss_, true) && options_.kv.note) {
    const MappedFile* const own = damaged_file(*model_);
    const MappedFile& file = own != nullptr ? *own : *damaged_file(*options_.draft_model);
    options_.kv.note(file.check_read().message() + "; every request is refused until a restart");
  }
  for (const auto& sequence : running_) end(*sequence, FinishReason::error, lost);
  running_.clear();
  for (Sequences* const list : {&waiting_, &restoring_}) {
    for (const auto& sequence : *list) {
      tenants_.leave_queue(sequence->tenant());
      end(*sequence, FinishReason::error, lost);
    }
    list->clear();
  }
  return true;
}

// One step: intake of results, drafts, plan, batch, forward pass, tokens.
bool EngineCore::plan_and_compute(const StopFlag& stop) {
  if (files_are_lost()) return true;
  const int64_t start_ns = clock_->now_ns();
  take_results();
  expire_restoring(start_ns);
  take_snapshot(start_ns);
  schedule(snapshot_, plan_);
  apply(start_ns);
  if (packed_.empty()) return false;
  if (on_prompts) on_prompts(prompt_ids_);
  const int64_t run_ns = clock_->now_ns();
  const std::optional<StepOutput> output = executor_->run(batch_.batch(), stop);
  if (!output || files_are_lost()) return true;
  ++n_steps_;
  advance(output->logits, start_ns, run_ns);
  return true;
}

// Drafts for the sequences in planned_ that decode.
void EngineCore::guess() {
  try {
    speculator_.propose(planned_, kMaxDraftRows);
  } catch (const std::bad_alloc&) {
    for (Sequence* const sequence : planned_) sequence->drafts().reset();
  }
}

// Numbers for the scheduler. Leaders and cached prefixes are looked up for the first waiting
// sequences only.
void EngineCore::take_snapshot(int64_t now_ns) {
  snapshot_.n_pages = pool_.n_pages();
  snapshot_.n_free_pages = pool_.n_free();
  snapshot_.n_evictable_pages = pool_.n_evictable();
  snapshot_.admitting = plan_.admitting;
  snapshot_.cost = timer_.cost();
  snapshot_.tenants = tenants_.views(milliseconds_of(now_ns));
  snapshot_.running.clear();
  snapshot_.waiting.clear();
  planned_.clear();
  for (const auto& sequence : running_) {
    if (!sequence->in_prompt()) planned_.push_back(sequence.get());
  }
  guess();
  for (const auto& sequence : running_) {
    snapshot_.running.push_back(running_view(*sequence, now_ns));
  }
  for (const auto& sequence : waiting_) {
    snapshot_.waiting.push_back(waiting_view(*sequence, now_ns));
  }
}

// The fields that running and waiting sequences share.
SequenceView EngineCore::view_of(const Sequence& sequence, int64_t now_ns) {
  SequenceView view;
  view.n_tokens = sequence.n_tokens();
  view.tenant = sequence.tenant();
  view.priority = sequence.terms().priority;
  view.waited_ms = sequence.waited_ms(now_ns);
  view.left_ms = sequence.left_ms(now_ns);
  return view;
}

SequenceView EngineCore::running_view(Sequence& sequence, int64_t now_ns) {
  SequenceView view = view_of(sequence, now_ns);
  view.n_computed = sequence.n_computed();
  view.n_pages = sequence.pages().n_pages();
  view.n_own = std::ranges::count_if(sequence.pages().pages(), [&](PageId page) {
    return pool_.references(page) == (pool_.cached(page) ? 2 : 1);
  });
  if (!sequence.in_prompt()) view.n_drafts = Speculator::wanted(sequence);
  return view;
}

SequenceView EngineCore::waiting_view(Sequence& sequence, int64_t now_ns) {
  SequenceView view = view_of(sequence, now_ns);
  if (snapshot_.waiting.size() < kLookedUp) {
    const CachedPrefix& cached = prefixes_.look_up(sequence);
    view.n_computed = cached.n_tokens;
    view.n_pages = cached.n_pages;
    view.n_pinned = cached.n_pinned;
    set_leader(sequence, view);
  }
  return view;
}

// Looks for a leader among all running and the first waiting sequences; the longest common prefix
// wins.
void EngineCore::find_leader(Sequence& sequence) const {
  Leader& best = sequence.outlook().leader;
  if (!prefixes_.uses(sequence)) return;
  const auto compare = [&](const std::unique_ptr<Sequence>& other) {
    if (other->scope() != sequence.scope() || !prefixes_.uses(*other)) return;
    const auto n = std::mismatch(sequence.tokens().begin(), sequence.tokens().end(),
                                 other->tokens().begin(), other->tokens().end())
                       .first -
                   sequence.tokens().begin();
    if (n > best.n_tokens) best = {other->id(), n};
  };
  std::ranges::for_each(running_, compare);
  const auto n_compared = static_cast<int64_t>(std::min(waiting_.size(), kLookedUp));
  std::for_each(waiting_.begin(), waiting_.begin() + n_compared, compare);
}

void EngineCore::set_leader(const Sequence& sequence, SequenceView& view) const {
  const Leader& leader = sequence.outlook().leader;
  if (leader.id == 0 || leader.n_tokens <= view.n_computed) return;
  const auto is_leader = [&](const auto& other) { return other->id() == leader.id; };
  const auto running = std::ranges::find_if(running_, is_leader);
  if (running != running_.end()) {
    if ((*running)->n_computed() >= leader.n_tokens) return;  // it kept what it computed
    view.leader = running - running_.begin();
  } else {
    const auto waiting = std::ranges::find_if(waiting_, is_leader);
    if (waiting == waiting_.end()) return;
    view.leader = std::ssize(running_) + (waiting - waiting_.begin());
  }
  view.n_coming = leader.n_tokens - view.n_computed;
}

// The computed part goes to the prefix cache before the pages are released.
void EngineCore::preempt(std::unique_ptr<Sequence>& sequence, int64_t now_ns) {
  ++n_preemptions_;
  prefixes_.keep(*sequence);
  sequence->preempted();
  tenants_.queue(sequence->tenant(), milliseconds_of(now_ns));
  waiting_.insert(waiting_.begin(), std::move(sequence));
}

// Gives a sequence its cached prefix and charges its tenant.
void EngineCore::start(Sequence& sequence, int64_t now_ns) {
  const bool again = sequence.was_started();
  prefixes_.share(sequence, now_ns);
  tenants_.start(sequence.tenant(), again ? 0 : sequence.n_tokens() - sequence.n_cached(),
                 milliseconds_of(now_ns));
}

// Carries out the plan's decisions: expired requests end, preempted ones release their pages, and
// started ones take their cached prefix. The plan's indexes are those of the snapshot, so lists are
// shortened last.
void EngineCore::apply(int64_t now_ns) {
  planned_.clear();
  for (const auto& sequence : running_) {
    sequence->pages().trim_tails(sequence->n_computed());
    planned_.push_back(sequence.get());
  }
  for (const int64_t i : plan_.expire_waiting) {
    std::unique_ptr<Sequence>& sequence = waiting_[static_cast<size_t>(i)];
    tenants_.leave_queue(sequence->tenant());
    end_late(*sequence);
    sequence.reset();
  }
  started_.clear();
  for (const int64_t i : plan_.start) {
    started_.push_back(std::move(waiting_[static_cast<size_t>(i)]));
  }
  std::erase(waiting_, nullptr);
  for (const int64_t i : plan_.expire_running) {
    end_late(*running_[static_cast<size_t>(i)]);
    running_[static_cast<size_t>(i)].reset();
  }
  for (const int64_t i : plan_.preempt) preempt(running_[static_cast<size_t>(i)], now_ns);
  std::erase(running_, nullptr);
  for (auto& sequence : started_) {
    start(*sequence, now_ns);
    planned_.push_back(sequence.get());
    running_.push_back(std::move(sequence));
  }
  pack();
}

// Turns the plan into a batch: for each sequence its new tokens and its drafts.
void EngineCore::pack() {
  batch_.clear();
  packed_.clear();
  prompt_ids_.clear();
  for (const StepPlan::Rows& rows : plan_.rows) {
    Sequence* const sequence = planned_[static_cast<size_t>(rows.sequence)];
    if (sequence == nullptr) continue;
    try {
      pack_rows(*sequence, rows);
    } catch (const std::bad_alloc&) {
      give_up(*sequence);
    }
  }
  std::erase_if(running_, [](const auto& sequence) { return sequence->is_finished(); });
}

// Pages for n_tokens, evicting cached ones if needed.
bool EngineCore::reserve(Sequence& sequence, int64_t n_tokens) {
  return prefixes_.make_room(sequence.pages().missing_for(n_tokens)) &&
         sequence.pages().grow(n_tokens, executor_->pages());
}

// Skips rows for which there is no page after all; the next plan takes that into account. Throws
// with nothing packed.
void EngineCore::pack_rows(Sequence& sequence, const StepPlan::Rows& rows) {
  const int64_t first = sequence.n_computed();
  Packed packed{&sequence, std::min(rows.n_tokens, sequence.n_tokens() - first), 0, -1};
  const int64_t end = first + packed.n_tokens;
  if (!reserve(sequence, end)) return;
  if (end == sequence.n_tokens() && reserve(sequence, end + rows.n_drafts)) {
    packed.n_drafts = rows.n_drafts;
  }
  sequence.pages().pin_tails(first, end + packed.n_drafts);
  if (sequence.in_prompt()) prompt_ids_.push_back(sequence.id());
  batch_.begin_sequence(first, sequence.pages().pages());
  batch_.add(std::span(sequence.tokens())
                 .subspan(static_cast<size_t>(first), static_cast<size_t>(packed.n_tokens)));
  if (packed.n_drafts > 0) {
    batch_.add(
        std::span(sequence.drafts()->draft.tokens).first(static_cast<size_t>(packed.n_drafts)));
  }
  if (end == sequence.n_tokens()) packed.first_output = batch_.want_logits(1 + packed.n_drafts);
  packed_.push_back(packed);
}

// All threads choose the first token of each sequence; drafts are checked afterwards.
void EngineCore::choose(View logits) {
  choices_.clear();
  for (const Packed& packed : packed_) {
    if (packed.first_output < 0) continue;
    choices_.add(*packed.sequence,
                 {logits.row(packed.first_output), static_cast<size_t>(logits.n_cols)});
  }
  choices_.choose(*executor_);
}

// Takes the step's logits: counts what was computed, chooses tokens, reports events, and passes the
// measured time to the cost models.
void EngineCore::advance(View logits, int64_t start_ns, int64_t run_ns) {
  const int64_t now_ns = clock_->now_ns();
  choose(logits);
  SpeculationMeter::Step step;
  step.ms = static_cast<double>(now_ns - start_ns) * 1e-6;
  const double rows_ms = static_cast<double>(now_ns - run_ns) * 1e-6;
  bool has_prompts = false;
  StepShape shape;
  for (const Packed& packed : packed_) {
    Sequence& sequence = *packed.sequence;
    const bool in_prompt = sequence.in_prompt();
    sequence.computed(packed.n_tokens);
    has_prompts |= in_prompt;
    shape = shape + StepShape::of(sequence.n_computed() - packed.n_tokens,
                                  packed.n_tokens + packed.n_drafts);
    if (in_prompt) prefixes_.keep(sequence);
    if (packed.first_output < 0) continue;
    ++step.n_sequences;
    step.n_drafted += packed.n_drafts;
    const int64_t n_before = sequence.n_tokens();
    step.n_accepted += accept(packed, logits, now_ns);
    const int64_t n_new = sequence.n_tokens() - n_before;
    step.n_tokens += n_new;
    tenants_.generated(sequence.tenant(), n_new);
    if (sequence.is_finished()) tenants_.close(sequence.tenant());
  }
  timer_.add(shape, rows_ms);
  snapshot_.n_mixed_steps = has_prompts && step.n_sequences > 0 ? snapshot_.n_mixed_steps + 1 : 0;
  if (!has_prompts) speculator_.record_step(step, rows_ms);
  std::erase_if(running_, [](const auto& sequence) { return sequence->is_finished(); });
}

// Chooses tokens from the logits after the last known token and after each draft, until a choice
// differs from its draft. Returns the number of drafts accepted.
int64_t EngineCore::accept(const Packed& packed, View logits, int64_t now_ns) {
  Sequence& sequence = *packed.sequence;
  sequence.drafted(packed.n_drafts);
  int64_t n_accepted = 0;
  const auto take = [&] {
    const std::span<float> row(logits.row(packed.first_output + n_accepted),
                               static_cast<size_t>(logits.n_cols));
    const bool is_last = n_accepted == packed.n_drafts;
    const Token guess =
        is_last ? -1 : sequence.drafts()->draft.tokens[static_cast<size_t>(n_accepted)];
    const bool goes_on = sequence.advance(row, guess, now_ns);
    n_accepted += goes_on;
    if (sequence.is_finished()) return false;
    if (goes_on) sequence.computed(1);
    return goes_on;
  };
  try {
    if (sequence.choosing_failed()) sequence.run_out_of_memory(now_ns);
    while (!sequence.is_finished() && take()) {
    }
  } catch (const std::bad_alloc&) {
    sequence.run_out_of_memory(now_ns);
  }
  speculator_.record(sequence, packed.n_drafts, n_accepted);
  if (!sequence.is_finished()) return n_accepted;
  prefixes_.keep(sequence);
  try {
    speculator_.finished(sequence);
  } catch (const std::bad_alloc&) {
    return n_accepted;  // its answer helps no guess
  }
  return n_accepted;
}

Engine::Load EngineCore::load() const {
  return {.n_running = std::ssize(running_),
          .n_waiting = std::ssize(waiting_) + std::ssize(restoring_),
          .free_pages = pool_.n_free(),
          .total_pages = pool_.n_pages(),
          .n_steps = n_steps_};
}

KvCacheStats EngineCore::kv_stats() const {
  KvCacheStats stats;
  stats.type = executor_->pages().shape().type;
  stats.page_tokens = kPageTokens;
  stats.page_bytes = executor_->pages().shape().page_bytes();
  stats.memory_bytes = executor_->pages().n_bytes();
  stats.total_pages = pool_.n_pages();
  stats.free_pages = pool_.n_free();
  stats.preemptions = n_preemptions_;
  if (tails_ != nullptr) {
    stats.tail_pages = tails_->n_slots();
    stats.used_tail_pages = tails_->n_used();
    stats.demoted_pages = tails_->n_demoted();
  }
  prefixes_.fill(stats);
  return stats;
}

// Every page is accounted for: the pool's holders are the sequences, the tree and the disk.
bool EngineCore::consistent() const {
  if (tails_ != nullptr) {
    int64_t n_pinned = 0;
    for (const auto& sequence : running_) n_pinned += sequence->pages().n_pinned();
    if (n_pinned != tails_->n_pins() || !tails_->consistent()) return false;
  }
  return pool_.consistent() && prefixes_.tree().consistent();
}

}  // namespace ruv
