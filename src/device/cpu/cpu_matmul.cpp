// Matmul on CPU cores: quantise the input once, then the threads share the output columns of all
// products piece by piece.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/cpu/cpu_ops.h"
#include "device/cpu/product_pieces.h"
#include "device/product_watcher.h"

namespace ruv {
namespace {

// Bytes of one row of k activations.
int64_t act_row_bytes(ActFormat format, int64_t k) {
  if (format == ActFormat::q8) return k / 32 * int64_t{sizeof(ActBlock)};
  return format == ActFormat::bf16 ? (k + 1) / 2 * 4 : k * int64_t{sizeof(float)};
}

bool takes(const Weight& weight, ActFormat format) {
  return weight.is_packed() && kernel_of(weight)->act == format;
}

}  // namespace

void CpuOps::add_bias(View out, const Vector& bias, int64_t first, int64_t last) const {
  if (bias.empty()) return;
  const float* const added = numbers(bias);
  for (int64_t r = 0; r < out.n_rows; ++r) {
    float* const to = row(out, r);
    for (int64_t c = first; c < last; ++c) to[c] += added[c];
  }
}

int64_t CpuOps::act_bytes(int64_t n_rows, int64_t k) {
  const int64_t whole = (k + 31) / 32 * 32;
  return n_rows * (act_row_bytes(ActFormat::q8, whole) + act_row_bytes(ActFormat::bf16, whole));
}

std::byte* CpuOps::act_rows(const Buffer& converted, ActFormat format, View x) const {
  if (format == ActFormat::f32) return device_->pointer(x.start);
  return converted.get() +
         (format == ActFormat::bf16 ? x.n_rows * act_row_bytes(ActFormat::q8, x.n_cols) : 0);
}

void CpuOps::convert_row(const float* x, int64_t n, ActFormat format, std::byte* out) const {
  if (format == ActFormat::q8) {
    return kernels_->quantize_row(x, reinterpret_cast<ActBlock*>(out), n);
  }
  // An odd last number has a partner: zero.
  std::memset(out + act_row_bytes(ActFormat::bf16, n) - 4, 0, 4);
  kernels_->to_bf16(x, reinterpret_cast<uint16_t*>(out), n);
}

void CpuOps::matmul(View out, View x, const Weight& weight, const Vector& bias) {
  const Product product{out, &weight, &bias};
  matmul_each({&product, 1}, x);
}

void CpuOps::ActFormats::add(const Weight& weight) {
  q8 |= takes(weight, ActFormat::q8);
  bf16 |= takes(weight, ActFormat::bf16);
}

CpuOps::ActFormats CpuOps::formats_of(std::span<const Product> products) const {
  ActFormats formats;
  for (const Product& p : products) formats.add(*p.weight);
  return formats;
}

bool CpuOps::takes_floats(const Weight& weight) const {
  return !weight.is_packed() || takes(weight, ActFormat::f32);
}

void CpuOps::convert_row_of(View x, int64_t r, ActFormats formats, const Buffer& to) const {
  for (const ActFormat format : {ActFormat::q8, ActFormat::bf16}) {
    if (!formats.has(format)) continue;
    convert_row(row(x, r), x.n_cols, format,
                act_rows(to, format, x) + r * act_row_bytes(format, x.n_cols));
  }
}

void CpuOps::show(std::span<const Product> products, View x) const {
  for (const Product& p : products) {
    watcher_->on_product(*p.weight, {row(x, p.first_row), p.out.n_rows, x.n_cols});
  }
}

void CpuOps::matmul_each(std::span<const Product> products, View x) {
  if (watcher_ != nullptr) show(products, x);
  const ActFormats formats = formats_of(products);
  const bool each = x.n_rows <= kRowsQuantizedByEach;
  if (!formats.none() && !each) {
    for_rows(x.n_rows, x.n_cols, [&](int64_t r) { convert_row_of(x, r, formats, quantized_); });
  }
  multiply_each(products, x, formats, each);
}

void CpuOps::convert_choices(View x, const ExpertsParams& params) {
  ActFormats formats;
  for (const std::span<const Weight> weights : {params.gate, params.up}) {
    for (size_t e = 0; e < weights.size(); ++e) {
      if (routed_.begin[e + 1] > routed_.begin[e]) formats.add(weights[e]);
    }
  }
  if (formats.none()) return;
  for_rows(x.n_rows, x.n_cols, [&](int64_t r) { convert_row_of(x, r, formats, choices_); });
}

void CpuOps::multiply_chosen(std::span<const Product> products, View x,
                             std::span<const int32_t> chosen, View floats) {
  const ActFormats formats = formats_of(products);
  const bool copies_floats =
      watcher_ != nullptr ||
      std::ranges::any_of(products, [&](const Product& p) { return takes_floats(*p.weight); });
  for_rows(floats.n_rows, x.n_cols, [&](int64_t i) {
    const int64_t from = chosen[static_cast<size_t>(i)];
    if (copies_floats) std::copy_n(row(x, from), x.n_cols, row(floats, i));
    for (const ActFormat format : {ActFormat::q8, ActFormat::bf16}) {
      if (!formats.has(format)) continue;
      const int64_t n_bytes = act_row_bytes(format, x.n_cols);
      std::memcpy(act_rows(quantized_, format, floats) + i * n_bytes,
                  act_rows(choices_, format, x) + from * n_bytes, static_cast<size_t>(n_bytes));
    }
  });
  if (watcher_ != nullptr) show(products, floats);
  multiply_each(products, floats, formats, false);
}

void CpuOps::multiply_each(std::span<const Product> products, View x, ActFormats formats,
                           bool each) {
  int64_t n_multiplies = 0;
  for (const Product& p : products) n_multiplies += p.weight->n_out * p.weight->n_in * p.out.n_rows;
  const int n_threads = worth_threads(n_multiplies) ? pool_->n_threads() : 1;
  alignas(64) std::atomic<int64_t> next_piece{0};
  const auto multiply_pieces = [&](int thread) {
    const Buffer& act = each ? row_scratch_[static_cast<size_t>(thread)] : quantized_;
    if (!formats.none() && each) {
      for (int64_t r = 0; r < x.n_rows; ++r) convert_row_of(x, r, formats, act);
    }
    int64_t first = 0;
    int64_t piece = next_piece.fetch_add(1, std::memory_order_relaxed);
    for (const Product& product : products) {
      const int n = n_pieces(product.weight->n_bytes(), product.out.n_rows, n_threads);
      for (; piece < first + n; piece = next_piece.fetch_add(1, std::memory_order_relaxed)) {
        multiply(product, x, act, {thread, static_cast<int>(piece - first), n});
      }
      first += n;
    }
  };
  if (n_threads == 1) {
    multiply_pieces(0);
  } else {
    pool_->run(multiply_pieces);
  }
  if (watcher_ == nullptr) return;
  for (const Product& p : products) {
    watcher_->on_result(*p.weight, {row(p.out, 0), p.out.n_rows, p.out.n_cols});
  }
}

Range CpuOps::groups_of(const Weight& weight, Piece piece) const {
  const int64_t mr = (weight.is_packed() ? kernel_of(weight) : f32_gemm_)->mr;
  return groups_of_piece((weight.n_out + mr - 1) / mr, piece.index, piece.n);
}

Range CpuOps::columns_of(const Weight& weight, Piece piece) const {
  const int64_t mr = (weight.is_packed() ? kernel_of(weight) : f32_gemm_)->mr;
  const Range groups = groups_of(weight, piece);
  return {std::min(weight.n_out, groups.begin * mr), std::min(weight.n_out, groups.end * mr)};
}

void CpuOps::multiply(const Product& product, View x, const Buffer& act, Piece piece) const {
  const Weight& weight = *product.weight;
  const GemmKernel* const kernel = weight.is_packed() ? kernel_of(weight) : f32_gemm_;
  const int64_t mr = kernel->mr;
  const Range groups = groups_of(weight, piece);
  if (groups.begin >= groups.end) return;
  if (!weight.is_packed()) {
    multiply_plain(product, x, groups, piece.thread);
  } else {
    const int64_t act_stride = act_row_bytes(kernel->act, x.n_cols);
    kernel->run(
        {.weights = device_->pointer(weight.packed.start) + groups.begin * weight.group_bytes,
         .act = act_rows(act, kernel->act, x) + product.first_row * act_stride,
         .out = device_->numbers(product.out.start) + groups.begin * mr,
         .k = weight.n_in,
         .n_groups = groups.end - groups.begin,
         .n_cols = std::min(weight.n_out, groups.end * mr) - groups.begin * mr,
         .n_rows = product.out.n_rows,
         .act_stride = act_stride,
         .out_stride = product.out.n_cols,
         .ahead = device_->ahead(kernel->weight)});
  }
  add_bias(product.out, *product.bias, groups.begin * mr, std::min(weight.n_out, groups.end * mr));
}

// Rows of x have the numbers of all heads; a head's are shown a row at a time.
void CpuOps::show_heads(View x, std::span<const Weight> heads) const {
  for (size_t h = 0; h < heads.size(); ++h) {
    const int64_t n_in = heads[h].n_in;
    for (int64_t r = 0; r < x.n_rows; ++r) {
      watcher_->on_product(heads[h], {row(x, r) + static_cast<int64_t>(h) * n_in, 1, n_in});
    }
  }
}

// A thread takes whole heads: their matrices are small, and many.
void CpuOps::matmul_heads(View out, View x, std::span<const Weight> heads) {
  const auto n_heads = std::ssize(heads);
  if (watcher_ != nullptr) show_heads(x, heads);
  const int64_t numbers = x.n_rows * x.n_cols * heads.front().n_out;
  if (!worth_threads(numbers)) {
    for (int64_t h = 0; h < n_heads; ++h)
      multiply_head(out, x, heads[static_cast<size_t>(h)], h, 0);
    return;
  }
  pool_->run_items(n_heads, [&](int thread, int64_t h) {
    multiply_head(out, x, heads[static_cast<size_t>(h)], h, thread);
  });
}

void CpuOps::multiply_head(View out, View x, const Weight& weight, int64_t head, int thread) const {
  static const Vector kNoBias;
  constexpr int64_t kFloat = sizeof(float);
  const View from{x.start + head * weight.n_in * kFloat, x.n_rows, x.n_cols};
  const View to{out.start + head * weight.n_out * kFloat, out.n_rows, out.n_cols};
  const Product product{to, &weight, &kNoBias};
  const GemmKernel* const kernel = weight.is_packed() ? kernel_of(weight) : f32_gemm_;
  if (kernel->act == ActFormat::f32) {
    if (weight.is_packed()) return multiply(product, from, {}, {thread, 0, 1});
    const int64_t mr = kernel->mr;
    return multiply_plain(product, from, {0, (weight.n_out + mr - 1) / mr}, thread);
  }
  // As many rows at a time as the thread's memory has room for.
  const Buffer& act = row_scratch_[static_cast<size_t>(thread)];
  const int64_t n_at_once = act.n_bytes() / act_bytes(1, weight.n_in);
  for (int64_t first = 0; first < x.n_rows; first += n_at_once) {
    const int64_t n = std::min(n_at_once, x.n_rows - first);
    const View block{from.start, n, weight.n_in};  // the widths that converted rows have
    for (int64_t r = 0; r < n; ++r) {
      convert_row(row(from, first + r), weight.n_in, kernel->act,
                  act_rows(act, kernel->act, block) + r * act_row_bytes(kernel->act, weight.n_in));
    }
    multiply({to.rows(first, n), &weight, &kNoBias}, block, act, {thread, 0, 1});
  }
}

// Formats without a kernel here: decode a group's rows to float32, pack them, multiply.
void CpuOps::multiply_plain(const Product& product, View x, Range groups, int thread) const {
  const Weight& weight = *product.weight;
  const int64_t mr = f32_gemm_->mr;
  float* const decoded = plain_scratch_[static_cast<size_t>(thread)].as<float>();
  auto* const packed = reinterpret_cast<std::byte*>(decoded + mr * limits_.max_k);
  const std::byte* rows[64] = {};
  for (int64_t group = groups.begin; group < groups.end; ++group) {
    const int64_t first = group * mr;
    const int64_t n_cols = std::min(mr, weight.n_out - first);
    for (int64_t lane = 0; lane < mr; ++lane) {
      float* const to = decoded + lane * weight.n_in;
      rows[lane] = lane < n_cols ? reinterpret_cast<const std::byte*>(to) : nullptr;
      if (lane < n_cols) decode_row(weight, first + lane, to);
    }
    f32_gemm_->pack(packed, rows, weight.n_in);
    f32_gemm_->run({.weights = packed,
                    .act = device_->pointer(x.row(product.first_row)),
                    .out = device_->numbers(product.out.start) + first,
                    .k = weight.n_in,
                    .n_groups = 1,
                    .n_cols = n_cols,
                    .n_rows = product.out.n_rows,
                    .act_stride = x.n_cols * int64_t{sizeof(float)},
                    .out_stride = product.out.n_cols,
                    .ahead = f32_gemm_->ahead});
  }
}

}  // namespace ruv
