// Operations against their plain meaning in double precision, on every instruction set.
#include "device/cpu/cpu_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/rng.h"
#include "device/batch_builder.h"
#include "device/test_view.h"
#include "tensor/half.h"

namespace ruv {
namespace {

struct Shape {
  int64_t n_heads, n_kv_heads, head_dim, window;
  float softcap = 0;
  int64_t wider_values = 0;  // than head_dim
  bool chunked = false;
  bool sinks = false;
  bool alibi = false;
  bool alibi_in_bf16 = false;
  bool both_ways = false;
  bool distances = false;

  int64_t value_dim() const { return head_dim + wider_values; }
};

// 0.4, 0.2, 0.1 …
std::vector<float> slopes_of(const Shape& s) {
  std::vector<float> slopes;
  for (int64_t h = 0; s.alibi && h < s.n_heads; ++h) slopes.push_back(std::ldexp(0.4F, int(-h)));
  return slopes;
}

// Distances from -3 to 3 are in five columns.
constexpr int32_t kColumns[] = {4, 1, 3, 0, 2, 2, 1};
constexpr int64_t kDistances = 5;

// The layer of the shape is the second; the first keeps something else.
CacheLayout layout_of(const Shape& s, KvType type) {
  return {
      {{{1, 4, 4, KvType::f16}, 0}, {{s.n_kv_heads, s.head_dim, s.value_dim(), type}, s.window}}};
}

// One sequence of random keys and values and the operations on it.
class AttendWorld {
 public:
  AttendWorld(const Kernels& kernels, const Shape& shape, int64_t n_tokens, int n_threads,
              KvType type = KvType::f16, const std::optional<FrameLimits>& limits = {})
      : shape_(shape),
        pool_(n_threads),
        pages_(std::move(*KvPages::create(layout_of(shape, type), 64, limits))) {
    const int64_t group = shape.n_heads / shape.n_kv_heads;
    ops_ = std::move(*CpuOps::create(
        kernels, pool_, pages_, {1024, 64, std::max(shape.head_dim, shape.value_dim()), group}));
    Rng rng(5);
    const auto random = [&](int64_t n) {
      std::vector<float> values(static_cast<size_t>(n));
      for (float& x : values) {
        x = f32_from_f16(f16_from_f32(static_cast<float>(rng.uniform() * 4 - 2)));
      }
      return values;
    };
    q_ = random(n_tokens * shape.n_heads * shape.head_dim);
    k_ = random(n_tokens * shape.n_kv_heads * shape.head_dim);
    v_ = random(n_tokens * shape.n_kv_heads * shape.value_dim());
    sinks_ = random(shape.n_heads);
    table_ = random(shape.n_heads * kDistances);
    of_query_ = random(n_tokens * shape.n_heads * kDistances);
    of_key_ = random(n_tokens * shape.n_heads * kDistances);
    for (PageId p = 63; p >= 0; --p) page_ids_.push_back(p);  // not in order of memory
    for (const PageId p : page_ids_) pages_.clear(p);
  }

  // Makes three channels of all keys larger: what is the same for all keys changes no softmax.
  void shift_keys(float shift, bool known) {
    std::vector<float> row(static_cast<size_t>(shape_.n_kv_heads * shape_.head_dim));
    for (size_t i = 0; i < row.size(); ++i) {
      const int64_t d = static_cast<int64_t>(i) % shape_.head_dim;
      if (d < 9 && d % 3 == 0) row[i] = d == 3 ? -shift : shift;
    }
    for (size_t i = 0; i < k_.size(); ++i) k_[i] += row[i % row.size()];
    if (known) key_centre_ = row;
  }

  // The first n positions are a source text, which rows after it see, or see nothing of.
  void set_source(int64_t n, bool of_source) {
    n_source_ = n;
    of_source_ = of_source;
  }

  // Positions that see each other; steps must not cut them.
  void set_blocks(std::vector<Range> blocks) { blocks_ = std::move(blocks); }
  int64_t edge_before(int64_t position) const {
    for (const Range& block : blocks_) {
      if (block.begin < position && position < block.end) return block.begin;
    }
    return position;
  }

