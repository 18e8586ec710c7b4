// HiddenPool: makes a vector of the hidden states of a text's tokens, which arrive in any number of
// steps. Sums are of doubles in the order of the tokens, so that a vector has the same bytes
// wherever the steps cut the text.
#pragma once

#include <vector>

#include "base/range.h"
#include "device/view.h"
#include "ruv/pooling.h"

namespace ruv {

class HiddenPool {
 public:
  // For a text of n_tokens. Allocates all that it ever needs. Throws std::bad_alloc.
  HiddenPool(Pooling pooling, int64_t n_tokens, int64_t n_embd);

  // How many of the text's tokens in `tokens`, at the end of it, need their states computed.
  int64_t n_wanted(Range tokens) const;
  // Takes the states of the last n_wanted(tokens) of them. Requires: `tokens` begin where those of
  // the call before ended.
  void add(Range tokens, HostRows states);
  // Forgets all states: the text is computed again.
  void clear();
  // (n_embd) numbers; with Pooling::none (n_tokens, n_embd). Once, when all are there.
  std::vector<float> take();

 private:
  void add_row(int64_t token, const float* state);

  Pooling pooling_;
  int64_t n_tokens_;
  size_t n_embd_;
  std::vector<double> sum_;  // means: of states times weights
  std::vector<float> out_;
};

}  // namespace ruv
