#include "engine/speculate/draft_length.h"

#include <algorithm>

namespace ruv {

// What the step costs with n_drafted of the drafts, without making them.
double DraftLength::step_ms(const DraftChance& chance, int64_t n_drafted) const {
  return costs_->cost().step_ms(chance.step + StepShape::drafts(chance.n_tokens, n_drafted));
}

// As step_ms, but an upper bound where no step of that size was measured: the next larger size that
// was, or else the next smaller one with a plain step of one row more for each further row.
double DraftLength::most_ms(const DraftChance& chance, int64_t n_drafted) const {
  const auto has = [&](int64_t n) { return costs_->has_seen(chance.step.n_rows + n); };
  for (int64_t n = n_drafted; n <= chance.n_available; ++n) {
    if (has(n)) return std::max(step_ms(chance, n), step_ms(chance, n_drafted));
  }
  int64_t n = n_drafted;
  while (n > 0 && !has(n)) --n;
  const double row_ms = costs_->cost().step_ms(StepShape::of(chance.n_tokens, 1, 1));
  return step_ms(chance, n) + row_ms * static_cast<double>(n_drafted - n);
}

// What the step costs per token without these drafts. 0: not measured yet.
double DraftLength::plain_token_ms(const DraftChance& chance) const {
  return step_ms(chance, 0) / static_cast<double>(std::max<int64_t>(1, chance.n_sequences));
}

// What n drafts cost beyond the plain step, in plain tokens, if the step with them takes ms. More
// rows are never faster, whatever noise says.
double DraftLength::extra_tokens(const DraftChance& chance, int64_t n_drafted, double ms) const {
  const double rows_ms = std::max(0.0, ms - step_ms(chance, 0));
  const double drafts_ms = chance.draft_token_ms * static_cast<double>(n_drafted);
  return (rows_ms + drafts_ms) / plain_token_ms(chance);
}

// At most n_drafted; as many as the account bears when all are wrong.
int64_t DraftLength::affordable(const DraftChance& chance, int64_t n_drafted) const {
  const double bearable = kFreeTokens + kLossShare * static_cast<double>(n_tokens_) - loss_;
  const auto at_most = [&](int64_t n) { return extra_tokens(chance, n, most_ms(chance, n)); };
  while (n_drafted > 0 && at_most(n_drafted) > bearable) --n_drafted;
  return n_drafted;
}

// The length with the most tokens per millisecond; 0 when none beats plain by kMinGain.
int64_t DraftLength::best(const DraftChance& chance) const {
  const AcceptanceRates::Rates rates = own_.of(DraftClass::of(chance.source, chance.n_matched));
  const auto n_plain = static_cast<double>(std::max<int64_t>(1, chance.n_sequences));
  double best_speed = kMinGain * n_plain / step_ms(chance, 0);
  double n_expected = n_plain;
  double still_right = 1;
  int64_t best_length = 0;
  for (int64_t n = 1; n <= chance.n_available; ++n) {
    still_right *= rates.at(n - 1);
    n_expected += still_right;
    const double ms = step_ms(chance, n) + chance.draft_token_ms * static_cast<double>(n);
    if (n_expected / ms <= best_speed) continue;
    best_speed = n_expected / ms;
    best_length = n;
  }
  return best_length;
}

int64_t DraftLength::choose(const DraftChance& chance) const {
  if (chance.n_available < 1 || plain_token_ms(chance) <= 0) return 0;
  if (const int64_t length = best(chance); length > 0) return affordable(chance, length);
  const DraftClass kind = DraftClass::of(chance.source, chance.n_matched);
  if (!trial_due(kind, n_tokens_)) return 0;
  return affordable(chance, std::min(kTrialTokens, chance.n_available));
}

bool DraftLength::considers(const DraftChance& chance, int64_t n) const {
  if (plain_token_ms(chance) <= 0) return true;
  const DraftClass kind = DraftClass::of(chance.source, chance.n_matched);
  return best(chance) > 0 || trial_due(kind, n_tokens_ + n);
}

// Whether one is due at n_tokens tokens. A new sequence need not try at once what others
// have tried.
bool DraftLength::trial_due(DraftClass kind, int64_t n_tokens) const {
  const int64_t first = shared_->n_seen(kind) < kKnown ? 0 : 4 * kFirstWait;
  return n_tokens >= trials_[static_cast<size_t>(kind.index)].next.value_or(first);
}

void DraftLength::record(const DraftChance& chance, int64_t n_drafted, int64_t n_accepted) {
  n_tokens_ += 1 + n_accepted;
  if (n_drafted == 0) return;
  const DraftClass kind = DraftClass::of(chance.source, chance.n_matched);
  own_.record(kind, n_drafted, n_accepted);
  shared_->record(kind, n_drafted, n_accepted);
  if (plain_token_ms(chance) <= 0) return;
  const double lost =
      extra_tokens(chance, n_drafted, step_ms(chance, n_drafted)) - static_cast<double>(n_accepted);
  loss_ = std::max(loss_ + lost, -kMaxCredit);
  Trial& trial = trials_[static_cast<size_t>(kind.index)];
  const bool losing = lost >= 0 && best(chance) == 0;
  trial.wait = losing ? std::min(2 * trial.wait, kLongestWait) : kFirstWait;
  trial.next = n_tokens_ + trial.wait;
}

}  // namespace ruv
