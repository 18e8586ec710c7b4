#include "engine/batch_engine.h"

#include <algorithm>
#include <chrono>

#include "base/allocation.h"
#include "base/check.h"
#include "base/thread.h"
#include "base/token_ids.h"
#include "engine/encoder_text.h"
#include "engine/reasoning_constraint.h"
#include "grammar/form/form_constraint.h"
#include "ruv/options.h"

namespace ruv {
namespace {

constexpr int64_t kLongestWaitMs = 3'600'000;

// The tokens that end an answer.
std::vector<Token> end_tokens_of(const Model& model) {
  std::vector<Token> ends;
  if (model.tokenizer == nullptr) return ends;
  for (Token id = 0; id < model.tokenizer->vocab_size(); ++id) {
    if (model.tokenizer->ends_answer(id)) ends.push_back(id);
  }
  return ends;
}

}  // namespace

BatchEngine::BatchEngine(std::shared_ptr<const Model> model, const EngineOptions& options,
                         EngineParts parts, std::shared_ptr<const Clock> clock)
    : model_(std::move(model)),
      options_(options),
      clock_(std::move(clock)),
      forms_(model_),
      end_tokens_(end_tokens_of(*model_)),
      core_(*model_, options, *clock_, std::move(parts)) {
  in_prompt_.reserve(static_cast<size_t>(options.max_sequences));
  core_.on_prompts = [this](std::span<const RequestId> ids) {
    const Lock lock(mutex_);
    in_prompt_.assign(ids.begin(), ids.end());
    for (const RequestId id : cancelled_) {
      if (std::ranges::find(in_prompt_, id) != in_prompt_.end()) stop_step_ = true;
    }
  };
  core_.set_on_result([this] {
    const Lock lock(mutex_);
    wake_.notify_one();
  });
  publish();
  CHECK(start_thread(thread_, [this] { run(); }));
}

// Open requests end with `cancelled`; then the thread is joined.
BatchEngine::~BatchEngine() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    stop_step_ = true;
  }
  wake_.notify_one();
  thread_.join();
  core_.set_on_result({});  // the disk's thread may live a little longer than wake_
}

// Everything that submit() promises to refuse, checked on the caller's thread.
Status BatchEngine::check(const Request& request) const {
  TRY(check_encoder(request));
  TRY(check_length(request));
  if (request.n_fixed_tokens < 0) {
    return fail(Code::invalid, "n_fixed_tokens: {} is negative", request.n_fixed_tokens);
  }
  TRY(check_tokens(request.prompt, model_->h.n_vocab, "prompt"));
  TRY(check_encoder_text(*model_, request.prompt, request.second_text, "prompt"));
  TRY(check_media_of(request));
  for (const std::string* name : {&request.terms.tenant, &request.terms.cache_salt}) {
    if (name->size() <= kMaxTermBytes && name->find('\0') == name->npos) continue;
    return fail(Code::invalid, "tenant and salt have at most {} bytes, none of them NUL",
                kMaxTermBytes);
  }
  if (request.terms.timeout_ms < 0) {
    return fail(Code::invalid, "timeout_ms: {} is negative; 0 means no limit",
                request.terms.timeout_ms);
  }
  TRY(check_adapters(*request.adapters, *model_, options_.max_adapter_rank));
  if (request.form != nullptr && request.form->model != model_.get()) {
    return fail(Code::invalid, "form: made for another model");
  }
  if (request.params.repair && request.form == nullptr) {
    return fail(Code::invalid, "repair: the request asks for no form that could be completed");
  }
  if (!request.params.bad_words.empty() && model_->tokenizer == nullptr) {
    return fail(Code::unsupported, "bad_words: the model's file has no tokenizer to encode them");
  }
  if (request.reasoning) TRY(check_reasoning(*request.reasoning));
  TRY(check_scores(request));
  return check_params(request.params, model_->n_usable_tokens());
}

Status BatchEngine::check_encoder(const Request& request) const {
  if (model_->h.reads_source() && request.output != RequestOutput::tokens) {
    return fail(Code::unsupported,
                "the model answers a source text and gives no vectors; ask for an answer, or use a "
                "model of embeddings");
  }
  if (model_->h.reads_source() && request.params.token_healing) {
    return fail(Code::unsupported, "token_healing: an answer does not continue its source text");
  }
  if (model_->h.reads_source() && request.media != nullptr) {
    return fail(Code::unsupported, "media: the model reads text only");
  }
  if (request.params.context_shift && (model_->h.reads_source() || request.media != nullptr)) {
    return fail(Code::unsupported, "context_shift: not with {}",
                model_->h.reads_source() ? "a model that reads a source text" : "media");
  }
  if (!model_->h.encodes) return {};
  if (request.output == RequestOutput::tokens && !model_->h.bidirectional &&
      model_->h.n_layers > 0) {
    return fail(Code::unsupported,
                "the model's file has no tensor '{}': it has hidden states and writes no text; ask "
                "for embeddings, or use a model that writes",
                model_->file->shown_tensor("output.weight"));
  }
  if (request.output == RequestOutput::tokens) {
    return fail(Code::unsupported,
                "the model is an encoder: it has hidden states and writes no text; ask for "
                "embeddings, or use a model that writes");
  }
  if (request.media == nullptr) return {};
  return fail(Code::unsupported, "media: the model is an encoder of text");
}

