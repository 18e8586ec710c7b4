// Construction, the row-wise operations and the positions of CpuOps.
#include "device/cpu/cpu_ops.h"

#include <cstring>

#include "base/check.h"
#include "base/elementary.h"
#include "device/cpu/cpu_attend.h"
#include "device/cpu/cpu_choose.h"
#include "device/cpu/store_token.h"

namespace ruv {

CpuOps::CpuOps(const Kernels& kernels, WorkerPool& pool, KvPages& pages, const OpsLimits& limits)
    : kernels_(&kernels),
      pool_(&pool),
      device_(&static_cast<const CpuDevice&>(pages.device())),
      pages_(&pages),
      limits_(limits),
      f32_gemm_(find_gemm(kernels, DType::f32)),
      watcher_(device_->watcher()) {}

Result<std::unique_ptr<CpuOps>> CpuOps::create(const Kernels& kernels, WorkerPool& pool,
                                               KvPages& pages, const OpsLimits& limits) {
  CHECK(limits.max_head_dim <= kMaxHeadDim);
  std::unique_ptr<CpuOps> ops(new CpuOps(kernels, pool, pages, limits));
  ops->quantized_ = TRY(Buffer::allocate(act_bytes(limits.max_rows, limits.max_k)));
  if (limits.max_experts > 0) {
    ops->choices_ = TRY(Buffer::allocate(act_bytes(limits.max_rows, limits.max_k)));
  }
  const int mr = ops->f32_gemm_->mr;
  for (int i = 0; i < pool.n_threads(); ++i) {
    ops->row_scratch_.push_back(
        TRY(Buffer::allocate(act_bytes(kRowsQuantizedByEach, limits.max_k))));
    // Touched only by formats without a kernel; the system commits it then.
    ops->plain_scratch_.push_back(TRY(Buffer::allocate(mr * limits.max_k * int64_t{sizeof(float)} +
                                                       ops->f32_gemm_->group_bytes(limits.max_k))));
    ops->state_scratch_.push_back(
        TRY(Buffer::allocate(state_scratch_numbers(limits) * int64_t{sizeof(float)})));
  }
  const auto n_routes = static_cast<size_t>(limits.max_rows * limits.max_chosen);
  ops->routed_.begin.resize(static_cast<size_t>(limits.max_experts) + 1);
  ops->routed_.rows.resize(n_routes);
  ops->routed_.weights.resize(n_routes);
  ops->expert_products_.reserve(static_cast<size_t>(2 * limits.max_experts));
  ops->attend_ = TRY(CpuAttend::create(kernels, pool, pages,
                                       {.max_rows = limits.max_rows,
                                        .max_head_dim = limits.max_head_dim,
                                        .max_group = limits.max_group}));
  ops->choose_ = TRY(CpuChoose::create(kernels, pool, pages, limits));
  return ops;
}

CpuOps::~CpuOps() = default;

// Waking the team costs a few microseconds, in which one thread handles about this many numbers.
bool CpuOps::worth_threads(int64_t numbers) const {
  return pool_->n_threads() > 1 && numbers >= 32768;
}

void CpuOps::begin(const Batch& batch, std::span<const RopePlan> plans) {
  batch_ = &batch;
  rope_tables_.resize(plans.size());
  for (size_t p = 0; p < plans.size(); ++p) {
    // The angle is a float32 product, as transformers computes it. Its cosine and sine are taken in
    // double precision and rounded once.
    const RopePlan& plan = plans[p];
    RopeTable& table = rope_tables_[p];
    table.plan = &plan;
    const size_t n = plan.inv_freq.size();
    const size_t n_rows = batch.positions.size();
    table.cos.resize(n_rows * n);
    table.sin.resize(n_rows * n);
    for_rows(static_cast<int64_t>(n_rows), static_cast<int64_t>(n) * 64, [&](int64_t row) {
      const auto at = static_cast<size_t>(row);
      for (size_t i = 0; i < n; ++i) {
        const int32_t position = batch.positions[at][plan.axes.empty() ? 0 : plan.axes[i]];
        const float angle = static_cast<float>(position) * plan.inv_freq[i];
        const SinCos turn = exact_sin_cos(double{angle});
        table.cos[at * n + i] = static_cast<float>(turn.cos) * plan.magnitude;
        table.sin[at * n + i] = static_cast<float>(turn.sin) * plan.magnitude;
      }
    });
  }
}

// Rows of a table for looking up stay in the file's format.
void CpuOps::decode_row(const Weight& table, int64_t row, float* out) const {
  const Address at = table.plain.rows[static_cast<size_t>(row)];
  format_of(table.dtype).decode(device_->pointer(at), out, table.n_in);
}

void CpuOps::embed(View out, const Weight& table, std::span<const int32_t> tokens, float scale) {
  for_rows(out.n_rows, out.n_cols, [&](int64_t i) {
    float* const x = row(out, i);
    decode_row(table, tokens[static_cast<size_t>(i)], x);
    if (scale == 1.0F) return;
    for (int64_t c = 0; c < out.n_cols; ++c) x[c] *= scale;
  });
}

void CpuOps::add_embedding(View x, const Weight& table, std::span<const Position> positions) {
  float* const decoded = plain_scratch_[0].as<float>();
  for (int64_t i = 0; i < x.n_rows; ++i) {
    decode_row(table, positions[static_cast<size_t>(i)][0], decoded);
    kernels_->add(row(x, i), decoded, x.n_cols);
  }
}

void CpuOps::add_rows(View x, const Weight& table, std::span<const int32_t> rows) {
  float* const decoded = plain_scratch_[0].as<float>();
  for (int64_t i = 0; i < x.n_rows; ++i) {
    decode_row(table, rows[static_cast<size_t>(i)], decoded);
    kernels_->add(row(x, i), decoded, x.n_cols);
  }
}

void CpuOps::copy(View out, View x) {
  std::memcpy(device_->pointer(out.start), device_->pointer(x.start),
              static_cast<size_t>(x.n_bytes()));
}

void CpuOps::norm_row(View out, View x, int64_t i, const Vector& weight, const Vector& bias,
                      NormParams params) const {
  const int64_t n = x.n_cols;
  const int64_t first = i % (weight.size() / n) * n;
  const float* const biases = numbers(bias);
  if (params.kind == Norm::rms) {
    kernels_->rms_norm(row(x, i), numbers(weight) + first, row(out, i), n, params.eps);
  } else {
    kernels_->layer_norm(row(x, i), numbers(weight) + first,
                         biases == nullptr ? nullptr : biases + first, row(out, i), n, params.eps);
  }
}

void CpuOps::norm(View out, View x, const Vector& weight, const Vector& bias, NormParams params) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) { norm_row(out, x, i, weight, bias, params); });
}

