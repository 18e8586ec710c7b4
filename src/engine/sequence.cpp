#include "engine/sequence.h"

#include <algorithm>
#include <random>

#include "base/allocation.h"
#include "base/check.h"
#include "base/keyed_hash.h"
#include "cache/page_store.h"
#include "engine/context_shift.h"

namespace ruv {
namespace {

// Bytes that are asked for a token of a draft; long tokens leave room for fewer of them.
constexpr size_t kForcedBytes = 8;

// 53 bits, so that the seed survives a trip through JSON.
uint64_t draw_seed() {
  std::random_device device;
  return ((static_cast<uint64_t>(device()) << 32) | device()) >> 11;
}

// Neither name has a NUL, so scopes with and without adapters differ.
std::string scope_of(const ServiceTerms& terms, const HeldAdapters& adapters) {
  std::string scope = terms.tenant + '\0' + terms.cache_salt;
  if (!adapters.mix().empty()) scope += fmt::format("{}{:016x}", '\0', adapters.key());
  static_assert(2 * kMaxTermBytes + 18 <= kMaxScopeBytes);
  return scope;
}

// What is taken from the cache has neither states to be pooled nor logits.
GenerateParams params_of(Request& request) {
  GenerateParams params = std::move(request.params);
  const bool needs_all =
      request.output == RequestOutput::hidden && request.pooling != Pooling::last;
  params.cache_prefix &= !needs_all && params.n_prompt_logprobs < 0;
  return params;
}

std::unique_ptr<HiddenPool> pool_of(const Request& request, const Model& model) {
  if (request.output != RequestOutput::hidden) return nullptr;
  return std::make_unique<HiddenPool>(request.pooling, std::ssize(request.prompt), model.h.n_embd);
}

std::unique_ptr<PromptScores> scores_of(const Request& request, int32_t n_top) {
  if (request.output != RequestOutput::tokens || n_top < 0) return nullptr;
  return std::make_unique<PromptScores>(std::ssize(request.prompt), n_top);
}

// Placeholders decide nothing, so they all become one id that is no token.
std::vector<Token> without_placeholders(Request& request) {
  std::vector<Token> tokens = std::move(request.prompt);
  if (request.media == nullptr) return tokens;
  for (const MediaSpan& span : request.media->spans) {
    std::fill(tokens.begin() + span.rows.begin, tokens.begin() + span.rows.end, kNoToken);
  }
  return tokens;
}

// A source text is followed by the token that answers begin after.
std::vector<Token> tokens_of(Request& request, const Model& model) {
  std::vector<Token> tokens = without_placeholders(request);
  if (model.h.reads_source()) tokens.push_back(model.h.start_token);
  return tokens;
}

// What is kept of a source depends on all of it, so that its first cells do. Hashes of two sources
// are equal by a chance of 2^-126, and a caller that looks for such sources finds texts of its own.
// One token is its own hash.
std::array<PrefixCell, 2> cells_of_source(std::span<const Token> source) {
  constexpr HashKey kFirst = {0x736F757263653161, 1}, kSecond = {0x736F757263653162, 2};
  if (source.empty()) return {};
  if (source.size() == 1) return {PrefixCell::of_hash(static_cast<uint32_t>(source.front()))};
  const std::string_view all = as_text(std::as_bytes(source));
  return {PrefixCell::of_hash(keyed_hash(all, kFirst)),
          PrefixCell::of_hash(keyed_hash(all, kSecond))};
}

PromptMedia media_of(const Request& request, const std::vector<Token>& tokens, const Model& model) {
  if (model.h.reads_source()) return PromptMedia::whole_text(std::ssize(tokens) - 1);
  if (model.h.bidirectional) return PromptMedia::whole_text(std::ssize(tokens));
  return PromptMedia(request.media == nullptr ? std::vector<MediaSpan>() : request.media->spans);
}

}  // namespace

Sequence::Sequence(RequestId id, Request request, const Model& model, PagePool& pool, int64_t n_ctx,
                   int64_t now_ns)
    : id_(id),
      params_(params_of(request)),
      on_event_(std::move(request.on_event)),
      pool_(pool_of(request, model)),
      scores_(scores_of(request, params_.n_prompt_logprobs)),
      model_(&model),
      n_ctx_(n_ctx),
      terms_(std::move(request.terms)),
      adapters_(std::move(request.adapters).value_or(std::vector<AdapterUse>())),
      scope_(scope_of(terms_, adapters_)),
      tokens_(tokens_of(request, model)),
      n_source_(model.h.reads_source() ? std::ssize(tokens_) - 1 : 0),
      source_cells_(cells_of_source(std::span(tokens_).first(static_cast<size_t>(n_source_)))),
      media_(media_of(request, tokens_, model)),
      second_text_(request.second_text),
      n_prompt_(n_source_ > 0 ? n_source_ : std::ssize(tokens_)),
      answer_begin_(std::ssize(tokens_)),
      pages_(pool),
      seed_(params_.seed ? *params_.seed : draw_seed()),
      chooser_(params_, seed_, model.n_usable_tokens(), model.tokenizer.get()),
      text_(model.tokenizer.get(), answered(), StopText(params_.stop, params_.include_stop),
            params_.shown_tokens, IndentStop(params_.min_indent)),
      times_(now_ns) {}

// The answer begins after the healed bytes, not after the prompt's last token.
void Sequence::heal(const HealedPrompt& healed) {
  text_.heal(std::span(tokens_).subspan(healed.n_kept), healed.prefix.size());
  tokens_.resize(healed.n_kept);
  answer_begin_ = n_tokens();
}

void Sequence::make_cells(std::vector<PrefixCell>& cells) const {
  set_cells(tokens_, cells);
  media_.write_cells(cells);
  if (n_source_ == 0) return;
  const int64_t n = std::min<int64_t>(n_source_, std::ssize(source_cells_));
  std::copy_n(source_cells_.begin(), n, cells.begin());
}

int64_t Sequence::n_shared(const Sequence& other) const {
  if (n_source_ != other.n_source_) return 0;
  const auto differ = std::ranges::mismatch(tokens_, other.tokens_).in1;
  return media_.edge_before(media_.n_equal(other.media_, differ - tokens_.begin()));
}

// Positions of the answer are counted from the end of the source.
void Sequence::add_source_rows(int64_t n, BatchBuilder& batch) const {
  batch.set_source(n_source_);
  const std::span rows =
      std::span(tokens_).subspan(static_cast<size_t>(n_computed_), static_cast<size_t>(n));
  const int64_t n_of_source = std::clamp<int64_t>(n_source_ - n_computed_, 0, n);
  batch.add(rows.first(static_cast<size_t>(n_of_source)));
  if (n_of_source > 0) batch.see_each_other(n_of_source);
  batch.set_position(n_computed_ + n_of_source - n_source_);
  batch.add(rows.subspan(static_cast<size_t>(n_of_source)));
}

void Sequence::add_rows(int64_t n, BatchBuilder& batch) const {
  if (n_source_ > 0) return add_source_rows(n, batch);
  const auto part = [](auto& all, Range places) {
    return std::span(all).subspan(static_cast<size_t>(places.begin),
                                  static_cast<size_t>(places.end - places.begin));
  };
  const auto add_tokens = [&](Range places) {
    batch.set_position(media_.position_of(places.begin));
    const int64_t second =
        second_text_ == 0 ? places.end : std::clamp(second_text_, places.begin, places.end);
    batch.add(part(tokens_, {places.begin, second}));
    batch.set_token_type(second_text_ == 0 ? 0 : 1);
    batch.add(part(tokens_, {second, places.end}));
  };
  const auto add_embeddings = [&](const MediaSpan& span, Range places) {
    const Range rows = {places.begin - span.rows.begin, places.end - span.rows.begin};
    const View all = {span.embeddings.start, std::ssize(span.positions), model_->h.n_embd};
    batch.add_embeddings(all.rows(rows.begin, rows.end - rows.begin), part(span.positions, rows));
    if (span.whole) batch.see_each_other(rows.end - rows.begin);
  };
  media_.each_part({n_computed_, n_computed_ + n}, add_tokens, add_embeddings);
  if (model_->h.bidirectional) batch.see_each_other(n);
}

int64_t Sequence::n_tokens_left() const {
  const int64_t n_room = n_ctx_ - n_tokens();
  return params_.max_tokens < 0 ? n_room : std::min(n_room, params_.max_tokens - n_generated());
}

void Sequence::started(int64_t now_ns, int64_t n_cached, CacheMiss miss) {
  n_computed_ = n_cached;
  if (was_started()) return;  // again after a preemption: the answer tells of the first time
  times_.start(now_ns);
  n_cached_ = n_cached;
  cache_miss_ = miss;
}

void Sequence::preempted() {
  pages_.clear();
  n_computed_ = 0;
  if (pool_ != nullptr) pool_->clear();
}

// Drafts are about the tokens as they were.
void Sequence::shift() {
  const bool has_bos = model_->tokenizer != nullptr && !tokens_.empty() &&
                       model_->tokenizer->spec().bos == tokens_.front();
  const int64_t n_keep = params_.n_keep < 0 ? n_prompt_ : params_.n_keep + (has_bos ? 1 : 0);
  const DroppedTokens dropped = dropped_tokens(n_tokens(), n_keep);
  tokens_.erase(tokens_.begin() + dropped.begin, tokens_.begin() + dropped.end);
  answer_begin_ -= dropped.size();
  n_dropped_ += dropped.size();
  drafts_.reset();
  outlook_ = {};
  preempted();
}

// End tokens of the request and, unless ignore_eos, of the model.
bool Sequence::ends_answer(Token id) const {
  if (std::find(params_.stop_tokens.begin(), params_.stop_tokens.end(), id) !=
      params_.stop_tokens.end()) {
    return true;
  }
  return !params_.ignore_eos && model_->tokenizer != nullptr && model_->tokenizer->ends_answer(id);
}

void Sequence::draft_foreseen(int64_t n, std::vector<Token>& draft) const {
  draft.clear();
  if (!is_constrained() || model_->tokenizer == nullptr) return;
  const std::string text = chooser_.foreseen(static_cast<size_t>(n) * kForcedBytes);
  if (text.empty()) return;
  model_->tokenizer->encode(text, SpecialParsing::off, true, draft);
  draft.resize(std::min(draft.size(), static_cast<size_t>(n)));
  chooser_.cut(draft);
}

void Sequence::begin_step(int64_t n_drafts) {
  std::span<const Token> draft;
  if (n_drafts > 0) draft = std::span(drafts_->draft.tokens).first(static_cast<size_t>(n_drafts));
  chooser_.begin_step(draft);
}

void Sequence::score(int64_t i, std::span<const float> logits) {
  const int64_t place = n_computed_ + i;
  scores_->add(place, tokens_[static_cast<size_t>(place) + 1],
               logits.first(static_cast<size_t>(n_vocab())));
}

bool Sequence::wants_likeliest(int64_t row) const {
  return chooser_.takes_likeliest(row) && params_.max_tokens != 0;
}

// Drafted tokens that the prompt had are not part of the answer.
void Sequence::choose(int64_t row, std::span<float> logits, SampleScratch& scratch) {
  if (params_.max_tokens == 0) return;
  std::span<const Token> draft;
  if (row > 0) draft = std::span(drafts_->draft.tokens).first(static_cast<size_t>(row));
  // What the context still has of it.
  const int64_t n_answer = std::min<int64_t>(n_generated(), std::ssize(answered()));
  chooser_.choose(row, logits.first(static_cast<size_t>(n_vocab())),
                  {answered(), draft, n_answer + row - text_.n_healed(draft)}, scratch);
}

bool Sequence::advance(Token guess, int64_t now_ns) {
  times_.first_token(now_ns);
  if (params_.max_tokens == 0) {
    emit({}, FinishReason::length, now_ns);
    return false;
  }
  if (const Status failure = chooser_.failure(); !failure.ok()) {
    finish(FinishReason::error, failure, now_ns);
    return false;
  }
  TokenChooser::Choice choice = chooser_.take();
  const Token id = choice.id;
  n_accepted_ += id == guess;
  if (text_.n_healed({&id, 1}) > 0) {
    reproduce(id, now_ns);
  } else if (ends_answer(id)) {
    Event event;
    const bool is_asked = std::ranges::find(params_.stop_tokens, id) != params_.stop_tokens.end();
    if (is_asked) event.stop_token = id;
    emit(std::move(event), FinishReason::stop, now_ns);
  } else {
    Event event;
    if (choice.logprobs) event.logprobs.push_back(std::move(*choice.logprobs));
    tell(std::move(event), id, now_ns);
  }
  return id == guess;
}

// A token of the answer.
void Sequence::tell(Event event, Token id, int64_t now_ns) {
  tokens_.push_back(id);
  event.ids.push_back(id);
  event.n_healed_bytes = static_cast<int64_t>(text_.n_healed_bytes(id));
  text_.watch(n_generated() > params_.min_tokens);
  event.text = text_.push(id);
  FinishReason reason = FinishReason::none;
  if (chooser_.is_complete() && n_generated() < params_.min_tokens) {
    emit(std::move(event), reason, now_ns);
    const std::string why = fmt::format(
        "min_tokens: the answer's form is complete after {} tokens, and {} are asked for",
        n_generated(), params_.min_tokens);
    return finish(FinishReason::error, Status(Code::invalid, why), now_ns);
  }
  if (text_.stopped() || chooser_.is_complete()) {
    reason = FinishReason::stop;
    event.stop_text = text_.stop_found();
  } else if (text_.left_block() || has_taken_long(event.text, now_ns) ||
             n_generated() == params_.max_tokens || is_at_end()) {
    reason = FinishReason::length;
  }
  emit(std::move(event), reason, now_ns);
}

// An answer that may take max_predict_ms ends with the line that it has begun by then.
bool Sequence::has_taken_long(std::string_view text, int64_t now_ns) const {
  return params_.max_predict_ms > 0 && times_.decode_ms(now_ns) > params_.max_predict_ms &&
         text.find('\n') != std::string_view::npos;
}

// A token that only repeats what the prompt had.
void Sequence::reproduce(Token id, int64_t now_ns) {
  tokens_.push_back(id);
  answer_begin_ = n_tokens();
  const std::string text = text_.push(id);
  DCHECK(text.empty());
  if (is_at_end()) emit({}, FinishReason::length, now_ns);
}

void Sequence::finish_hidden(int64_t now_ns) {
  times_.first_token(now_ns);
  Event event;
  event.hidden = pool_->take();
  emit(std::move(event), FinishReason::stop, now_ns);
}

void Sequence::finish(FinishReason reason, const Status& status, int64_t now_ns) {
  const auto report = [&] {
    Event event;
    event.status = status;
    emit(std::move(event), reason, now_ns);
  };
  if (!try_allocating(report)) run_out_of_memory(now_ns);
}

void Sequence::run_out_of_memory(int64_t now_ns) {
  is_finished_ = true;
  Event event;
  event.finish = FinishReason::error;
  event.status = Status(Code::out_of_memory, "out of memory");  // fits the string's own bytes
  event.timings = timings(now_ns);
  event.seed = seed_;
  if (on_event_) (void)try_allocating([&] { on_event_(event); });
}

// The last event also carries timings, seed and status.
void Sequence::emit(Event event, FinishReason reason, int64_t now_ns) {
  event.finish = reason;
  if (scores_ != nullptr && scores_->complete()) {
    event.prompt_logprobs = scores_->take();
    scores_.reset();
  }
  is_finished_ = reason != FinishReason::none;
  if (is_finished_) {
    add_end(event, reason);
    event.timings = timings(now_ns);
    event.seed = seed_;
  }
  if (on_event_) on_event_(event);
}

// What was held back of the text, and what completes it where that is asked.
void Sequence::add_end(Event& event, FinishReason reason) {
  std::optional<std::string> missing;
  if (params_.repair && reason == FinishReason::length) {
    missing = chooser_.ending(kMaxRepairBytes);
    if (!missing) event.n_repair_bytes = -1;
  }
  if (!missing || missing->empty()) {
    event.text += text_.finish();
    return;
  }
  AnswerText::Completed end = text_.finish_with(*missing);
  event.text += end.text;
  event.n_repair_bytes = static_cast<int64_t>(end.n_added);
}

Timings Sequence::timings(int64_t now_ns) const {
  Timings t;
  t.n_prompt_tokens = n_prompt_;
  t.n_generated_tokens = n_generated();
  t.n_cached_tokens = n_cached_;
  t.n_dropped_tokens = n_dropped_;
  t.cache_miss = cache_miss_;
  t.n_drafted_tokens = n_drafted_;
  t.n_accepted_tokens = n_accepted_;
  times_.fill(t, now_ns);
  return t;
}

}  // namespace ruv