Status BatchEngine::check_length(const Request& request) const {
  const int64_t n_prompt = std::ssize(request.prompt);
  if (n_prompt == 0) return fail(Code::invalid, "prompt: empty; give at least one token");
  const bool writes = request.output == RequestOutput::tokens;
  if (!writes && n_prompt > options_.n_ctx) {
    return fail(Code::invalid, "prompt: {} tokens do not fit the context of {} tokens", n_prompt,
                options_.n_ctx);
  }
  // Before the answer to a source there is a token that begins it.
  const int64_t n_more = model_->h.reads_source() ? 2 : 1;
  if (writes && n_prompt + n_more > options_.n_ctx) {
    return fail(Code::invalid,
                "prompt: {} tokens and room for {} more do not fit the context of {} tokens",
                n_prompt, n_more == 1 ? "one" : "two", options_.n_ctx);
  }
  const int64_t room = options_.max_batch_tokens - options_.max_sequences;
  const bool is_whole = model_->h.bidirectional || model_->h.reads_source();
  if (!is_whole || n_prompt <= room) return {};
  return fail(Code::invalid,
              "prompt: {} tokens; an encoder computes a text in one step, which has room for {}: "
              "raise max_batch_tokens",
              n_prompt, room);
}

Status BatchEngine::check_reasoning(const ReasoningRegion& region) const {
  if (region.end.empty()) return fail(Code::invalid, "reasoning: no token ends it");
  if (region.max_tokens < -1) {
    return fail(Code::invalid, "reasoning: max_tokens is {}; it must be -1, for no limit, or more",
                region.max_tokens);
  }
  if (region.begin != -1)
    TRY(check_tokens({&region.begin, 1}, model_->n_usable_tokens(), "reasoning"));
  TRY(check_tokens(region.end, model_->n_usable_tokens(), "reasoning"));
  return check_tokens(region.gap, model_->n_usable_tokens(), "reasoning");
}

Status BatchEngine::check_scores(const Request& request) const {
  if (request.params.n_prompt_logprobs < 0) return {};
  if (model_->h.reads_source()) {
    return fail(Code::unsupported,
                "prompt_logprobs: the model reads a source text and scores none");
  }
  if (request.media == nullptr) return {};
  return fail(Code::unsupported, "prompt_logprobs: not for prompts with media");
}

Status BatchEngine::check_media_of(const Request& request) const {
  if (request.media == nullptr) return {};
  if (request.media->model != model_.get()) {
    return fail(Code::invalid, "media: made for another model");
  }
  return check_media(request.media->spans,
                     {.n_prompt = std::ssize(request.prompt),
                      .n_embd = model_->h.n_embd,
                      .max_whole = options_.max_batch_tokens - options_.max_sequences});
}

Result<std::shared_ptr<const LoadedForm>> BatchEngine::load_form(const AnswerForm& form) {
  Result<std::shared_ptr<const LoadedForm>> made = nullptr;
  if (try_allocating([&] { made = forms_.load(form); })) return made;
  return tl::unexpected(Status(Code::out_of_memory, "out of memory"));
}

HealedPrompt BatchEngine::healed(const Request& request) {
  const std::vector<Token>& prompt = request.prompt;
  const bool writes = request.output == RequestOutput::tokens;
  const bool heals = writes && request.params.token_healing && !request.reasoning;
  if (!heals || model_->tokenizer == nullptr) return {prompt.size(), {}};
  const Tokenizer& tokenizer = *model_->tokenizer;
  // The embedding table may be larger than the vocabulary: nothing is known about such ids.
  const Token n_known = tokenizer.vocab_size();
  if (std::ranges::any_of(prompt, [&](Token id) { return id >= n_known; })) {
    return {prompt.size(), {}};
  }
  prefixes_once_.run([&] { prefixes_ = std::make_unique<const TokenPrefixes>(tokenizer); });
  const bool has_media = request.media != nullptr && !request.media->spans.empty();
  const int64_t n_fixed =
      std::max(request.n_fixed_tokens, has_media ? request.media->spans.back().rows.end : 0);
  return heal_prompt(tokenizer, *prefixes_, prompt, static_cast<size_t>(n_fixed));
}

