// Attention over the pages of one chunk of keys, written once over a vector policy V and what a
// page stores, N. A tile keeps the sums of several query rows and several vectors of keys (or of
// values) in registers, so each loaded vector serves all rows; one number's order of operations is
// along d (or along the tokens) whatever tile holds it.
//
// N gives, for keys: KeyArgs, Sum, kKeyBytes (of one token in one step along d), kWords (words of
// keys in the same bytes), n_key_steps, first_score, key, query, add_score, score. For values:
// ValueArgs, Weight, kColumnBytes (of one column in one row of a page), kTokens (in a row), kAtOnce
// (tokens of one addition), kUnrolled (whether the rows of a page are), first_sum, add_values,
// value. kStepsAtOnce: steps along d in a round of the loop. For both: kDistance, the pages between
// the one read and the one asked for.
#pragma once

#include "kernels/generic/vectors.inc.h"

namespace ruv {
namespace {

// The page to ask for while page i is read, `distance` before its turn, or null.
RUV_INLINE const char* page_ahead(const PageRun& run, int64_t i, int64_t distance) {
  const int64_t at = i + distance;
  return at < run.n_pages + run.n_ahead ? reinterpret_cast<const char*>(run.pages[at]) : nullptr;
}

// Calls f with R = the rows of one block, n_rows cut into nearly equal blocks of at most kMax.
template <int kMax, class Function>
RUV_INLINE void for_row_blocks(int64_t n_rows, Function f) {
  const int64_t n_blocks = (n_rows + kMax - 1) / kMax;
  for (int64_t block = 0, r = 0; block < n_blocks; ++block) {
    const int64_t next = (block + 1) * n_rows / n_blocks;
    f(r, static_cast<int>(next - r));
    r = next;
  }
}

template <class V, class N>
struct Pages {
  using F = typename V::F;
  using Sum = typename N::Sum;
  using KeyArgs = typename N::KeyArgs;
  using ValueArgs = typename N::ValueArgs;
  static constexpr int L = V::kLanes;
  static constexpr int kParts = kPageTokens / L;
  static constexpr int kRows = V::kPageRows;
  static constexpr int kSums = V::kPageSums;