  // Stores and attends rows [first, first + n).
  std::vector<float> step(int64_t first, int64_t n) {
    const int64_t q_cols = shape_.n_heads * shape_.head_dim;
    const int64_t k_cols = shape_.n_kv_heads * shape_.head_dim;
    const int64_t v_cols = shape_.n_kv_heads * shape_.value_dim();
    const int64_t out_cols = shape_.n_heads * shape_.value_dim();
    give_frames(first, first + n);
    BatchBuilder batch;
    batch.begin_sequence(first, page_ids_);
    batch.set_source(n_source_);
    for (int64_t end = first + 1; end <= first + n; ++end) {
      batch.add(0);
      for (const Range& block : blocks_) {
        if (block.end == end) batch.see_each_other(block.end - block.begin);
      }
    }
    Device& device = pages_.device();
    const Vector centre = *device.vector(key_centre_);
    const Vector sinks = *device.vector(sinks_);
    const TestView k(device, k_.data() + first * k_cols, n, k_cols);
    const TestView v(device, v_.data() + first * v_cols, n, v_cols);
    const TestView q(device, q_.data() + first * q_cols, n, q_cols);
    const TestView out(device, nullptr, n, out_cols);
    const int64_t distance_cols = shape_.n_heads * kDistances;
    const Vector table = *device.vector(table_);
    const TestView of_query(device, of_query_.data() + first * distance_cols, n, distance_cols);
    const TestView of_key(device, of_key_.data() + first * distance_cols, n, distance_cols);
    DistanceScores distances;
    if (shape_.distances) {
      distances = {kColumns, kDistances, &table, of_query.view(), of_key.view(), 0.2F};
    }
    ops_->begin(batch.batch(), {});
    ops_->store_kv(1, k.view(), v.view(), centre);
    ops_->attend(out.view(), q.view(),
                 {1,
                  shape_.n_heads,
                  shape_.n_kv_heads,
                  shape_.head_dim,
                  shape_.value_dim(),
                  0.3F,
                  shape_.softcap,
                  shape_.window,
                  shape_.chunked,
                  shape_.both_ways,
                  of_source_,
                  shape_.sinks ? &sinks : nullptr,
                  {slopes_, shape_.alibi_in_bf16, 0.25F},
                  distances});
    return out.numbers();
  }

  double expected(int64_t position, int64_t head, int64_t d) const {
    const int64_t kv_head = head / (shape_.n_heads / shape_.n_kv_heads);
    Range seen = {shape_.window > 0 ? std::max<int64_t>(0, position - shape_.window + 1) : 0,
                  position + 1};
    if (shape_.chunked) seen.begin = position - position % shape_.window;
    if (position >= n_source_) seen.begin = std::max(seen.begin, n_source_);
    if (of_source_) seen = {0, n_source_};
    for (const Range& block : blocks_) {
      if (block.begin > position || position >= block.end) continue;
      if (shape_.both_ways && shape_.window > 0) {
        seen = {std::max(seen.begin, block.begin), std::min(block.end, position + shape_.window)};
        continue;
      }
      seen = {std::min(seen.begin, block.begin), block.end};
    }
    const auto at = [&](const std::vector<float>& x, int64_t token, int64_t heads, int64_t h,
                        int64_t i) {
      return double{x[static_cast<size_t>((token * heads + h) * shape_.head_dim + i)]};
    };
    double sum = shape_.sinks ? std::exp(double{sinks_[static_cast<size_t>(head)]} - 60) : 0;
    double total = 0;
    for (int64_t t = seen.begin; t < seen.end; ++t) {
      double score = 0;
      for (int64_t i = 0; i < shape_.head_dim; ++i) {
        score +=
            at(q_, position, shape_.n_heads, head, i) * at(k_, t, shape_.n_kv_heads, kv_head, i);
      }
      score *= 0.3F;
      if (shape_.softcap > 0)
        score = double{shape_.softcap} * std::tanh(score / double{shape_.softcap});
      score += alibi(position, head, t);
      if (shape_.distances) score += distance_score(position, head, t);
      const double p = std::exp(score - 60);
      sum += p;
      total +=
          p *
          double{
              v_[static_cast<size_t>((t * shape_.n_kv_heads + kv_head) * shape_.value_dim() + d)]};
    }
    return total / sum;
  }

  const KvPages& pages() const { return pages_; }

 private:
  double distance_score(int64_t position, int64_t head, int64_t key) const {
    const int64_t column = kColumns[std::clamp<int64_t>(position - key, -3, 3) + 3];
    const auto at = [&](int64_t row) {
      return static_cast<size_t>((row * shape_.n_heads + head) * kDistances + column);
    };
    return double{table_[at(0)]} +
           0.2 * (double{of_query_[at(position)]} + double{of_key_[at(key)]});
  }

