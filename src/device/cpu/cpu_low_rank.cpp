// What adapters add to a product, in two turns of the threads however many adapters a small step
// has: all of A · x, then all of B · (A · x), by pieces of columns. A step of many rows has long
// products, and is left to what the operation means.
#include <algorithm>

#include "base/check.h"
#include "device/adapter_runs.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Numbers of B that make a piece of columns worth a thread's turn.
constexpr int64_t kNumbersOfPiece = 16 << 10;

}  // namespace

// False: the step is none of these.
bool CpuOps::list_low_rank(View out, View x, const Batch& batch, size_t product,
                           const LowRankScratch& scratch) {
  low_rank_items_.clear();
  low_rank_pieces_.clear();
  int64_t n_rows = 0;
  bool fits = out.n_cols <= scratch.outer.n_cols;
  for_adapter_runs(batch, [&](Range rows, AdapterMix mix) {
    const size_t first = low_rank_items_.size();
    for (const AdapterShare& share : mix) {
      const LowRank& added = share.adapter->products[product];
      if (added.empty()) continue;
      const int64_t n = rows.end - rows.begin;
      n_rows += n;
      if (!fits || n_rows > scratch.inner.n_rows) return;
      fits &= added.a.is_packed() && added.b.is_packed() && added.rank() <= scratch.inner.n_cols &&
              n * act_bytes(1, std::max(x.n_cols, added.rank())) <= row_scratch_[0].n_bytes();
      low_rank_items_.push_back({&added, added.scale * share.scale, rows, n_rows - n});
    }
    if (low_rank_items_.size() > first) add_low_rank_pieces(first);
  });
  return fits && n_rows <= scratch.inner.n_rows;
}

// Shares of one row are added in order, so they belong to one thread.
void CpuOps::add_low_rank_pieces(size_t first) {
  const bool is_one = low_rank_items_.size() == first + 1;
  const Weight& b = low_rank_items_.back().added->b;
  const int64_t n_pieces = 1 + b.n_out * b.n_in / kNumbersOfPiece;
  const int64_t most_pieces = 4 * pool_->n_threads();
  const int n = is_one ? static_cast<int>(std::min<int64_t>(n_pieces, most_pieces)) : 1;
  for (int i = 0; i < n; ++i) low_rank_pieces_.push_back({first, low_rank_items_.size(), i, n});
}

// out = weight · x, or a piece of its columns. Requires: row_scratch_ has room for x.
void CpuOps::multiply_here(View out, View x, const Weight& weight, Piece piece) {
  static const Vector kNoBias;
  const Buffer& act = row_scratch_[static_cast<size_t>(piece.thread)];
  ActFormats formats;
  formats.add(weight);
  for (int64_t r = 0; r < x.n_rows && !formats.none(); ++r) convert_row_of(x, r, formats, act);
  multiply({out, &weight, &kNoBias}, x, act, piece);
}

void CpuOps::add_low_rank(View out, View x, const Batch& batch, size_t product,
                          const LowRankScratch& scratch) {
  if (!list_low_rank(out, x, batch, product, scratch)) {
    return Ops::add_low_rank(out, x, batch, product, scratch);
  }
  add_listed_low_rank(out, x, scratch);
}

