#include "engine/batch_engine.h"

#include <algorithm>

#include "base/check.h"
#include "ruv/options.h"

namespace ruv {

BatchEngine::BatchEngine(std::shared_ptr<const Model> model, const EngineOptions& options,
                         std::unique_ptr<Executor> executor)
    : model_(std::move(model)),
      options_(options),
      executor_(std::move(executor)),
      pool_(executor_->pages().n_pages()) {
  snapshot_.limits = {.max_sequences = options.max_sequences,
                      .max_batch_tokens = options.max_batch_tokens,
                      .max_mixed_tokens = std::max<int64_t>(1, options.max_batch_tokens / 4),
                      .page_tokens = kPageTokens};
  publish_load();
  thread_ = std::thread([this] { run(); });
}

BatchEngine::~BatchEngine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status BatchEngine::check(const Request& request) const {
  const auto n_prompt = static_cast<int64_t>(request.prompt.size());
  if (n_prompt == 0) return fail(Code::invalid, "prompt: empty; give at least one token");
  if (n_prompt + 1 > options_.n_ctx) {
    return fail(Code::invalid,
                "prompt: {} tokens and room for one more do not fit the context of {} tokens",
                n_prompt, options_.n_ctx);
  }
  if (request.n_fixed_tokens < 0) {
    return fail(Code::invalid, "n_fixed_tokens: {} is negative", request.n_fixed_tokens);
  }
  for (Token id : request.prompt) {
    if (id < 0 || id >= model_->h.n_vocab) {
      return fail(Code::invalid, "prompt: token id {} is not in the vocabulary of {}", id,
                  model_->h.n_vocab);
    }
  }
  return check_params(request.params, model_->n_usable_tokens());
}

HealedPrompt BatchEngine::healed(const Request& request) {
  const std::vector<Token>& prompt = request.prompt;
  if (!request.params.token_healing || model_->tokenizer == nullptr) return {prompt.size(), {}};
  const Tokenizer& tokenizer = *model_->tokenizer;
  // Embeddings may go on behind the vocabulary: nothing is known of such ids.
  const Token n_known = tokenizer.vocab_size();
  if (std::ranges::any_of(prompt, [&](Token id) { return id >= n_known; })) {
    return {prompt.size(), {}};
  }
  std::call_once(prefixes_once_,
                 [&] { prefixes_ = std::make_unique<const TokenPrefixes>(tokenizer); });
  return heal_prompt(tokenizer, *prefixes_, prompt, static_cast<size_t>(request.n_fixed_tokens));
}

Result<RequestId> BatchEngine::submit(Request request) {
  TRY(check(request));
  const HealedPrompt cut = healed(request);
  const std::lock_guard lock(mutex_);
  const auto n_waiting = load_.n_waiting + static_cast<int64_t>(arrived_.size());
  if (stopping_ || n_waiting >= options_.max_queue) {
    return fail(Code::unavailable, "the queue is full: {} requests wait; try again later",
                n_waiting);
  }
  const RequestId id = next_id_++;
  arrived_.push_back(std::make_unique<Sequence>(id, std::move(request), *model_, pool_,
                                                options_.n_ctx, clock_.now_ns()));
  if (!cut.prefix.empty()) arrived_.back()->heal(cut, *prefixes_);
  wake_.notify_one();
  return id;
}

void BatchEngine::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(id);
  wake_.notify_one();
}

Engine::Load BatchEngine::load() const {
  const std::lock_guard lock(mutex_);
  Load load = load_;
  load.n_waiting += static_cast<int64_t>(arrived_.size());
  return load;
}

void BatchEngine::run() {
  while (intake()) step();
}

