#include "engine/speculate/acceptance_rates.h"

#include <algorithm>
#include <bit>

namespace ruv {
namespace {

// Lengths of match 1–2, 3–4, 5–8, 9–16, longer.
constexpr int64_t kLengthClasses = 5;
constexpr int64_t kModelClass = 2 * kLengthClasses;
constexpr int64_t kFormClass = kModelClass + 1;
constexpr int64_t kHeadClass = kFormClass + 1;

}  // namespace

DraftClass DraftClass::of(DraftSource source, int64_t n_matched) {
  if (source == DraftSource::model) return {kModelClass};
  if (source == DraftSource::form) return {kFormClass};
  if (source == DraftSource::head) return {kHeadClass};
  const auto n = static_cast<uint64_t>(std::max<int64_t>(2, n_matched) - 1);
  const int64_t length = std::min<int64_t>(std::bit_width(n) - 1, kLengthClasses - 1);
  return {source == DraftSource::history ? kLengthClasses + length : length};
}

// Positions 0, 1, 2, 3, 4–5, 6–9, 10–17, later ones.
int64_t AcceptanceRates::bin_of(int64_t position) {
  if (position < 4) return position;
  return std::min<int64_t>(2 + std::bit_width(static_cast<uint64_t>(position - 2)), kBins - 1);
}

// Guesses until something is seen: what was right for long is right a little longer.
double AcceptanceRates::belief(DraftClass kind, int64_t bin) {
  constexpr std::array<double, kLengthClasses> kFirst = {0.25, 0.4, 0.6, 0.8, 0.9};
  double first = kFirst[static_cast<size_t>(kind.index % kLengthClasses)];
  if (kind.index == kModelClass || kind.index == kHeadClass) first = 0.7;
  if (kind.index == kFormClass) first = 0.9;  // the text is certain, its tokens are not
  return 1 - (1 - first) / (1 + 0.5 * static_cast<double>(bin));
}

void AcceptanceRates::record(DraftClass kind, int64_t n_drafted, int64_t n_accepted) {
  auto& bins = seen_[static_cast<size_t>(kind.index)];
  // Also where nothing was drafted: a few misfortunes at a position must not bar it for good.
  for (Seen& seen : bins) seen = {seen.n * fading_, seen.right * fading_};
  for (int64_t position = 0; position < std::min(n_drafted, n_accepted + 1); ++position) {
    Seen& seen = bins[static_cast<size_t>(bin_of(position))];
    seen.n += 1;
    seen.right += position < n_accepted ? 1 : 0;
  }
}

AcceptanceRates::Rates AcceptanceRates::of(DraftClass kind) const {
  Rates rates;
  const double weight = prior_ != nullptr ? kPriorWeight : kBeliefWeight;
  if (prior_ != nullptr) {
    rates = prior_->of(kind);
  } else {
    for (int64_t bin = 0; bin < kBins; ++bin) rates.bin(bin) = belief(kind, bin);
  }
  for (int64_t bin = 0; bin < kBins; ++bin) {
    const Seen& seen = seen_[static_cast<size_t>(kind.index)][static_cast<size_t>(bin)];
    // Before anything is seen at a position, it is half believed to be as good as the one before.
    const double prior = bin == 0 ? rates.bin(0) : (rates.bin(bin) + rates.bin(bin - 1)) / 2;
    rates.bin(bin) = (seen.right + weight * prior) / (seen.n + weight);
  }
  return rates;
}

}  // namespace ruv
