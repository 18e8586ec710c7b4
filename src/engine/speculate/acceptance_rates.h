// AcceptanceRates: how often drafted tokens are right, by how the draft was found and by position
// in it, from what was seen lately. Older observations fade.
#pragma once

#include <array>
#include <cstdint>

#include "engine/speculate/drafter.h"

namespace ruv {

// Drafts that are about equally good: by source and length of match.
struct DraftClass {
  static constexpr int64_t kCount = 11;
  int64_t index = 0;

  static DraftClass of(DraftSource source, int64_t n_matched);
};

class AcceptanceRates {
 public:
  // `memory`: observations that count, about. `prior`: what is believed before them (it must
  // outlive this); null: fixed beliefs.
  explicit AcceptanceRates(double memory, const AcceptanceRates* prior = nullptr)
      : fading_(1 - 1 / memory), prior_(prior) {}

  // Of n_drafted tokens the first n_accepted were right.
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
  Rates of(DraftClass kind) const;
  // Observations of first tokens of this kind that still count.
  double n_seen(DraftClass kind) const { return seen_[static_cast<size_t>(kind.index)][0].n; }

 private:
  static constexpr int64_t kBins = 8;
  // Observations that what is believed before them is worth: a guess, or what others saw.
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
