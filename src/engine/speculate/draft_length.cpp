#include "engine/speculate/draft_length.h"

#include <algorithm>

namespace ruv {

// What the step costs per token without these drafts. 0: not measured yet.
double DraftLength::plain_token_ms(const DraftChance& chance) const {
  return costs_->of(chance.n_rows) / static_cast<double>(std::max<int64_t>(1, chance.n_sequences));
}

// What n drafts cost beyond the plain step, in plain tokens, if the step with them takes ms. More
// rows are never faster, whatever noise says.
double DraftLength::extra_tokens(const DraftChance& chance, int64_t n_drafted, double ms) const {
  const double rows_ms = std::max(0.0, ms - costs_->of(chance.n_rows));
  const double drafts_ms = chance.draft_token_ms * static_cast<double>(n_drafted);
  return (rows_ms + drafts_ms) / plain_token_ms(chance);
}

// At most n_drafted; as many as the account bears when all are wrong.
int64_t DraftLength::affordable(const DraftChance& chance, int64_t n_drafted) const {
  const double bearable = kFreeTokens + kLossShare * static_cast<double>(n_tokens_) - loss_;
  const auto at_most = [&](int64_t n) {
    return extra_tokens(chance, n, costs_->at_most(chance.n_rows + n));
  };
  while (n_drafted > 0 && at_most(n_drafted) > bearable) --n_drafted;
  return n_drafted;
}

// The length with the most tokens per millisecond; 0 when none beats plain by kMinGain.
int64_t DraftLength::best(const DraftChance& chance) const {
  const AcceptanceRates::Rates rates = own_.of(DraftClass::of(chance.source, chance.n_matched));
  const auto n_plain = static_cast<double>(std::max<int64_t>(1, chance.n_sequences));
  const double plain_ms = costs_->of(chance.n_rows);
  double best_speed = kMinGain * n_plain / plain_ms;
  double n_expected = n_plain;
  double still_right = 1;
  int64_t best_length = 0;
  for (int64_t n = 1; n <= chance.n_available; ++n) {
    still_right *= rates.at(n - 1);
    n_expected += still_right;
    const double ms =
        costs_->of(chance.n_rows + n) + chance.draft_token_ms * static_cast<double>(n);
    if (n_expected / ms <= best_speed) continue;
    best_speed = n_expected / ms;
    best_length = n;
  }
  return best_length;
}

int64_t DraftLength::choose(const DraftChance& chance) const {
  if (chance.n_available < 1 || plain_token_ms(chance) <= 0) return 0;
  if (n_since_plain_ >= kMeasureEvery) return 0;
  if (const int64_t length = best(chance); length > 0) return affordable(chance, length);
  const DraftClass kind = DraftClass::of(chance.source, chance.n_matched);
  if (!trial_due(kind)) return 0;
  return affordable(chance, std::min(kTrialTokens, chance.n_available));
}

// A new sequence need not try at once what others have tried.
bool DraftLength::trial_due(DraftClass kind) const {
  const int64_t first = shared_->n_seen(kind) < kKnown ? 0 : 4 * kFirstWait;
  return n_tokens_ >= trials_[static_cast<size_t>(kind.index)].next.value_or(first);
}

void DraftLength::record(const DraftChance& chance, int64_t n_drafted, int64_t n_accepted) {
  n_tokens_ += 1 + n_accepted;
  n_since_plain_ = n_drafted == 0 ? 0 : n_since_plain_ + 1;
  if (n_drafted == 0) return;
  const DraftClass kind = DraftClass::of(chance.source, chance.n_matched);
  own_.record(kind, n_drafted, n_accepted);
  shared_->record(kind, n_drafted, n_accepted);
  if (plain_token_ms(chance) <= 0) return;
  const double lost = extra_tokens(chance, n_drafted, costs_->of(chance.n_rows + n_drafted)) -
                      static_cast<double>(n_accepted);
  loss_ = std::max(loss_ + lost, -kMaxCredit);
  Trial& trial = trials_[static_cast<size_t>(kind.index)];
  const bool losing = lost >= 0 && best(chance) == 0;
  trial.wait = losing ? std::min(2 * trial.wait, kLongestWait) : kFirstWait;
  trial.next = n_tokens_ + trial.wait;
}

}  // namespace ruv