  double alibi(int64_t position, int64_t head, int64_t key) const {
    if (slopes_.empty()) return 0;
    const float slope = slopes_[static_cast<size_t>(head)];
    if (!shape_.alibi_in_bf16)
      return -double{slope} * static_cast<double>(std::abs(position - key));
    const auto rounded = [slope](int64_t at) {
      return double{f32_from_bf16(bf16_from_f32(slope * static_cast<float>(at)))};
    };
    return 0.25 * (rounded(key) - rounded(position));
  }

  // In turn, to exactly the pages that rows [first, end) read and write; what a frame had before is
  // overwritten with infinities, which must not be read.
  void give_frames(int64_t first, int64_t end) {
    for (const auto& group : pages_.assigned()) {
      for (int64_t i = 0; i < std::ssize(page_ids_); ++i) {
        const PageId page = page_ids_[static_cast<size_t>(i)];
        const bool wanted = i >= group->reach().first_page(first) && i < pages_for(end);
        if (!wanted && group->has(page)) {
          const FrameId frame = group->of(page);
          const std::vector<std::byte> stale(
              static_cast<size_t>(group->region().shape(0).key_bytes()), std::byte{0x7C});
          pages_.device().upload(group->region().keys(frame, 0, 0), stale);
          group->set(page, -1);
        } else if (wanted && !group->has(page)) {
          group->set(page, static_cast<FrameId>(i % group->n_frames()));
          group->region().clear(group->of(page));
        }
      }
    }
  }