  // R rows against P pages. fetch: this block also asks for the pages ahead.
  template <int R, int P>
  static void score_block(const KeyArgs& a, int64_t r, int64_t page, bool fetch) {
    constexpr int C = P * kParts;
    constexpr int64_t kStepBytes = int64_t{kPageTokens} * N::kKeyBytes;
    Sum sums[R][C];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < C; ++c) sums[i][c] = N::first_score(a, r + i);
    }
    const std::byte* keys[P];
    const char* ahead[P];
    bool fetches = fetch;
    RUV_UNROLL
    for (int p = 0; p < P; ++p) {
      keys[p] = static_cast<const std::byte*>(a.keys.pages[page + p]);
      ahead[p] = page_ahead(a.keys, page + p, N::kDistance);
      fetches = fetches && ahead[p] != nullptr;
    }
    const auto* const q = a.q + r * a.q_stride;
    const int64_t n_steps = N::n_key_steps(a.head_dim);
    const auto add_step = [&](int64_t step) __attribute__((always_inline)) {
      if (fetches) {
        RUV_UNROLL
        for (int p = 0; p < P; ++p) __builtin_prefetch(ahead[p] + step * kStepBytes);
      }
      RUV_UNROLL
      for (int w = 0; w < N::kWords; ++w) {
        decltype(N::key(nullptr, 0)) key[C];
        RUV_UNROLL
        for (int c = 0; c < C; ++c) {
          const int part = c % kParts * L * N::kKeyBytes;
          key[c] = N::key(keys[c / kParts] + step * kStepBytes + part, w);
        }
        RUV_UNROLL
        for (int i = 0; i < R; ++i) {
          const auto x = N::query(q + i * a.q_stride, step * N::kWords + w);
          RUV_UNROLL
          for (int c = 0; c < C; ++c) sums[i][c] = N::add_score(sums[i][c], key[c], x);
        }
      }
    };
    int64_t step = 0;
    for (; step + N::kStepsAtOnce <= n_steps; step += N::kStepsAtOnce) {
      RUV_UNROLL
      for (int i = 0; i < N::kStepsAtOnce; ++i) add_step(step + i);
    }
    for (; step < n_steps; ++step) add_step(step);
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.scores + (r + i) * a.scores_stride + page * kPageTokens;
      RUV_UNROLL
      for (int c = 0; c < C; ++c) {
        V::store(to + c * L, N::score(a, r + i, page * kPageTokens + c * L, sums[i][c]));
      }
    }
  }

  template <int R>
  static void score_rows(const KeyArgs& a, int64_t r, int64_t page, int64_t end) {
    const auto pass = [&]<int P>() {
      if constexpr (R * P * kParts <= kSums) {
        for (; page + P <= end; page += P) score_block<R, P>(a, r, page, r == 0);
      }
    };
    pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
  }

  // Four pages stay in the first-level cache while all rows pass over them.
  static void scores(const KeyArgs& a) {
    for (int64_t page = 0; page < a.keys.n_pages; page += 4) {
      const int64_t end = a.keys.n_pages - page < 4 ? a.keys.n_pages : page + 4;
      for_row_blocks<kRows>(a.n_rows, [&](int64_t r, int n) {
        with_rows<kRows>(n, [&]<int R>() { score_rows<R>(a, r, page, end); });
      });
    }
  }

  // R rows, D vectors of the head from column `begin` on.
  template <int R, int D>
  static void value_block(const ValueArgs& a, int64_t r, int64_t begin) {
    Sum sums[R][D];
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      RUV_UNROLL
      for (int c = 0; c < D; ++c) sums[i][c] = N::first_sum();
    }
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const std::byte*>(a.values.pages[page]);
      const char* const ahead = r == 0 ? page_ahead(a.values, page, N::kDistance) : nullptr;
      const auto* const weights = a.weights + r * a.weights_stride + page * kPageTokens;
      const auto add_row = [&](int row) __attribute__((always_inline)) {
        const int64_t at = (row * a.head_dim + begin) * N::kColumnBytes;
        if (ahead != nullptr) {
          RUV_UNROLL
          for (int byte = 0; byte < D * L * N::kColumnBytes; byte += 64) {
            __builtin_prefetch(ahead + at + byte);
          }
        }
        add_tokens<R, D>(sums, values + at, weights + row * N::kTokens, a.weights_stride);
      };
      if constexpr (N::kUnrolled) {
        RUV_UNROLL
        for (int row = 0; row < kPageTokens / N::kTokens; ++row) add_row(row);
      } else {
        for (int row = 0; row < kPageTokens / N::kTokens; ++row) add_row(row);
      }
    }
    RUV_UNROLL
    for (int i = 0; i < R; ++i) {
      float* const to = a.out + (r + i) * a.out_stride + begin;
      RUV_UNROLL
      for (int c = 0; c < D; ++c) V::store(to + c * L, N::value(a, r + i, sums[i][c]));
    }
  }

  // The last head_dim mod kLanes columns of one row.
  static void value_edge(const ValueArgs& a, int64_t r, int64_t begin) {
    const int64_t n = a.head_dim - begin;
    Sum sums[1][1] = {{N::first_sum()}};
    for (int64_t page = 0; page < a.values.n_pages; ++page) {
      const auto* const values = static_cast<const std::byte*>(a.values.pages[page]);
      const auto* const weights = a.weights + r * a.weights_stride + page * kPageTokens;
      for (int row = 0; row < kPageTokens / N::kTokens; ++row) {
        const std::byte* const from = values + (row * a.head_dim + begin) * N::kColumnBytes;
        std::byte lanes[L * N::kColumnBytes] = {};
        for (int64_t i = 0; i < n * N::kColumnBytes; ++i) lanes[i] = from[i];
        add_tokens<1, 1>(sums, lanes, weights + row * N::kTokens, 0);
      }
    }
    Part<V>().store(a.out + r * a.out_stride + begin, N::value(a, r, sums[0][0]), n);
  }

  template <int R>
  static void value_rows(const ValueArgs& a, int64_t r, int64_t d) {
    const auto pass = [&]<int D>() {
      if constexpr (R * D <= kSums) {
        for (; d + D * L <= a.head_dim; d += D * L) value_block<R, D>(a, r, d);
      }
    };
    pass.template operator()<4>();
    pass.template operator()<2>();
    pass.template operator()<1>();
    for (int i = 0; i < R && d < a.head_dim; ++i) value_edge(a, r + i, d);
  }

  static void values(const ValueArgs& a) { values_from(a, 0); }

  // The columns from `begin` on.
  static void values_from(const ValueArgs& a, int64_t begin) {
    for_row_blocks<kRows>(a.n_rows, [&](int64_t r, int n) {
      with_rows<kRows>(n, [&]<int R>() { value_rows<R>(a, r, begin); });
    });
  }

 private:
  // f<n>(), n at least 1 and at most R.
  template <int R, class Function>
  RUV_INLINE static void with_rows(int n, Function f) {
    if constexpr (R > 1) {
      if (n < R) return with_rows<R - 1>(n, f);
    }
    f.template operator()<R>();
  }

  // Adds the tokens of one row of a page, those from `kFirst` on.
  template <int R, int D, int kFirst = 0>
  RUV_INLINE static void add_tokens(Sum (&sums)[R][D], const std::byte* row,
                                    const typename N::Weight* weights, int64_t stride) {
    if constexpr (kFirst < N::kTokens) {
      decltype(N::template values<kFirst>(nullptr)) value[D];
      RUV_UNROLL
      for (int c = 0; c < D; ++c) {
        value[c] = N::template values<kFirst>(row + c * L * N::kColumnBytes);
      }
      RUV_UNROLL
      for (int i = 0; i < R; ++i) {
        const auto x = N::weight(weights + i * stride + kFirst);
        RUV_UNROLL
        for (int c = 0; c < D; ++c) sums[i][c] = N::add_values(sums[i][c], value[c], x);
      }
      add_tokens<R, D, kFirst + N::kAtOnce>(sums, row, weights, stride);
    }
  }
};

