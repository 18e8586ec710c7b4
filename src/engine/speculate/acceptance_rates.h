// AcceptanceRates: how often drafted tokens turn out right, by the way the draft was found and by
// position in it. Observations decay exponentially, so that rates follow the text.
#pragma once

#include <array>
#include <cstdint>

#include "engine/speculate/drafter.h"

namespace ruv {

// A class of drafts of similar quality: by source and length of match.
struct DraftClass {
  static constexpr int64_t kCount = 13;
  int64_t index = 0;

  static DraftClass of(DraftSource source, int64_t n_matched);
};

class AcceptanceRates {
 public:
  // `memory`: the number of recent observations that count, about; larger values are steadier and
  // follow changes more slowly. `prior`: rates assumed before there are observations (it must
  // outlive this object); null: fixed assumptions.
  explicit AcceptanceRates(double memory, const AcceptanceRates* prior = nullptr)
      : fading_(1 - 1 / memory), prior_(prior) {}

  // Records that the first n_accepted of n_drafted tokens were right.
  void record(DraftClass kind, int64_t n_drafted, int64_t n_accepted);
  // The chances that tokens of a draft are right.
  class Rates {
   public:
    // The chance that token `position` (from 0) is right when those before it are.
    double at(int64_t position) const { return rates_[static_cast<size_t>(bin_of(position))]; }

   private:
    friend class AcceptanceRates;
    double& bin(int64_t index) { return rates_[static_cast<size_t>(index)]; }
    std::array<double, 8> rates_{};
  };
  // The current rates of a class, mixed with the prior.
  Rates of(DraftClass kind) const;
  // Observations of first tokens of this kind that still count.
  double n_seen(DraftClass kind) const { return seen_[static_cast<size_t>(kind.index)][0].n; }

 private:
  static constexpr int64_t kBins = 8;
  // Pseudo-counts of the prior: of a fixed guess, and of the shared rates.
  static constexpr double kBeliefWeight = 3;
  static constexpr double kPriorWeight = 8;

  static int64_t bin_of(int64_t position);
  static double belief(DraftClass kind, int64_t bin);

  struct Seen {
    double n = 0;
    double right = 0;
  };
  double fading_;
  const AcceptanceRates* prior_;
  std::array<std::array<Seen, kBins>, DraftClass::kCount> seen_{};
};

}  // namespace ruv
