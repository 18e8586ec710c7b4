#include "engine/sequence.h"

#include <algorithm>
#include <random>

#include "base/check.h"

namespace ruv {
namespace {

// 53 bits, so that the seed survives a trip through JSON.
uint64_t draw_seed() {
  std::random_device device;
  return ((static_cast<uint64_t>(device()) << 32) | device()) >> 11;
}

double milliseconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-6;
}

double per_second(int64_t n, double ms) { return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0; }

}  // namespace

Sequence::Sequence(RequestId id, Request request, const Model& model, PagePool& pool, int64_t n_ctx,
                   int64_t now_ns)
    : id_(id),
      params_(std::move(request.params)),
      on_event_(std::move(request.on_event)),
      model_(&model),
      n_ctx_(n_ctx),
      terms_(std::move(request.terms)),
      scope_(terms_.tenant + '\0' + terms_.cache_salt),
      tokens_(std::move(request.prompt)),
      n_prompt_(static_cast<int64_t>(tokens_.size())),
      answer_begin_(n_prompt_),
      pages_(pool),
      seed_(params_.seed ? *params_.seed : draw_seed()),
      sampler_(params_, seed_, model.n_usable_tokens()),
      stop_text_(params_.stop),
      submitted_ns_(now_ns) {
  if (model.tokenizer == nullptr) return;
  // An answer to a prompt without text begins the text, where some tokenizers drop a space.
  const bool after_text = std::any_of(tokens_.begin(), tokens_.end(), [&](Token token) {
    return token < model.n_usable_tokens() && !model.tokenizer->is_control(token);
  });
  detokenizer_.emplace(*model.tokenizer, false, after_text);
}

void Sequence::heal(const HealedPrompt& healed, const TokenPrefixes& prefixes) {
  // What the user has already: the same bytes will come again, perhaps in other tokens. A character
  // that they leave unfinished will come whole.
  Detokenizer detokenizer(*model_->tokenizer);
  for (size_t i = healed.n_kept; i < tokens_.size(); ++i) {
    n_skipped_ += detokenizer.push(tokens_[i]).size();
  }
  tokens_.resize(healed.n_kept);
  answer_begin_ = n_tokens();
  prefix_ = ForcedPrefix(prefixes, healed.prefix);
}

int64_t Sequence::n_tokens_left() const {
  const int64_t n_room = n_ctx_ - n_tokens();
  return params_.max_tokens < 0 ? n_room : std::min(n_room, params_.max_tokens - n_generated());
}

int64_t Sequence::waited_ms(int64_t now_ns) const {
  return ((first_token_ns_ != 0 ? first_token_ns_ : now_ns) - submitted_ns_) / 1'000'000;
}

int64_t Sequence::left_ms(int64_t now_ns) const {
  if (terms_.timeout_ms == 0) return -1;
  return std::max<int64_t>(0, terms_.timeout_ms - (now_ns - submitted_ns_) / 1'000'000);
}

void Sequence::started(int64_t now_ns, int64_t n_cached, CacheMiss miss) {
  n_computed_ = n_cached;
  if (started_ns_ != 0) return;  // again after a preemption: the answer tells of the first time
  started_ns_ = now_ns;
  n_cached_ = n_cached;
  cache_miss_ = miss;
}

void Sequence::preempted() {
  pages_.clear();
  n_computed_ = 0;
}

bool Sequence::ends_answer(Token id) const {
  if (std::find(params_.stop_tokens.begin(), params_.stop_tokens.end(), id) !=
      params_.stop_tokens.end()) {
    return true;
  }
  return !params_.ignore_eos && model_->tokenizer != nullptr && model_->tokenizer->ends_answer(id);
}

bool Sequence::wants_likeliest() const {
  return sampler_.takes_likeliest() && prefix_.done() && params_.n_logprobs < 0 &&
         params_.max_tokens != 0;
}

void Sequence::choose(std::span<float> logits) {
  if (params_.max_tokens == 0) return;
  logits = logits.first(static_cast<size_t>(model_->n_usable_tokens()));
  std::vector<float> own;  // log-probabilities are of the logits before the sampler changes them
  if (params_.n_logprobs >= 0) own.assign(logits.begin(), logits.end());
  if (!prefix_.done()) prefix_.mask(logits);
  const Token id = sampler_.sample(logits, tokens_, n_generated());
  std::optional<Event::Logprobs> logprobs;
  if (params_.n_logprobs >= 0) logprobs = log_probabilities(own, id, params_.n_logprobs);
  choice_ = {id, std::move(logprobs)};
}