void CpuOps::add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                      NormParams params) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    kernels_->add(row(x, i), row(y, i), x.n_cols);
    norm_row(out, x, i, weight, bias, params);
  });
}

void CpuOps::rope(View x, int64_t head_dim, const RopePlan& plan) {
  const auto found = std::ranges::find(rope_tables_, &plan, &RopeTable::plan);
  CHECK(found != rope_tables_.end());  // begin() was given the plan
  const RopeTable& table = *found;
  const auto n = static_cast<int64_t>(plan.inv_freq.size());
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    for (int64_t head = 0; head < x.n_cols; head += head_dim) {
      kernels_->rope_half(row(x, i) + head, table.cos.data() + i * n, table.sin.data() + i * n,
                          2 * n);
    }
  });
}

void CpuOps::gate(View gate, View up, Act act) {
  const auto kernel = kernels_->gate[static_cast<size_t>(act)];
  for_rows(gate.n_rows, gate.n_cols * 4,
           [&](int64_t i) { kernel(row(gate, i), row(up, i), gate.n_cols); });
}

void CpuOps::activate(View x, Act act) {
  const auto kernel = kernels_->activate[static_cast<size_t>(act)];
  for_rows(x.n_rows, x.n_cols * 4, [&](int64_t i) { kernel(row(x, i), x.n_cols); });
}

void CpuOps::xielu(View x, const Xielu& numbers) {
  for_rows(x.n_rows, x.n_cols * 4,
           [&](int64_t i) { kernels_->xielu(row(x, i), x.n_cols, numbers); });
}

void CpuOps::clamp(View x, float limit) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    float* const numbers = row(x, i);
    for (int64_t c = 0; c < x.n_cols; ++c) {
      numbers[c] = numbers[c] > limit ? limit : numbers[c] < -limit ? -limit : numbers[c];
    }
  });
}

