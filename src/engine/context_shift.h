// context_shift: which tokens leave a context that is full, so that an answer can continue. What
// stays is computed anew from where the gap begins, as a prompt of these tokens would be: the
// answer is that of a model that sees them alone, whatever the model's positions or states are. A
// shift costs the prefill of at least a quarter of the context and gives room for as much or more.
#pragma once

#include <cstdint>

namespace ruv {

// Places [begin, end) of a context leave it.
struct DroppedTokens {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

// After n_keep tokens, at most half of the n, half of the rest leaves. Requires: n >= 2, n_keep >=
// 0.
DroppedTokens dropped_tokens(int64_t n, int64_t n_keep);

}  // namespace ruv