Result<RequestId> BatchEngine::submit(Request request) {
  Result<RequestId> id = 0;
  if (try_allocating([&] { id = take(std::move(request)); })) return id;
  return tl::unexpected(Status(Code::out_of_memory, "out of memory"));  // needs no memory itself
}

// The sequence is built on the caller's thread, so the engine's thread only links it.
Result<RequestId> BatchEngine::take(Request request) {
  TRY(condition());
  if (!request.adapters) request.adapters = options_.adapters;
  TRY(check(request));
  const HealedPrompt cut = healed(request);
  std::unique_ptr<TokenConstraint> constraint;
  if (request.form != nullptr) {
    constraint = std::make_unique<FormConstraint>(request.form->form, cut.prefix);
  } else if (!cut.prefix.empty()) {
    constraint = std::make_unique<ForcedPrefix>(*prefixes_, cut.prefix);
  }
  if (request.reasoning) {
    constraint = std::make_unique<ReasoningConstraint>(
        *request.reasoning, end_tokens_, model_->n_usable_tokens(), std::move(constraint));
  }
  const Lock lock(mutex_);
  const auto n_waiting = load_.n_waiting + std::ssize(arrived_);
  if (stopping_ || n_waiting >= options_.max_queue) {
    ++n_refused_;
    return fail(Code::unavailable, "the queue is full: {} requests wait; try again later",
                n_waiting);
  }
  std::unique_ptr<Sequence> sequence = core_.make_sequence(next_id_, std::move(request));
  if (constraint) sequence->constrain(std::move(constraint));
  if (!cut.prefix.empty()) sequence->heal(cut);
  arrived_.push_back(std::move(sequence));
  wake_.notify_one();
  return next_id_++;
}

void BatchEngine::cancel(RequestId id) {
  const Lock lock(mutex_);
  // Without memory, the answer runs to its end.
  if (!try_allocating([&] { cancelled_.push_back(id); })) return;
  // A step with long prompts is aborted for it; the other prompts compute their part again.
  if (std::ranges::find(in_prompt_, id) != in_prompt_.end()) stop_step_ = true;
  wake_.notify_one();
}

Engine::Load BatchEngine::load() const {
  const Lock lock(mutex_);
  Load load = load_;
  load.n_waiting += std::ssize(arrived_);
  load.n_refused = n_refused_;
  return load;
}

KvCacheStats BatchEngine::kv_stats() const {
  const Lock lock(mutex_);
  return kv_stats_;
}

SpeculativeStats BatchEngine::speculative_stats() const {
  const Lock lock(mutex_);
  return speculative_stats_;
}

MaskTimes BatchEngine::mask_times() const {
  const Lock lock(mutex_);
  return mask_times_;
}

// Sleeps while there is nothing to do, until a request, a cancel, a disk result or a deadline.
void BatchEngine::run() {
  while (intake()) {
    core_.step(stop_step_);
    publish();
  }
  core_.cancel_all();
  publish();
}

// Takes new requests and cancels from the locked lists.
bool BatchEngine::intake() {
  std::vector<std::unique_ptr<Sequence>> arrived;
  std::vector<RequestId> cancelled;
  {
    Lock lock(mutex_);
    const auto woken = [&] {
      return stopping_ || !arrived_.empty() || !cancelled_.empty() || core_.has_work();
    };
    if (const int64_t left_ms = core_.ms_to_deadline(); left_ms < 0) {
      wake_.wait(lock, woken);
    } else {
      wake_.wait_for(lock, std::chrono::milliseconds(std::min(left_ms, kLongestWaitMs)), woken);
    }
    arrived.swap(arrived_);
    cancelled.swap(cancelled_);
    in_prompt_.clear();
    stop_step_ = stopping_;
    load_.n_waiting += std::ssize(arrived);
  }
  for (std::unique_ptr<Sequence>& sequence : arrived) core_.add(std::move(sequence));
  core_.cancel(cancelled);
  return !stop_step_;
}

void BatchEngine::publish() {
  const Load load = core_.load();
  const KvCacheStats kv_stats = core_.kv_stats();
  const SpeculativeStats speculative_stats = core_.speculative_stats();
  const Lock lock(mutex_);
  load_ = load;
  kv_stats_ = kv_stats;
  speculative_stats_ = speculative_stats;
  mask_times_ = core_.mask_times();
}

}  // namespace ruv
