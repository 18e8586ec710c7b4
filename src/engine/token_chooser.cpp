#include "engine/token_chooser.h"

#include <algorithm>
#include <utility>

namespace ruv {

TokenChooser::TokenChooser(const GenerateParams& params, uint64_t seed, int64_t n_vocab)
    : n_logprobs_(params.n_logprobs), n_vocab_(n_vocab), sampler_(params, seed, n_vocab) {}

// The mask is allocated once, here, where running out of memory refuses the request.
void TokenChooser::constrain(std::unique_ptr<TokenConstraint> constraint) {
  constraint_ = std::move(constraint);
  mask_.emplace(n_vocab_);
}

bool TokenChooser::takes_likeliest() const {
  return sampler_.takes_likeliest() && !constrained() && n_logprobs_ < 0;
}

void TokenChooser::choose(std::span<float> logits, std::span<const Token> history,
                          int64_t n_generated) {
  std::vector<float> own;  // log-probabilities are of the logits before the sampler changes them
  if (n_logprobs_ >= 0) own.assign(logits.begin(), logits.end());
  if (constrained()) {
    mask_->clear();
    constraint_->allow(*mask_);
    mask_->apply(logits);
  }
  const Token id = sampler_.sample(logits, history, n_generated);
  std::optional<Event::Logprobs> logprobs;
  if (n_logprobs_ >= 0) logprobs = log_probabilities(own, id, n_logprobs_);
  choice_ = {id, std::move(logprobs)};
}

// The constraint advances with the token that is reported.
TokenChooser::Choice TokenChooser::take() {
  Choice choice = *std::exchange(choice_, std::nullopt);
  if (constrained()) constraint_->accept(choice.id);
  return choice;
}

// Each draft token is asked of a copy of the constraint, which then advances along the draft. That
// costs one mask per draft token; the row it saves costs a part of a forward pass.
void TokenChooser::cut(std::vector<Token>& draft) const {
  if (!constrained()) return;
  const std::unique_ptr<TokenConstraint> ahead = constraint_->clone();
  TokenMask mask(n_vocab_);
  const auto is_forbidden = [&](Token id) {
    if (ahead->done()) return false;
    mask.clear();
    ahead->allow(mask);
    if (!mask.has(id)) return true;
    ahead->accept(id);
    return false;
  };
  draft.erase(std::ranges::find_if(draft, is_forbidden), draft.end());
}

}  // namespace ruv
