#include "engine/engine_core.h"

#include <algorithm>

#include "base/allocation.h"
#include "base/check.h"

namespace ruv {
namespace {

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
      frames_(frames_of(executor_->pages())),
      pool_(executor_->pages().n_pages(), frames_),
      prefixes_(pool_, executor_->pages(), options.kv, clock, std::move(parts.store)),
      tenants_(tenant_pages(options.kv)),
      timer_(model.h.share_of_experts()),
      head_(model, *executor_, clock),
      speculator_(kHistoryTokens, parts.guess_seed, std::move(parts.draft_model), timer_, clock),
      input_(options, pool_, prefixes_, tenants_, kMaxDraftRows),
      packer_(prefixes_, executor_->pages(), options.max_batch_tokens + kMaxDraftRows,
              options.max_sequences, options.max_sequences + kMaxDraftRows),
      verifier_(*executor_, speculator_, clock, options.max_sequences + kMaxDraftRows,
                model.h.n_vocab) {
  if (head_.exists()) speculator_.use_head(head_);
}

int64_t EngineCore::draft_rows(const CacheLayout& layout) {
  constexpr int64_t kDraftStates = int64_t{256} << 20;
  const int64_t state_bytes = layout.state_bytes();
  return state_bytes == 0 ? kMaxDraftRows : std::min(kMaxDraftRows, kDraftStates / state_bytes);
}

FrameLimits EngineCore::frames_for_steps(const EngineOptions& options, const CacheLayout& layout) {
  return {.n_lists = options.max_sequences,
          .n_rows = options.max_batch_tokens + kMaxDraftRows,
          .n_drafts = draft_rows(layout)};
}

std::unique_ptr<Sequence> EngineCore::make_sequence(RequestId id, Request request) {
  return std::make_unique<Sequence>(id, std::move(request), *model_, pool_, options_.n_ctx,
                                    clock_->now_ns());
}

// Puts a sequence into the queue, or among those that are restored if part of its prefix must be
// read from disk.
void EngineCore::add(std::unique_ptr<Sequence> sequence) {
  input_.find_leader(*sequence, lists_);
  const bool has_room = try_allocating([&] {
    lists_.make_room();
    planned_.reserve(lists_.running.capacity());
    sequence->set_tenant(tenants_.open(sequence->terms().tenant));
  });
  if (!has_room) {
    sequence->run_out_of_memory(clock_->now_ns());
    return;
  }
  tenants_.queue(sequence->tenant(), milliseconds_of(clock_->now_ns()));
  if (prefixes_.begin_restore(*sequence)) {
    lists_.restoring.push_back(std::move(sequence));
  } else {
    lists_.waiting.push_back(std::move(sequence));
  }
}

// Sequences whose pages have been read join the queue.
void EngineCore::take_results() {
  prefixes_.poll([&](RequestId id) {
    const auto found =
        std::ranges::find_if(lists_.restoring, [&](const auto& s) { return s->id() == id; });
    if (found == lists_.restoring.end()) return;  // cancelled meanwhile
    lists_.waiting.push_back(std::move(*found));
    lists_.restoring.erase(found);
  });
}

int64_t EngineCore::ms_to_deadline() const {
  if (lists_.restoring.empty()) return -1;
  const int64_t now_ns = clock_->now_ns();
  int64_t first_ms = -1;
  for (const auto& sequence : lists_.restoring) {
    const int64_t left_ms = sequence->left_ms(now_ns);
    if (left_ms >= 0 && (first_ms < 0 || left_ms < first_ms)) first_ms = left_ms;
  }
  return first_ms;
}

// Sequences that are being restored are not in the plan, so their deadlines are checked here. What
// is read for them goes to the tree all the same.
void EngineCore::expire_restoring(int64_t now_ns) {
  std::erase_if(lists_.restoring, [&](const auto& sequence) {
    if (sequence->left_ms(now_ns) != 0) return false;
    tenants_.leave_queue(sequence->tenant());
    end_late(*sequence);
    return true;
  });
}

// Ends a sequence whose deadline has passed; the caller erases it.
void EngineCore::end_late(Sequence& sequence) {
  const auto end_with_message = [&] {
    const Status late(Code::deadline, "the request's time was over before its answer was complete");
    end(sequence, FinishReason::error, late);
  };
  // Only the message needs memory.
  if (!try_allocating(end_with_message)) give_up(sequence);
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
  std::erase_if(lists_.running, [&](const auto& sequence) {
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
  std::erase_if(lists_.waiting, leave_queue);
  std::erase_if(lists_.restoring, leave_queue);
}

// For shutdown.
void EngineCore::cancel_all() {
  for (const SequenceLists::List* const list :
       {&lists_.running, &lists_.waiting, &lists_.restoring}) {
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
  SequenceLists::List& list = lists_.running.empty() ? lists_.waiting : lists_.running;
  if (list.empty()) return;
  Sequence& youngest = *list.back();
  if (&list == &lists_.waiting) tenants_.leave_queue(youngest.tenant());
  give_up(youngest);
  list.pop_back();
}

bool EngineCore::step(const StopFlag& stop) {
  bool goes_on = true;
  if (!try_allocating([&] { goes_on = plan_and_compute(stop); })) give_up_youngest();
  return goes_on;
}

namespace {

Status check_device(const Model& model) {
  const Status status = model.device == nullptr ? Status() : model.device->failure();
  if (status.ok()) return {};
  return fail(Code::internal, "the device can compute no more: {}", status.message());
}

}  // namespace

Status check_usable(const Model& model, const EngineOptions& options) {
  TRY(check_device(model));
  if (options.draft_model != nullptr) TRY(check_device(*options.draft_model));
  const MappedFile* file = damaged_file(model);
  if (file == nullptr && options.draft_model != nullptr) file = damaged_file(*options.draft_model);
  if (file == nullptr) return {};
  const std::string& path = file->path();
  return fail(Code::internal,
              "{}: the file was cut, or could not be read, while it was in use; it must be made "
              "whole and the model loaded again",
              path.substr(path.find_last_of('/') + 1));
}

// If the device failed, or a file of the model was truncated or became unreadable, ends every
// request: the last step's results may come from zeros, so none of them is kept or reported.
bool EngineCore::model_is_lost() {
  const Status lost = check_usable(*model_, options_);
  if (lost.ok()) return false;
  if (!std::exchange(told_of_loss_, true) && options_.kv.note) {
    const MappedFile* file = damaged_file(*model_);
    if (file == nullptr && options_.draft_model != nullptr) {
      file = damaged_file(*options_.draft_model);
    }
    const Status whole = file == nullptr ? lost : file->check_read();  // with the file's folder
    options_.kv.note(whole.message() + "; every request is refused until a restart");
  }
  for (const auto& sequence : lists_.running) end(*sequence, FinishReason::error, lost);
  lists_.running.clear();
  for (SequenceLists::List* const list : {&lists_.waiting, &lists_.restoring}) {
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
  if (model_is_lost()) return true;
  const int64_t start_ns = clock_->now_ns();
  take_results();
  expire_restoring(start_ns);
  guess();
  schedule(input_.take(lists_, timer_.cost(), plan_.admitting, start_ns), plan_);
  apply(start_ns);
  if (packer_.rows().empty()) return false;
  if (on_prompts) on_prompts(packer_.prompts());
  const int64_t run_ns = clock_->now_ns();
  head_.forget();
  const std::optional<StepResult> output =
      executor_->run(packer_.batch(), stop, verifier_.begin(packer_.rows()));
  if (!output || model_is_lost()) return true;
  ++n_steps_;
  advance(*output, start_ns, run_ns);
  return true;
}

// Drafts for the sequences that decode. Where memory is out there are none.
void EngineCore::guess() {
  planned_.clear();
  int64_t n_rows = draft_rows(executor_->pages().layout());
  for (const auto& sequence : lists_.running) {
    if (!sequence->in_prompt()) planned_.push_back(sequence.get());
    // Drafts leave room for the logits of prompts that are scored.
    if (sequence->wants_scores()) n_rows = std::min(n_rows, kMaxDraftRows / 2);
  }
  if (try_allocating([&] { speculator_.propose(planned_, n_rows); })) return;
  for (Sequence* const sequence : planned_) sequence->drafts().reset();
}

// The computed part goes to the prefix cache before the pages are released.
void EngineCore::preempt(std::unique_ptr<Sequence>& sequence, int64_t now_ns) {
  ++n_preemptions_;
  prefixes_.keep(*sequence);
  sequence->preempted();
  tenants_.queue(sequence->tenant(), milliseconds_of(now_ns));
  lists_.waiting.insert(lists_.waiting.begin(), std::move(sequence));
}

// Answers whose contexts are full continue without part of them. They wait, first, until their
// pages are computed anew; what their prompts have in common with others is in the cache.
void EngineCore::shift_full_ones(int64_t now_ns) {
  for (std::unique_ptr<Sequence>& sequence : lists_.running) {
    if (!sequence->wants_shift()) continue;
    sequence->shift();
    tenants_.queue(sequence->tenant(), milliseconds_of(now_ns));
    lists_.waiting.insert(lists_.waiting.begin(), std::move(sequence));
  }
  std::erase(lists_.running, nullptr);
}

// Gives a sequence its cached prefix and charges its tenant.
void EngineCore::start(Sequence& sequence, int64_t now_ns) {
  const bool again = sequence.was_started();
  prefixes_.share(sequence, now_ns);
  tenants_.start(sequence.tenant(), again ? 0 : sequence.n_tokens() - sequence.n_cached(),
                 milliseconds_of(now_ns));
}

// Carries out the plan's decisions: expired requests end, preempted ones release their pages, and
// started ones take their cached prefix. Indexes of the plan are those of the snapshot, so
// sequences that leave a list are erased last.
void EngineCore::apply(int64_t now_ns) {
  planned_.clear();
  for (const auto& sequence : lists_.running) {
    sequence->pages().trim(sequence->n_computed());
    planned_.push_back(sequence.get());
  }
  for (const int64_t i : plan_.expire_waiting) {
    std::unique_ptr<Sequence>& sequence = lists_.waiting[static_cast<size_t>(i)];
    tenants_.leave_queue(sequence->tenant());
    end_late(*sequence);
    sequence.reset();
  }
  lists_.started.clear();
  for (const int64_t i : plan_.start) {
    lists_.started.push_back(std::move(lists_.waiting[static_cast<size_t>(i)]));
  }
  std::erase(lists_.waiting, nullptr);
  for (const int64_t i : plan_.expire_running) {
    end_late(*lists_.running[static_cast<size_t>(i)]);
    lists_.running[static_cast<size_t>(i)].reset();
  }
  for (const int64_t i : plan_.preempt) preempt(lists_.running[static_cast<size_t>(i)], now_ns);
  std::erase(lists_.running, nullptr);
  for (auto& sequence : lists_.started) {
    start(*sequence, now_ns);
    planned_.push_back(sequence.get());
    lists_.running.push_back(std::move(sequence));
  }
  pack();
}

// Packs the plan's rows. A sequence for which there is no memory ends; the others stay.
void EngineCore::pack() {
  packer_.clear();
  for (const StepPlan::Rows& rows : plan_.rows) {
    Sequence* const sequence = planned_[static_cast<size_t>(rows.sequence)];
    if (sequence == nullptr) continue;
    if (!try_allocating([&] { packer_.add(*sequence, rows); })) give_up(*sequence);
  }
  erase_finished();
}

void EngineCore::erase_finished() {
  std::erase_if(lists_.running, [](const auto& sequence) { return sequence->is_finished(); });
}

// Its prefix stays for others.
void EngineCore::report_hidden(Sequence& sequence, int64_t now_ns) {
  if (!try_allocating([&] { sequence.finish_hidden(now_ns); })) {
    sequence.run_out_of_memory(now_ns);
  }
  tenants_.close(sequence.tenant());
}

// The model's head, if there is one, reads the rows of the step that turned out right, of all
// prompts and of answers that it may draft for. So pages have its keys and values when others get
// them. Returns the milliseconds that it took.
double EngineCore::read_by_head() {
  if (!head_.exists()) return 0;
  StepShape plain;
  for (const PackedRows& packed : packer_.rows()) {
    const Sequence& sequence = *packed.sequence;
    if (packed.first_output < 0 || sequence.is_finished()) continue;
    plain = plain + StepShape::of(sequence.n_computed(), 1, 1);
  }
  double ms = 0;
  const auto read = [&] {
    head_.clear();
    for (size_t i = 0; i < packer_.rows().size(); ++i) {
      const PackedRows& packed = packer_.rows()[i];
      const BatchSequence& rows = packer_.batch().sequences[i];
      Sequence& sequence = *packed.sequence;
      // A row is read together with the token after it.
      const int64_t end = std::min(sequence.n_computed(), sequence.n_tokens() - 1);
      const int64_t first = rows.first_position;
      const bool has_pages = pages_for(end) <= sequence.pages().n_pages();
      if (!sequence.may_draft() || !sequence.media().empty() || end <= first || !has_pages)
        continue;
      const bool decides = packed.first_output >= 0;
      const HeadUse use = decides ? speculator_.head_use(sequence, plain) : HeadUse::reads;
      if (use == HeadUse::nothing && !packed.in_prompt) continue;
      head_.add(first, sequence.pages().pages(), rows.row_begin,
                std::span(sequence.tokens())
                    .subspan(static_cast<size_t>(first) + 1, static_cast<size_t>(end - first)),
                use == HeadUse::drafts ? &Speculator::head_of(sequence) : nullptr);
    }
    ms = head_.read();
  };
  if (!try_allocating(read)) head_.forget();
  return ms;
}

// Takes the step's results: counts what was computed, chooses tokens, reports events, and passes
// the measured time to the cost models.
void EngineCore::advance(const StepResult& result, int64_t start_ns, int64_t run_ns) {
  const int64_t now_ns = clock_->now_ns();
  verifier_.choose(packer_.rows(), result.logits);
  const auto ms_since = [&](int64_t ns) { return static_cast<double>(now_ns - ns) * 1e-6; };
  SpeculativeStats step;
  bool has_prompts = false;
  StepShape shape;
  for (const PackedRows& packed : packer_.rows()) {
    Sequence& sequence = *packed.sequence;
    const bool in_prompt = sequence.in_prompt();
    if (packed.n_hidden > 0) {
      sequence.add_hidden(packed.n_tokens, {result.hidden.row(packed.hidden_output),
                                            packed.n_hidden, result.hidden.n_cols});
    }
    sequence.computed(packed.n_tokens);
    has_prompts |= in_prompt || sequence.wants_hidden();
    shape = shape + StepShape::of(
                        sequence.n_computed() - packed.n_tokens, packed.n_tokens + packed.n_drafts,
                        packed.n_scored + (packed.first_output < 0 ? 0 : 1 + packed.n_drafts));
    if (packed.first_output < 0) sequence.pages().finish_step(sequence.n_computed());
    if (sequence.wants_hidden() && sequence.n_computed() == sequence.n_tokens()) {
      report_hidden(sequence, now_ns);
    }
    if (packed.first_output < 0) continue;
    ++step.n_passes;
    step.n_drafted += packed.n_drafts;
    const int64_t n_before = sequence.n_tokens();
    step.n_accepted += verifier_.accept(packed, now_ns);
    sequence.pages().finish_step(sequence.n_computed());
    const int64_t n_new = sequence.n_tokens() - n_before;
    step.n_tokens += n_new;
    tenants_.generated(sequence.tenant(), n_new);
    if (sequence.is_finished()) tenants_.close(sequence.tenant());
  }
  const double head_ms = read_by_head();
  for (const PackedRows& packed : packer_.rows()) {
    Sequence& sequence = *packed.sequence;
    if (packed.in_prompt || sequence.is_finished()) prefixes_.keep(sequence);
  }
  // Prompts wait for the head, whatever it is good for.
  timer_.add(shape, ms_since(run_ns) + (has_prompts ? head_ms : 0));
  input_.computed(has_prompts, step.n_passes > 0);
  if (!has_prompts) speculator_.record_step(step, ms_since(start_ns) + head_ms);
  erase_finished();
  shift_full_ones(now_ns);
}

Engine::Load EngineCore::load() const {
  return {.n_running = std::ssize(lists_.running),
          .n_waiting = lists_.n_waiting(),
          .free_pages = pool_.n_free(),
          .total_pages = pool_.n_pages(),
          .n_steps = n_steps_};
}

KvCacheStats EngineCore::kv_stats() const {
  KvCacheStats stats;
  stats.type = executor_->pages().layout().type();
  stats.page_tokens = kPageTokens;
  stats.page_bytes = executor_->pages().layout().page_bytes();
  stats.memory_bytes = executor_->pages().n_bytes();
  stats.total_pages = pool_.n_pages();
  stats.free_pages = pool_.n_free();
  stats.preemptions = n_preemptions_;
  for (const PageFrames& group : frames_) {
    if (group.reach().is_state()) continue;
    const bool is_window = group.reach().kind == KvReach::Kind::window;
    (is_window ? stats.window_pages : stats.tail_pages) += group.n_frames();
    (is_window ? stats.used_window_pages : stats.used_tail_pages) += group.n_used();
    (is_window ? stats.passed_pages : stats.demoted_pages) += group.n_evicted();
  }
  prefixes_.fill(stats);
  return stats;
}

// Every page is accounted for: the pool's holders are the sequences, the tree and the disk.
bool EngineCore::consistent() const {
  for (size_t group = 0; group < frames_.size(); ++group) {
    int64_t n_pinned = frames_[group].n_held();
    for (const auto& sequence : lists_.running) n_pinned += sequence->pages().n_pinned(group);
    if (n_pinned != frames_[group].n_pins() || !frames_[group].consistent()) return false;
  }
  return pool_.consistent() && prefixes_.tree().consistent();
}

}  // namespace ruv