void CpuOps::scale(View x, float factor) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    float* const numbers = row(x, i);
    for (int64_t c = 0; c < x.n_cols; ++c) numbers[c] *= factor;
  });
}

void CpuOps::scale_rows(View x, View factors) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    float* const numbers = row(x, i);
    const float factor = *row(factors, i);
    for (int64_t c = 0; c < x.n_cols; ++c) numbers[c] *= factor;
  });
}

void CpuOps::scale_columns(View x, const Vector& factors, const Vector& shifts) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    scale_columns_of(row(x, i), factors, shifts, {0, x.n_cols});
  });
}

void CpuOps::scale_columns_of(float* row, const Vector& factors, const Vector& shifts,
                              Range columns) const {
  const float* const by = numbers(factors);
  const float* const shift = numbers(shifts);
  for (int64_t c = columns.begin; c < columns.end; ++c) {
    const float scaled = row[c] * by[c];
    row[c] = shift == nullptr ? scaled : scaled + shift[c];
  }
}

void CpuOps::add(View x, View y) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) { kernels_->add(row(x, i), row(y, i), x.n_cols); });
}

void CpuOps::add_vector(View x, const Vector& y, float factor) {
  const float* const from = numbers(y);
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    float* const to = row(x, i);
    for (int64_t c = 0; c < x.n_cols; ++c) to[c] += factor * from[c];
  });
}

void CpuOps::gather(View out, View x, std::span<const int32_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(row(out, static_cast<int64_t>(i)), row(x, rows[i]),
                static_cast<size_t>(x.n_cols) * sizeof(float));
  }
}

void CpuOps::softcap(View x, float cap) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) { kernels_->softcap(row(x, i), x.n_cols, cap); });
}

void CpuOps::scale_by_position(View x, const PositionScale& scale) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    const int64_t position = batch_->positions[static_cast<size_t>(i)][0];
    const auto spans = static_cast<double>((position + scale.offset) / scale.span);
    if (spans == 0) return;
    const auto factor = static_cast<float>(1 + double{scale.slope} * exact_log(1 + spans));
    float* const numbers = row(x, i);
    for (int64_t c = 0; c < x.n_cols; ++c) numbers[c] *= factor;
  });
}

void CpuOps::join(View out, View a, View b) {
  for_rows(out.n_rows, out.n_cols, [&](int64_t i) {
    std::copy_n(row(b, i), b.n_cols, std::copy_n(row(a, i), a.n_cols, row(out, i)));
  });
}

void CpuOps::store_kv(int64_t layer, View k, View v, const Vector& key_centre) {
  static const Vector kNoCentre;
  const Vector& centre = rotates_keys(pages_->settled(layer).type()) ? key_centre : kNoCentre;
  for (const BatchSequence& sequence : batch_->sequences) {
    for_rows(sequence.n_rows, k.n_cols * 8,
             [&](int64_t i) { store_row(sequence, i, layer, k, v, centre); });
  }
}

// Keys of a layer less its centre, head by head.
void CpuOps::store_row(const BatchSequence& sequence, int64_t i, int64_t layer, View k, View v,
                       const Vector& key_centre) {
  const KvShape& shape = pages_->settled(layer).shape();
  const int64_t position = sequence.first_position + i;
  const PageId page = sequence.pages[static_cast<size_t>(position / kPageTokens)];
  for (int64_t head = 0; head < shape.n_heads; ++head) {
    const float* key = row(k, sequence.row_begin + i) + head * shape.key_dim;
    float centred[kMaxHeadDim];
    if (!key_centre.empty()) {
      const float* const centre = numbers(key_centre) + head * shape.key_dim;
      for (int64_t d = 0; d < shape.key_dim; ++d) centred[d] = key[d] - centre[d];
      key = centred;
    }
    store_token(*kernels_, *pages_, {page, position % kPageTokens, layer, head}, key,
                row(v, sequence.row_begin + i) + head * shape.value_dim);
  }
}

void CpuOps::choose_keys(View chosen, View q, View weights, const ChooseParams& params) {
  choose_->run(*batch_, chosen, q, weights, params);
}

void CpuOps::attend(View out, View q, const AttendParams& params) {
  attend_->run(*batch_, out, q, params);
}

}  // namespace ruv