bool Sequence::advance(std::span<float> logits, Token guess, int64_t now_ns) {
  if (first_token_ns_ == 0) first_token_ns_ = now_ns;
  if (params_.max_tokens == 0) {
    emit({}, FinishReason::length, now_ns);
    return false;
  }
  if (!choice_) choose(logits);
  const Token id = choice_->id;
  Event event;
  if (choice_->logprobs) event.logprobs.push_back(std::move(*choice_->logprobs));
  choice_.reset();
  n_accepted_ += id == guess;
  if (!prefix_.done()) {
    const size_t n_healed = prefix_.accept(id);
    if (n_healed == model_->tokenizer->token_bytes(id, false).size()) {
      reproduce(id, now_ns);
      return false;
    }
    event.n_healed_bytes = static_cast<int64_t>(n_healed);
  }
  if (ends_answer(id)) {
    emit({}, FinishReason::stop, now_ns);
    return id == guess;
  }
  tell(std::move(event), id, now_ns);
  return id == guess;
}

// A token of the answer.
void Sequence::tell(Event event, Token id, int64_t now_ns) {
  tokens_.push_back(id);
  event.ids.push_back(id);
  if (detokenizer_) event.text = stop_text_.push(new_text(detokenizer_->push(id)));
  FinishReason reason = FinishReason::none;
  if (stop_text_.stopped()) {
    reason = FinishReason::stop;
  } else if (n_generated() == params_.max_tokens || n_tokens() >= n_ctx_) {
    reason = FinishReason::length;
  }
  emit(std::move(event), reason, now_ns);
}

// A token that only says again what the prompt said.
void Sequence::reproduce(Token id, int64_t now_ns) {
  tokens_.push_back(id);
  answer_begin_ = n_tokens();
  const std::string text = new_text(detokenizer_->push(id));
  DCHECK(text.empty());
  if (n_tokens() == n_ctx_) emit({}, FinishReason::length, now_ns);
}

std::string Sequence::new_text(std::string text) {
  const size_t n = std::min(n_skipped_, text.size());
  n_skipped_ -= n;
  return text.erase(0, n);
}

void Sequence::finish(FinishReason reason, const Status& status, int64_t now_ns) {
  try {
    Event event;
    event.status = status;
    emit(std::move(event), reason, now_ns);
  } catch (const std::bad_alloc&) {
    run_out_of_memory(now_ns);
  }
}

void Sequence::run_out_of_memory(int64_t now_ns) {
  is_finished_ = true;
  Event event;
  event.finish = FinishReason::error;
  event.status = Status(Code::out_of_memory, "out of memory");  // fits the string's own bytes
  event.timings = timings(now_ns);
  event.seed = seed_;
  try {
    if (on_event_) on_event_(event);
  } catch (const std::bad_alloc&) {
    return;  // nobody is left to tell
  }
}

void Sequence::emit(Event event, FinishReason reason, int64_t now_ns) {
  event.finish = reason;
  is_finished_ = reason != FinishReason::none;
  if (is_finished_) {
    if (detokenizer_) {
      // An answer that ends inside the healed bytes has no text of its own.
      const std::string rest = n_skipped_ == 0 ? detokenizer_->finish() : std::string();
      event.text += stop_text_.push(rest) + stop_text_.finish();
    }
    event.timings = timings(now_ns);
    event.seed = seed_;
  }
  if (on_event_) on_event_(event);
}

Timings Sequence::timings(int64_t now_ns) const {
  Timings t;
  t.n_prompt_tokens = n_prompt_;
  t.n_generated_tokens = n_generated();
  t.n_cached_tokens = n_cached_;
  t.cache_miss = cache_miss_;
  t.n_drafted_tokens = n_drafted_;
  t.n_accepted_tokens = n_accepted_;
  const int64_t started = started_ns_ != 0 ? started_ns_ : now_ns;
  const int64_t first = first_token_ns_ != 0 ? first_token_ns_ : now_ns;
  t.queue_ms = milliseconds(submitted_ns_, started);
  t.prefill_ms = milliseconds(started, first);
  t.decode_ms = milliseconds(first, now_ns);
  t.prefill_tokens_per_s = per_second(n_prompt_ - n_cached_, t.prefill_ms);
  // The first token comes with the prefill.
  t.decode_tokens_per_s = per_second(t.n_generated_tokens - 1, t.decode_ms);
  if (t.n_generated_tokens < 2) t.decode_tokens_per_s = 0;
  return t;
}

}  // namespace ruv
