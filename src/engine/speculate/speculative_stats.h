// SpeculationMeter: counts drafts and measures their speed-up by comparing drafted steps with plain
// steps of as many sequences.
#pragma once

#include <array>
#include <cstddef>

#include "ruv/engine.h"

namespace ruv {

class SpeculationMeter {
 public:
  static constexpr int64_t kMaxSequences = 64;  // larger steps are counted, not compared

  // A step, without prompt chunks, in which n_sequences decoded.
  struct Step {
    int64_t n_sequences = 0;
    int64_t n_drafted = 0;
    int64_t n_accepted = 0;
    int64_t n_tokens = 0;  // generated
    double ms = 0;
  };
  // Adds a step; a plain one updates the reference for its number of sequences.
  void record(const Step& step);
  // Totals since the start, and the measured speed-up.
  SpeculativeStats stats() const;

 private:
  static constexpr double kFading = 0.98;  // contexts grow, so old plain steps count less

  struct Plain {
    double ms = 0;
    double n_tokens = 0;
  };
  std::array<Plain, kMaxSequences + 1> plain_{};
  SpeculativeStats stats_;
  // Over all steps since a plain step of as many sequences is known:
  double measured_ms_ = 0;
  double plain_ms_ = 0;  // what plain steps would have taken for their tokens
  bool any_drafts_ = false;
};

}  // namespace ruv