void CpuOps::add_listed_low_rank(View out, View x, const LowRankScratch& scratch) {
  const auto inner_of = [&](const LowRankItem& item) {
    const int64_t rank = item.added->rank();
    return View{scratch.inner.row(item.first_row), item.rows.end - item.rows.begin, rank};
  };
  const auto shrink = [&](int thread, const LowRankItem& item) {
    const View inner = inner_of(item);
    multiply_here(inner, x.rows(item.rows.begin, inner.n_rows), item.added->a, {thread, 0, 1});
    float* const to = row(inner, 0);
    for (int64_t i = 0; i < inner.n_rows * inner.n_cols; ++i) to[i] = item.scale * to[i];
  };
  const auto grow = [&](int thread, const LowRankPiece& piece) {
    for (size_t i = piece.first_item; i < piece.end_item; ++i) {
      const LowRankItem& item = low_rank_items_[i];
      const Weight& b = item.added->b;
      const View inner = inner_of(item);
      const View outer{scratch.outer.row(item.first_row), inner.n_rows, out.n_cols};
      multiply_here(outer, inner, b, {thread, piece.index, piece.n});
      const Range columns = columns_of(b, {thread, piece.index, piece.n});
      for (int64_t r = 0; r < inner.n_rows; ++r) {
        float* const to = row(out, item.rows.begin + r);
        const float* const from = row(outer, r);
        for (int64_t c = columns.begin; c < columns.end; ++c) to[c] += from[c];
        const LowRank& added = *item.added;
        if (!added.factors.empty()) scale_columns_of(to, added.factors, added.shifts, columns);
      }
    }
  };
  const auto all = [&](auto& list, auto&& f) {
    const int64_t n = std::ssize(list);
    const auto one = [&](int thread, int64_t i) { f(thread, list[static_cast<size_t>(i)]); };
    if (n > 1 && worth_threads(n * out.n_cols * x.n_rows)) return pool_->run_items(n, one);
    for (int64_t i = 0; i < n; ++i) one(0, i);
  };
  all(low_rank_items_, shrink);
  all(low_rank_pieces_, grow);
  low_rank_items_.clear();
  low_rank_pieces_.clear();
}

void CpuOps::find_adapted_rows(const ExpertAdapters& adapters, size_t n_experts) {
  adapted_rows_.clear();
  if (adapters.batch == nullptr) return;
  const auto adds = [&](const AdapterShare& share) {
    for (const size_t product : {adapters.gate, adapters.up, adapters.down}) {
      for (size_t e = 0; e < n_experts; ++e) {
        if (share.adapter->of_expert(product, e) != nullptr) return true;
      }
    }
    return false;
  };
  for_adapter_runs(*adapters.batch, [&](Range rows, AdapterMix mix) {
    if (std::ranges::any_of(mix, adds)) adapted_rows_.push_back({rows, mix});
  });
}

// The rows of an expert are ascending rows of the step, so those of neighbours are neighbours here,
// too. Few rows at a time are listed until the scratch is full, whichever experts they are of.
void CpuOps::add_low_rank_of(Range experts, View out, View x, int64_t first, size_t product,
                             const LowRankScratch& scratch) {
  CHECK(out.n_cols <= scratch.outer.n_cols);
  low_rank_items_.clear();
  low_rank_pieces_.clear();
  const int64_t room = scratch.inner.n_rows;
  int64_t n_listed = 0;
  const auto add = [&](size_t expert, Range rows, AdapterMix mix) {
    const int64_t n = rows.end - rows.begin;
    size_t first_item = low_rank_items_.size();
    for (const AdapterShare& share : mix) {
      const LowRank* const added = share.adapter->of_expert(product, expert);
      if (added == nullptr) continue;
      CHECK(added->rank() <= scratch.inner.n_cols);
      const int64_t act = act_bytes(1, std::max(x.n_cols, added->rank()));
      const bool is_long = n > room || n * act > row_scratch_[0].n_bytes();
      if (is_long || n_listed + n > room) {
        if (low_rank_items_.size() > first_item) add_low_rank_pieces(first_item);
        add_listed_low_rank(out, x, scratch);
        n_listed = 0;
        first_item = 0;
      }
      if (is_long) {
        add_one_low_rank(out.rows(rows.begin, n), x.rows(rows.begin, n), *added, share.scale,
                         scratch);
      } else {
        low_rank_items_.push_back({added, added->scale * share.scale, rows, n_listed});
        n_listed += n;
      }
    }
    if (low_rank_items_.size() > first_item) add_low_rank_pieces(first_item);
  };
  for (int64_t e = experts.begin; e < experts.end; ++e) {
    const auto expert = static_cast<size_t>(e);
    const auto begin = routed_.rows.begin() + routed_.begin[expert];
    const auto end = routed_.rows.begin() + routed_.begin[expert + 1];
    for (const AdaptedRows& adapted : adapted_rows_) {
      const auto from = std::lower_bound(begin, end, adapted.rows.begin);
      const auto to = std::lower_bound(from, end, adapted.rows.end);
      if (from == to) continue;
      const int64_t at = from - routed_.rows.begin() - first;
      add(expert, {at, at + (to - from)}, adapted.mix);
    }
  }
  add_listed_low_rank(out, x, scratch);
}

}  // namespace ruv