// Pages of f16: keys (head_dim, kPageTokens), values (kPageTokens, head_dim).
template <class V>
struct HalfNumbers {
  using F = typename V::F;
  using Sum = F;
  using KeyArgs = ScoreArgs;
  using ValueArgs = ruv::ValueArgs;
  using Weight = float;
  static constexpr int64_t kDistance = 4;  // memory answers later than a page takes
  static constexpr int kKeyBytes = 2;
  static constexpr int kWords = 1;
  static constexpr int kStepsAtOnce = V::kFloatStepsAtOnce;
  static constexpr int kColumnBytes = 2;
  static constexpr int kTokens = 1;
  static constexpr int kAtOnce = 1;
  static constexpr bool kUnrolled = false;

  RUV_INLINE static int64_t n_key_steps(int64_t head_dim) { return head_dim; }
  RUV_INLINE static F first_score(const KeyArgs&, int64_t) { return V::zero(); }
  RUV_INLINE static F key(const std::byte* p, int) { return V::load_f16(p); }
  RUV_INLINE static F query(const float* q, int64_t d) { return V::set(q[d]); }
  RUV_INLINE static F add_score(F sum, F key, F x) { return V::fma(key, x, sum); }
  RUV_INLINE static F score(const KeyArgs& a, int64_t, int64_t, F sum) {
    return V::mul(sum, V::set(a.scale));
  }

  RUV_INLINE static F first_sum() { return V::zero(); }
  template <int>
  RUV_INLINE static F values(const std::byte* p) {
    return V::load_f16(p);
  }
  RUV_INLINE static F weight(const float* p) { return V::set(*p); }
  RUV_INLINE static F add_values(F sum, F value, F x) { return V::fma(value, x, sum); }
  RUV_INLINE static F value(const ValueArgs&, int64_t, F sum) { return sum; }
};

}  // namespace
}  // namespace ruv