  Shape shape_;
  WorkerPool pool_;
  KvPages pages_;
  std::unique_ptr<CpuOps> ops_;
  std::vector<float> q_, k_, v_, sinks_;
  std::vector<float> table_, of_query_, of_key_;
  std::vector<float> key_centre_;
  std::vector<float> slopes_ = slopes_of(shape_);
  std::vector<Range> blocks_;
  std::vector<PageId> page_ids_;
  int64_t n_source_ = 0;
  bool of_source_ = false;
};

// In one page, over the end of a chunk, over a window of 20.
const std::vector<Range> kBlocks = {{1, 5}, {14, 60}, {60, 61}, {250, 280}};

void expect_softmax(const Kernels& kernels, std::span<const Shape> shapes,
                    const std::vector<Range>& blocks) {
  for (const Shape& shape : shapes) {
    const int64_t n = 300;  // more than one chunk of keys
    AttendWorld world(kernels, shape, n, 2);
    world.set_blocks(blocks);
    const std::vector<float> out = world.step(0, n);
    for (int64_t position : {0, 1, 15, 16, 17, 59, 60, 255, 256, 299}) {
      for (int64_t head = 0; head < shape.n_heads; ++head) {
        const int64_t d = (head * 5) % shape.value_dim();
        const float seen =
            out[static_cast<size_t>((position * shape.n_heads + head) * shape.value_dim() + d)];
        ASSERT_NEAR(seen, world.expected(position, head, d), 2e-5)
            << kernels.isa << " position " << position << " head " << head;
      }
    }
  }
}

void expect_softmax(const Kernels& kernels, const std::vector<Range>& blocks) {
  const Shape shapes[] = {{4, 2, 16, 0, 0},
                          {3, 3, 24, 20, 0},
                          {8, 1, 8, 0, 5},
                          {40, 1, 16, 0, 0},
                          {4, 2, 24, 0, 0, 8},
                          {4, 2, 24, 50, 0, -16},
                          {4, 2, 16, 17, 0, 0, true},  // chunks of 17 keys
                          {6, 2, 8, 270, 0, 0, true, true},
                          {4, 2, 16, 20, 0, 0, false, true},
                          {3, 3, 8, 0, 4, 0, false, true},
                          {6, 2, 16, 0, 5, 0, false, false, true},
                          {6, 2, 16, 0, 0, 0, false, false, true, true}};
  expect_softmax(kernels, shapes, blocks);
}

TEST(CpuAttend, EqualsSoftmaxOverVisibleKeys) {
  for (const Kernels* kernels : all_kernels()) expect_softmax(*kernels, {});
}

TEST(CpuAttend, RowsOfABlockSeeEachOther) {
  for (const Kernels* kernels : all_kernels()) expect_softmax(*kernels, kBlocks);
}

TEST(CpuAttend, AWindowMayReachBothWays) {
  std::vector<Shape> shapes;
  for (const int64_t window : {0, 1, 2, 20, 130, 299, 400}) {
    shapes.push_back({.n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .window = window});
    shapes.back().both_ways = true;
  }
  for (const Kernels* kernels : all_kernels()) {
    expect_softmax(*kernels, shapes, {{0, 300}});
    expect_softmax(*kernels, shapes, {{0, 60}, {60, 300}});
  }
}

// Each step of an answer, cut anywhere, and the source as one block before it.
TEST(CpuAttend, RowsOfAnAnswerSeeTheSourceOrNothingOfIt) {
  const Shape shape = {.n_heads = 4, .n_kv_heads = 2, .head_dim = 16, .window = 0};
  const Shape windowed = {.n_heads = 3, .n_kv_heads = 3, .head_dim = 8, .window = 40};
  for (const Kernels* kernels : all_kernels()) {
    for (const Shape& one : {shape, windowed}) {
      for (const int64_t n_source : {1, 16, 100, 270}) {
        for (const bool of_source : {false, true}) {
          AttendWorld world(*kernels, of_source ? shape : one, 300, 2);
          world.set_source(n_source, of_source);
          world.set_blocks({{0, n_source}});
          world.step(0, n_source);
          const int64_t n_cols = of_source ? 64 : one.n_heads * one.value_dim();
          for (int64_t at = n_source, n = 1; at < 300; at += n, n = std::min(n + 6, 300 - at)) {
            const std::vector<float> out = world.step(at, n);
            for (int64_t row = 0; row < n; ++row) {
              ASSERT_NEAR(out[static_cast<size_t>(row * n_cols)], world.expected(at + row, 0, 0),
                          2e-5)
                  << kernels->isa << " source of " << n_source << ", position " << at + row;
            }
          }
        }
      }
    }
  }
}

TEST(CpuAttend, DistancesHaveNumbersAndProducts) {
  Shape shape{.n_heads = 6, .n_kv_heads = 6, .head_dim = 16, .window = 0};
  shape.both_ways = shape.distances = true;
  Shape windowed = shape;
  windowed.window = 40;
  const Shape shapes[] = {shape, windowed};
  for (const Kernels* kernels : all_kernels()) {
    expect_softmax(*kernels, shapes, {{0, 300}});
    expect_softmax(*kernels, shapes, {});
  }
}

// Whole prompts, chunks of them and single rows, which threads share chunk by chunk.
void expect_same_bytes_of_any_split(const Kernels& kernels, const Shape& shape, KvType type,
                                    const std::vector<Range>& blocks = {}) {
  const int64_t n = is_tiered(type) ? 600 : 900;
  AttendWorld whole(kernels, shape, n, 1, type);
  whole.set_blocks(blocks);
  const std::vector<float> expected = whole.step(0, n);
  Rng rng(11);
  for (int threads = 1; threads <= (is_tiered(type) ? 2 : 3); ++threads) {
    AttendWorld parts(kernels, shape, n, threads, type);
    parts.set_blocks(blocks);
    std::vector<float> seen;
    for (int64_t at = 0; at < n;) {
      const uint64_t most = rng.below(2) == 0 ? 1 : 200;
      const int64_t end = std::min(n, at + 1 + static_cast<int64_t>(rng.below(most)));
      const int64_t step = parts.edge_before(end) - at;
      if (step == 0) continue;
      const std::vector<float> out = parts.step(at, step);
      seen.insert(seen.end(), out.begin(), out.end());
      at += step;
    }
    ASSERT_EQ(std::memcmp(seen.data(), expected.data(), seen.size() * sizeof(float)), 0)
        << kernels.isa << ", " << kv_type_name(type) << ", head of " << shape.head_dim << ", "
        << threads << " threads";
  }
}

// Whole prompts, chunks of them and single rows, which threads share chunk by chunk.
TEST(CpuAttend, AnySplitOfTheRowsGivesTheSameBytes) {
  const Shape shapes[] = {{4, 2, 16, 50, 0, 0, false, true},
                          {6, 2, 24, 0, 0},
                          {2, 1, 64, 300, 9, 0, true},
                          {3, 1, 18, 0, 0, 0, false, false, true}};
  for (const Kernels* kernels : all_kernels()) {
    for (const Shape& shape : shapes) {
      for (const KvType type : kKvTypes) expect_same_bytes_of_any_split(*kernels, shape, type);
    }
    for (const KvType type : kKvTypes) {
      expect_same_bytes_of_any_split(*kernels, shapes[0], type, kBlocks);
    }
  }
}

// Of the whole output, relative to its size.
double error_of(AttendWorld& world, const Shape& shape, int64_t n_tokens) {
  const std::vector<float> out = world.step(0, n_tokens);
  double squares = 0;
  double error = 0;
  for (int64_t position : {int64_t{0}, int64_t{17}, int64_t{255}, n_tokens / 2, n_tokens - 1}) {
    for (int64_t head = 0; head < shape.n_heads; ++head) {
      for (int64_t d = 0; d < shape.head_dim; ++d) {
        const double want = world.expected(position, head, d);
        const double seen =
            out[static_cast<size_t>((position * shape.n_heads + head) * shape.head_dim + d)];
        squares += want * want;
        error += (seen - want) * (seen - want);
      }
    }
  }
  return std::sqrt(error / squares);
}

double error_of(const Kernels& kernels, const Shape& shape, KvType type, int64_t n_tokens) {
  AttendWorld world(kernels, shape, n_tokens, 2, type);
  return error_of(world, shape, n_tokens);
}

// Keys, values and queries have 8 bits: a little more than one part in a hundred of the scores' and
// values' size.
TEST(CpuAttend, Int8PagesComeCloseToSoftmax) {
  const Shape shapes[] = {{4, 2, 16, 0, 0}, {3, 3, 24, 20, 0}, {8, 1, 6, 0, 5}, {2, 1, 64, 0, 0}};
  for (const Kernels* kernels : all_kernels()) {
    for (const Shape& shape : shapes) {
      EXPECT_LT(error_of(*kernels, shape, KvType::int8, 300), 0.02)
          << kernels->isa << ", head " << shape.head_dim;
    }
  }
}

// A window's pages in the fewest frames give the bytes that they give where every page is kept.
TEST(CpuAttend, AWindowInFewFramesChangesNothing) {
  for (const Kernels* kernels : all_kernels()) {
    for (const KvType type : kKvTypes) {
      for (const bool chunked : {false, true}) {
        const Shape shape = {4, 2, 16, 70, 0, 8, chunked};
        AttendWorld few(*kernels, shape, 900, 2, type, FrameLimits{.n_lists = 1, .n_rows = 40});
        AttendWorld all(*kernels, shape, 900, 2, type);
        ASSERT_EQ(few.pages().saved().size(), 1U);
        ASSERT_LT(few.pages().saved()[0]->n_frames(), 15);
        int64_t n = 1;
        for (int64_t first = 0; first + n < 900; first += n, n = n % 37 + 3) {
          EXPECT_EQ(few.step(first, n), all.step(first, n))
              << kernels->isa << ", " << kv_type_name(type) << " at " << first;
        }
      }
    }
  }
}

// Channels of keys twenty times as large as the others, as a bias makes them, do not take the other
// channels' bits: without a rotation the error is twice to four times as large. Where the shift is
// known there is none.
TEST(CpuAttend, OutlierChannelsOfInt8KeysCostLittle) {
  const Shape shape = {4, 2, 64, 0, 0};
  for (const Kernels* kernels : all_kernels()) {
    for (const bool known : {false, true}) {
      AttendWorld world(*kernels, shape, 300, 2, KvType::int8);
      world.shift_keys(40, known);
      EXPECT_LT(error_of(world, shape, 300), known ? 0.02 : 0.1) << kernels->isa;
    }
  }
}

// Random keys have no structure that codes could miss; few bits are a few parts in a hundred.
TEST(CpuAttend, CodesComeCloseToSoftmax) {
  const Shape shapes[] = {{4, 2, 16, 0, 0}, {3, 3, 24, 400, 0}, {8, 1, 6, 0, 5}, {2, 1, 40, 0, 0}};
  for (const Kernels* kernels : all_kernels()) {
    for (const Shape& shape : shapes) {
      EXPECT_LT(error_of(*kernels, shape, KvType::int4, 600), 0.2)
          << kernels->isa << ", head " << shape.head_dim;
      EXPECT_LT(error_of(*kernels, shape, KvType::int2, 600), 0.9)
          << kernels->isa << ", head " << shape.head_dim;
    }
  }
}

// A query reads its own group of 256 tokens in f16.
TEST(CpuAttend, TheNewestGroupOfATieredCacheIsAsF16) {
  const Shape shape = {4, 2, 32, 0, 0};
  for (const Kernels* kernels : all_kernels()) {
    EXPECT_LT(error_of(*kernels, shape, KvType::int2, 256), 1e-3) << kernels->isa;
  }
}

// The rows of an image turn by their line and column where the plan says so.
TEST(CpuRope, APairTurnsByTheAxisOfItsPlan) {
  const RopePlan text = {.inv_freq = {0.5F, 0.25F, 0.125F}};
  RopePlan image = text;
  image.axes = {0, 1, 2};
  std::vector<float> zero(6);
  for (const Kernels* kernels : all_kernels()) {
    WorkerPool pool(1);
    KvPages pages = std::move(*KvPages::create(CacheLayout::uniform(1, {1, 6, 6}), 1));
    const auto ops = std::move(*CpuOps::create(*kernels, pool, pages, {4, 6, 6, 1}));
    BatchBuilder batch;
    batch.begin_sequence(0, {});
    const std::vector<float> ones = {1, 1, 1, 0, 0, 0};
    const TestView embedded(pages.device(), zero.data(), 1, 6);
    batch.add_embeddings(embedded.view(), std::vector<Position>{{7, 3, 5}});
    const TestView turned(pages.device(), ones.data(), 1, 6);
    ops->begin(batch.batch(), {&image, 1});
    ops->rope(turned.view(), 6, image);
    const std::vector<float> x = turned.numbers();
    EXPECT_NEAR(x[0], std::cos(7 * 0.5), 1e-6) << kernels->isa;
    EXPECT_NEAR(x[1], std::cos(3 * 0.25), 1e-6) << kernels->isa;
    EXPECT_NEAR(x[2], std::cos(5 * 0.125), 1e-6) << kernels->isa;
    const TestView other(pages.device(), ones.data(), 1, 6);
    ops->begin(batch.batch(), {&text, 1});
    ops->rope(other.view(), 6, text);
    const std::vector<float> y = other.numbers();
    EXPECT_NEAR(y[1], std::cos(7 * 0.25), 1e-6) << kernels->isa;
  }
}

TEST(CpuMatmul, AFormatWithoutAKernelIsDecodedAsItGoes) {
  const int64_t n_in = 256;
  const int64_t n_out = 21;
  Rng rng(3);
  const Format& format = format_of(DType::iq4_k);
  std::vector<std::byte> blocks(static_cast<size_t>(n_out * format.bytes_of(n_in)));
  for (std::byte& b : blocks) b = static_cast<std::byte>(rng.below(256));
  std::vector<const std::byte*> rows;
  for (int64_t i = 0; i < n_out; ++i) {
    std::byte* const row = blocks.data() + i * format.bytes_of(n_in);
    const uint16_t scale = f16_from_f32(0x1p-13F);  // a block begins with it
    std::memcpy(row, &scale, 2);
    rows.push_back(row);
  }
  std::vector<float> x(static_cast<size_t>(2 * n_in));
  for (float& value : x) value = static_cast<float>(rng.uniform() - 0.5);
  for (const Kernels* kernels : all_kernels()) {
    WorkerPool pool(2);
    KvPages pages = std::move(
        *KvPages::create(CacheLayout::uniform(1, {1, 8, 8}), 1, {}, new_device(*kernels)));
    Device& device = pages.device();
    const auto ops = std::move(*device.make_ops(pool, pages, {4, n_in, 8, 1}));
    const Weight weight = std::move(*pack_weight(device, pool, DType::iq4_k, n_in, rows));
    const Vector bias = *device.vector(std::vector<float>(static_cast<size_t>(n_out), 1.5F));
    const TestView product(device, nullptr, 2, n_out);
    const TestView input(device, x.data(), 2, n_in);
    ops->matmul(product.view(), input.view(), weight, bias);
    const std::vector<float> out = product.numbers();
    std::vector<float> decoded(static_cast<size_t>(n_in));
    for (int64_t row = 0; row < n_out; ++row) {
      format.decode(rows[static_cast<size_t>(row)], decoded.data(), n_in);
      for (int64_t r = 0; r < 2; ++r) {
        double sum = 1.5;
        for (int64_t i = 0; i < n_in; ++i) {
          sum += double{decoded[static_cast<size_t>(i)]} *
                 double{x[static_cast<size_t>(r * n_in + i)]};
        }
        ASSERT_NEAR(out[static_cast<size_t>(r * n_out + row)], sum, 1e-4) << kernels->isa;
      }
    }
  }
}

}  // namespace
}  // namespace ruv