bool BatchEngine::intake() {
  std::vector<RequestId> cancelled;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] {
      return stopping_ || !arrived_.empty() || !cancelled_.empty() || !running_.empty() ||
             !waiting_.empty();
    });
    for (std::unique_ptr<Sequence>& sequence : arrived_) waiting_.push_back(std::move(sequence));
    arrived_.clear();
    cancelled.swap(cancelled_);
    if (stopping_) {
      for (const auto& sequence : running_) cancelled.push_back(sequence->id());
      for (const auto& sequence : waiting_) cancelled.push_back(sequence->id());
    }
  }
  const auto drop = [&](const std::unique_ptr<Sequence>& sequence) {
    if (std::find(cancelled.begin(), cancelled.end(), sequence->id()) == cancelled.end())
      return false;
    sequence->finish(FinishReason::cancelled, {}, clock_.now_ns());
    return true;
  };
  if (!cancelled.empty()) {
    std::erase_if(running_, drop);
    std::erase_if(waiting_, drop);
  }
  publish_load();
  const std::lock_guard lock(mutex_);
  return !stopping_;
}

void BatchEngine::step() {
  const auto view = [](const std::unique_ptr<Sequence>& s) {
    const auto n_pages = static_cast<int64_t>(s->pages().pages().size());
    return SequenceView{.n_tokens = s->n_tokens(),
                        .n_computed = s->n_computed(),
                        .n_pages = n_pages,
                        .n_own = n_pages};
  };
  snapshot_.n_free_pages = pool_.n_free();
  snapshot_.running.clear();
  snapshot_.waiting.clear();
  std::transform(running_.begin(), running_.end(), std::back_inserter(snapshot_.running), view);
  std::transform(waiting_.begin(), waiting_.end(), std::back_inserter(snapshot_.waiting), view);
  schedule(snapshot_, plan_);
  apply(plan_);
  if (plan_.rows.empty()) return;
  pack(plan_);
  advance(plan_, executor_->run(batch_));
  ++n_steps_;
  publish_load();
}

void BatchEngine::apply(const StepPlan& plan) {
  for (int64_t index : plan.preempt) {  // youngest first, so indexes stay right
    std::unique_ptr<Sequence> sequence = std::move(running_[static_cast<size_t>(index)]);
    running_.erase(running_.begin() + index);
    sequence->preempted();
    waiting_.push_front(std::move(sequence));
  }
  for (size_t i = 0; i < plan.start.size(); ++i) {
    waiting_.front()->started(clock_.now_ns());
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void BatchEngine::pack(const StepPlan& plan) {
  batch_.clear();
  for (const StepPlan::Rows& rows : plan.rows) {
    Sequence& sequence = *running_[static_cast<size_t>(rows.sequence)];
    const int64_t first = sequence.n_computed();
    const bool grown = sequence.pages().grow(first + rows.n_tokens, executor_->pages());
    CHECK(grown);  // the plan counted the pages
    batch_.sequences.push_back({batch_.n_rows(), rows.n_tokens, first, sequence.pages().pages()});
    for (int64_t i = first; i < first + rows.n_tokens; ++i) {
      batch_.tokens.push_back(sequence.tokens()[static_cast<size_t>(i)]);
      batch_.positions.push_back(static_cast<int32_t>(i));
    }
    if (first + rows.n_tokens == sequence.n_tokens()) {
      batch_.output_rows.push_back(static_cast<int32_t>(batch_.n_rows() - 1));
    }
  }
}

void BatchEngine::advance(const StepPlan& plan, View logits) {
  const int64_t now_ns = clock_.now_ns();
  int64_t output = 0;
  for (const StepPlan::Rows& rows : plan.rows) {
    std::unique_ptr<Sequence>& sequence = running_[static_cast<size_t>(rows.sequence)];
    sequence->computed(rows.n_tokens);
    if (sequence->n_computed() < sequence->n_tokens()) continue;
    const std::span<float> row(logits.row(output++), static_cast<size_t>(logits.n_cols));
    if (sequence->advance(row, now_ns)) sequence.reset();
  }
  std::erase(running_, nullptr);
}

void BatchEngine::publish_load() {
  const std::lock_guard lock(mutex_);
  load_.n_running = static_cast<int64_t>(running_.size());
  load_.n_waiting = static_cast<int64_t>(waiting_.size());
  load_.free_pages = pool_.n_free();
  load_.total_pages = pool_.n_pages();
  load_.n_steps = n_steps_;
}

}  // namespace ruv
