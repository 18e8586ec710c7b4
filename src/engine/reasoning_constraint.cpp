#include "engine/reasoning_constraint.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr int kMaxGap = 2;

}  // namespace

ReasoningConstraint::ReasoningConstraint(ReasoningRegion region, std::vector<Token> ends,
                                         int64_t n_vocab, std::unique_ptr<TokenConstraint> answer)
    : region_(std::move(region)),
      ends_(std::move(ends)),
      n_vocab_(n_vocab),
      answer_(std::move(answer)),
      phase_(region_.is_open ? Phase::inside : Phase::start) {
  if (phase_ == Phase::start && region_.begin == -1) phase_ = Phase::answer;
}

std::unique_ptr<TokenConstraint> ReasoningConstraint::clone() const {
  auto made = std::make_unique<ReasoningConstraint>(
      region_, ends_, n_vocab_, answer_ == nullptr ? nullptr : answer_->clone());
  made->phase_ = phase_;
  made->n_inside_ = n_inside_;
  made->n_end_ = n_end_;
  made->is_cut_ = is_cut_;
  made->n_gap_ = n_gap_;
  return made;
}

bool ReasoningConstraint::done() const {
  if (phase_ == Phase::start || phase_ == Phase::inside) return false;
  return answer_ == nullptr || (phase_ == Phase::answer && answer_->done());
}

bool ReasoningConstraint::complete() const {
  return phase_ == Phase::answer && answer_ != nullptr && answer_->complete();
}

bool ReasoningConstraint::is_end(Token id) const {
  return std::ranges::find(ends_, id) != ends_.end();
}

bool ReasoningConstraint::is_gap(Token id) const {
  return n_gap_ < kMaxGap && std::ranges::find(region_.gap, id) != region_.gap.end();
}

// An end that the model has begun by itself counts when the limit is met.
bool ReasoningConstraint::must_end() const {
  return is_cut_ || (region_.max_tokens >= 0 && n_inside_ >= region_.max_tokens);
}

Status ReasoningConstraint::allow(TokenMask& mask) const {
  if (phase_ == Phase::inside) {
    if (must_end()) {
      mask.add(region_.end[n_end_]);
      return {};
    }
    for (Token id = 0; id < n_vocab_; ++id) mask.add(id);
    for (const Token id : ends_) mask.remove(id);
    return {};
  }
  if (phase_ == Phase::start && answer_ == nullptr) {
    for (Token id = 0; id < n_vocab_; ++id) mask.add(id);
    return {};
  }
  if (phase_ == Phase::start) mask.add(region_.begin);
  if (phase_ == Phase::gap && n_gap_ < kMaxGap) mask.add(region_.gap);
  return answer_->allow(mask);
}

bool ReasoningConstraint::allows(Token id) const {
  switch (phase_) {
    case Phase::inside:
      return must_end() ? id == region_.end[n_end_] : !is_end(id);
    case Phase::start:
      return id == region_.begin || answer_ == nullptr || answer_->allows(id);
    case Phase::gap:
      return is_gap(id) || answer_->allows(id);
    case Phase::answer:
      return answer_->allows(id);
  }
  return false;
}

std::string ReasoningConstraint::foreseen(size_t max_bytes) const {
  const bool is_answer = phase_ == Phase::answer && answer_ != nullptr;
  return is_answer ? answer_->foreseen(max_bytes) : std::string();
}

std::optional<std::string> ReasoningConstraint::ending(size_t max_bytes) const {
  if (phase_ != Phase::answer || answer_ == nullptr) return std::nullopt;
  return answer_->ending(max_bytes);
}

void ReasoningConstraint::accept(Token id) {
  if (phase_ == Phase::inside) return think(id);
  if (phase_ == Phase::start && id == region_.begin) {
    phase_ = Phase::inside;
    return;
  }
  if (phase_ == Phase::gap && is_gap(id)) {
    ++n_gap_;
    return;
  }
  phase_ = Phase::answer;
  if (answer_ != nullptr) answer_->accept(id);
}

// No end begins inside itself, so a token that breaks it off can only begin it anew.
void ReasoningConstraint::think(Token id) {
  is_cut_ = must_end();
  ++n_inside_;
  if (id != region_.end[n_end_]) n_end_ = 0;
  if (id == region_.end[n_end_]) ++n_end_;
  if (n_end_ == region_.end.size()) phase_ = Phase::gap;
}

}  // namespace ruv
