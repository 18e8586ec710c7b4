// What tests of operations with running states share: a sequence is computed in parts, from states
// that earlier parts left, and must give the bytes of the whole.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/batch.h"

namespace ruv {

// Rows [first, first + n) of the sequence, from the state in frame `before`.
struct SequencePart {
  int64_t first = 0;
  int64_t n = 0;
  FrameId before = 0;
  std::vector<StateOut> after = {};
};

inline bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A `World` computes parts of one sequence: step(parts) gives all their results, one after the
// other; frame 0 has the state before the sequence, frames 1 to 3 are free.

// Chunks, with a state in the middle of each as drafts need it.
template <class World>
void expect_chunks_give_the_whole(World& world, int64_t n_tokens) {
  const std::vector<float> whole = world.step({{.n = n_tokens}});
  const auto n_cols = static_cast<int64_t>(whole.size()) / n_tokens;
  for (const int64_t chunk : {1, 2, 5, 11}) {
    std::vector<float> joined;
    FrameId before = 0;
    for (int64_t first = 0; first < n_tokens; first += chunk) {
      const int64_t n = std::min(chunk, n_tokens - first);
      const FrameId after = before == 1 ? 2 : 1;
      const std::vector<float> y = world.step({{first, n, before, {{n / 2, 3}, {n - 1, after}}}});
      joined.insert(joined.end(), y.begin(), y.end());
      const int64_t done = n / 2 + 1;
      if (done < n) {
        const std::vector<float> rest = world.step({{first + done, n - done, 3}});
        EXPECT_TRUE(same_bytes(rest, {y.begin() + done * n_cols, y.end()})) << "from the middle";
      }
      before = after;
    }
    EXPECT_TRUE(same_bytes(joined, whole)) << "chunks of " << chunk;
  }
}

// `together` has more threads than `alone`.
template <class World>
void expect_batches_and_threads_do_not_matter(World& alone, World& together, int64_t n_tokens) {
  const int64_t n_rest = n_tokens - 7;
  std::vector<float> expected = alone.step({{0, 7, 0, {{6, 1}}}});
  const std::vector<float> second = alone.step({{7, n_rest, 1}});
  expected.insert(expected.end(), second.begin(), second.end());
  together.step({{0, 7, 0, {{6, 1}}}});
  EXPECT_TRUE(same_bytes(together.step({{0, 7, 0}, {7, n_rest, 1}}), expected));
}

}  // namespace ruv
