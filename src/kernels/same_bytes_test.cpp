// The same bytes from every table: each kernel runs over a fixed set of inputs, odd sizes among
// them, and the hash of all it writes is compared with the one committed here. All tables of all
// machines share these hashes, so that one machine proves what another computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kernels/test_matmul.h"

namespace ruv {
namespace {

using Floats = std::vector<float>;

// FNV-1a over words of the bytes given so far.
class Hash {
 public:
  template <class Number>
  void add(const Number* numbers, size_t n) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(numbers);
    for (size_t i = 0; i < n * sizeof(Number); ++i) value_ = (value_ ^ bytes[i]) * 0x100000001B3ULL;
  }
  template <class Number>
  void add(const std::vector<Number>& numbers) {
    add(numbers.data(), numbers.size());
  }
  void add(float number) { add(&number, 1); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325ULL;
};

// In [low, high); a sum of products of exact numbers, so the same on every machine.
Floats random_floats(int64_t n, uint64_t seed, float low = -4, float high = 4) {
  Rng rng(seed * 7919 + static_cast<uint64_t>(n));
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = low + (high - low) * static_cast<float>(rng.below(1 << 20)) * 0x1p-20F;
  return x;
}

// What stretches arithmetic: zeros, subnormal numbers, the largest ones, infinities.
Floats corners(int64_t n, uint64_t seed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kCorners[] = {0.0F,  -0.0F,    1e-45F,   -1e-40F, 1.1754944e-38F, 3e-39F,
                                88.7F, -86.5F,   -86.51F,  10.0F,   -104.0F,        3.4e38F,
                                kInf,  -3.4e38F, 0.33333F, -1e-7F,  16777217.0F,    0x1.fffffep-1F};
  Rng rng(seed);
  Floats x = random_floats(n, seed, -90, 90);
  for (size_t i = 0; i < x.size(); i += 1 + rng.below(5)) {
    x[i] = kCorners[rng.below(std::size(kCorners))];
  }
  return x;
}

// NaN may have any bits; that a number is NaN must be seen everywhere.
void keep_one_nan(Floats& x) {
  for (float& v : x) {
    if (std::isnan(v)) v = std::numeric_limits<float>::quiet_NaN();
  }
}

constexpr int64_t kLengths[] = {1, 2, 7, 8, 15, 16, 17, 33, 63, 64, 65, 100, 127, 190, 1000, 2051};
constexpr int64_t kHeadDims[] = {1, 7, 8, 17, 40, 64, 100, 128};
constexpr int64_t kRows = 7;
constexpr int64_t kPages = 6;
constexpr int64_t kTokens = kPages * kPageTokens;

// The hash of what f leaves in rows of every length, of numbers and of corners.
template <class F>
uint64_t of_rows(F f) {
  Hash hash;
  for (const int64_t n : kLengths) {
    for (Floats x : {random_floats(n, 3), random_floats(n, 4, -30, 30), corners(n, 5)}) {
      f(x.data(), n);
      keep_one_nan(x);
      hash.add(x);
    }
  }
  return hash.value();
}

uint64_t norm_hash(const Kernels& k, bool rms, bool with_bias) {
  const Floats weight = random_floats(3000, 8, 0.5F, 2);
  const Floats bias = random_floats(3000, 9);
  return of_rows([&](float* x, int64_t n) {
    if (rms) {
      k.rms_norm(x, weight.data(), x, n, 1e-5F);
    } else {
      k.layer_norm(x, weight.data(), with_bias ? bias.data() : nullptr, x, n, 1e-5F);
    }
  });
}

uint64_t quantize_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t n : {32, 96, 1024}) {
    for (const float size : {0.0F, 1e-42F, 1e-38F, 1.0F, 1e30F}) {
      std::vector<ActBlock> blocks(static_cast<size_t>(n / 32));
      k.quantize_row(random_floats(n, 5, -size, size).data(), blocks.data(), n);
      hash.add(blocks);
    }
  }
  Floats with_nan = random_floats(64, 6);
  with_nan[3] = with_nan[40] = std::numeric_limits<float>::quiet_NaN();
  std::vector<ActBlock> blocks(2);
  k.quantize_row(with_nan.data(), blocks.data(), 64);
  hash.add(blocks);
  return hash.value();
}

uint64_t quantize_head_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t n : kHeadDims) {
    for (const float size : {0.0F, 1e-42F, 1e-36F, 1.0F, 1e30F}) {
      std::vector<int8_t> q(static_cast<size_t>(n));
      const HeadQuant quant = k.quantize_head(random_floats(n, 5, -size, size).data(), q.data(), n);
      hash.add(q);
      hash.add(quant.scale);
      hash.add(&quant.sum, 1);
    }
  }
  return hash.value();
}

Floats masked_scores(int64_t n, uint64_t seed) {
  Floats x = random_floats(n, seed, -95, 0);
  for (size_t i = 1; i < x.size(); i += 3) x[i] *= 0.05F;
  for (size_t i = 5; i < x.size(); i += 11) x[i] = -std::numeric_limits<float>::infinity();
  return x;
}

uint64_t exp_sum_hash(const Kernels& k) {
  Hash hash;
  for (int64_t n = 0; n <= 320; n += kPageTokens) {
    Floats x = masked_scores(n, 6);
    hash.add(k.exp_sum(x.data(), n, -0.25F));
    hash.add(x);
    if (n > 0) hash.add(k.largest(masked_scores(n, 7).data(), n));
  }
  return hash.value();
}

uint64_t weights_hash(const Kernels& k) {
  Hash hash;
  for (int64_t n = 0; n <= 256; n += kPageTokens) {
    const Floats scores = masked_scores(n, 8);
    const Floats scales = random_floats(n, 7, 0, 0.5F);
    const Floats lows = random_floats(n, 8, -2, 1);
    std::vector<int16_t> weights(scores.size());
    hash.add(k.byte_weights(scores.data(), scales.data(), weights.data(), n, 0, 65534));
    hash.add(weights);
    const CodeWeights sums =
        k.code_weights(scores.data(), scales.data(), lows.data(), weights.data(), n, 0, 65534);
    hash.add(weights);
    hash.add(sums.sum);
    hash.add(sums.offset);
  }
  return hash.value();
}

// Pages of random bits, f16 without infinities.
struct BitPages {
  std::vector<std::vector<uint16_t>> halves;
  std::vector<const void*> pages;

  BitPages(int64_t n_halves, bool f16) {
    for (uint64_t i = 0; i < kPages; ++i) {
      Rng rng(i + 17);
      halves.emplace_back(static_cast<size_t>(n_halves));
      for (uint16_t& h : halves.back()) {
        h = static_cast<uint16_t>(rng.next());
        if (f16) h = static_cast<uint16_t>(h & 0xBFFFU);
      }
      pages.push_back(halves.back().data());
    }
  }
  PageRun run() const { return {pages.data(), kPages, 0}; }
};

uint64_t f16_pages_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t dim : kHeadDims) {
    const BitPages pages(dim * kPageTokens, true);
    const Floats q = random_floats(kRows * dim, 2, -1, 1);
    Floats scores(kRows * kTokens);
    k.page_scores({q.data(), dim, pages.run(), scores.data(), kTokens, kRows, dim, 0.3F});
    hash.add(scores);
    const Floats p = random_floats(kRows * kTokens, 3, 0, 1);
    Floats out(static_cast<size_t>(kRows * dim));
    k.page_values({p.data(), kTokens, pages.run(), out.data(), dim, kRows, dim});
    hash.add(out);
  }
  return hash.value();
}

// bits 8: int8 pages.
uint64_t integer_pages_hash(const Kernels& k, int bits) {
  Hash hash;
  for (const int64_t dim : kHeadDims) {
    const int64_t filled = (dim + 15) / 16 * 16;
    const BitPages pages(filled * kPageTokens * bits / 16, false);
    std::vector<int8_t> q(static_cast<size_t>(kRows * filled));
    std::vector<int32_t> sums(kRows);
    Rng rng(8);
    for (int64_t i = 0; i < kRows * filled; ++i) {
      if (i % filled >= dim) continue;
      q[static_cast<size_t>(i)] = static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127);
      sums[static_cast<size_t>(i / filled)] += q[static_cast<size_t>(i)];
    }
    std::vector<int16_t> weights(kRows * kTokens);
    for (int16_t& w : weights) w = static_cast<int16_t>(rng.below(32768));
    const Floats scale = random_floats(kTokens, 3, 0, 1);
    const Floats other = random_floats(kTokens, 4, -1, 1);
    Floats scores(kRows * kTokens);
    Floats out(static_cast<size_t>(kRows * dim));
    if (bits == 8) {
      k.byte_scores({q.data(), filled, other.data(), sums.data(), pages.run(), scale.data(),
                     scores.data(), kTokens, kRows, dim});
      k.byte_values(
          {weights.data(), kTokens, scale.data(), pages.run(), out.data(), dim, kRows, dim});
    } else {
      k.code_scores({q.data(), filled, other.data(), sums.data(), pages.run(), scale.data(),
                     other.data(), scores.data(), kTokens, kRows, dim, bits});
      k.code_values({weights.data(), kTokens, scale.data(), other.data(), pages.run(), out.data(),
                     dim, kRows, dim, bits});
    }
    hash.add(scores);
    hash.add(out);
  }
  return hash.value();
}

uint64_t state_step_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t n_keys : {1, 7, 64}) {
    for (const int64_t n_values : kHeadDims) {
      Floats state = random_floats(n_keys * n_values, 1, -1, 1);
      const auto keys = [&](uint64_t seed) { return random_floats(n_keys, seed, -1, 1); };
      const Floats read = keys(2);
      const Floats keep = keys(3);
      const Floats write = keys(4);
      const Floats key = keys(5);
      const Floats query = keys(6);
      const Floats value = random_floats(n_values, 7, -1, 1);
      Floats memory(value.size());
      Floats out(value.size());
      for (int variant = 0; variant < 3; ++variant) {
        k.state_step({state.data(), n_keys, n_values, variant > 0 ? read.data() : nullptr,
                      keep.data(), variant > 1 ? write.data() : nullptr, key.data(), value.data(),
                      query.data(), memory.data(), out.data()});
        hash.add(state);
        hash.add(memory);
        hash.add(out);
      }
    }
  }
  return hash.value();
}

uint64_t scan_step_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t n_states : {1, 7, 16}) {
    for (const int64_t n_columns : kHeadDims) {
      Floats state = random_floats(n_states * n_columns, 1, -1, 1);
      const Floats rate = random_floats(n_states * n_columns, 2, -2, 0);
      const Floats step = random_floats(n_columns, 3, 0, 3);
      const Floats value = random_floats(n_columns, 4, -1, 1);
      const Floats b = random_floats(n_states, 5, -1, 1);
      const Floats c = random_floats(n_states, 6, -1, 1);
      Floats out(value.size());
      k.scan_step({state.data(), n_states, n_columns, rate.data(), n_columns, step.data(),
                   value.data(), b.data(), c.data(), out.data()});
      hash.add(state);
      hash.add(out);
    }
  }
  return hash.value();
}

uint64_t rope_hash(const Kernels& k) {
  const Floats cos = random_floats(1100, 2, -1, 1);
  const Floats sin = random_floats(1100, 3, -1, 1);
  return of_rows([&](float* x, int64_t n) { k.rope_half(x, cos.data(), sin.data(), n / 2 * 2); });
}

uint64_t halves_hash(const Kernels& k) {
  Hash hash;
  for (const int64_t n : kLengths) {
    for (const Floats& x :
         {random_floats(n, 3, -7e4F, 7e4F), random_floats(n, 3, -1e-6F, 1e-6F), corners(n, 5)}) {
      std::vector<uint16_t> out(x.size());
      k.to_f16(x.data(), out.data(), n);
      hash.add(out);
    }
  }
  return hash.value();
}

struct KernelCase {
  const char* name;
  std::function<uint64_t(const Kernels&)> hash;
  uint64_t expected;
};

const Floats& other_row() {
  static const Floats row = random_floats(3000, 4);
  return row;
}

const std::vector<KernelCase>& kernel_cases() {
  const auto of = [](auto f) {
    return [f](const Kernels& k) {
      return of_rows([&](float* x, int64_t n) { f(k, x, other_row().data(), n); });
    };
  };
  using K = const Kernels&;
  using Row = const float*;
  const auto gate_of = [&](Act act) {
    const auto i = static_cast<size_t>(act);
    return of([i](K k, float* x, Row y, int64_t n) { k.gate[i](x, y, n); });
  };
  const auto act_of = [&](Act act) {
    const auto i = static_cast<size_t>(act);
    return of([i](K k, float* x, Row, int64_t n) { k.activate[i](x, n); });
  };
  static const std::vector<KernelCase> cases = {
      {"quantize_row", quantize_hash, 0xF83DB74E3BBA1E9E},
      {"rms_norm", [](K k) { return norm_hash(k, true, false); }, 0x14FCF5AB77359892},
      {"layer_norm", [](K k) { return norm_hash(k, false, false); }, 0xFBF2BF7269889200},
      {"layer_norm with bias", [](K k) { return norm_hash(k, false, true); }, 0x0F1DB1B5132379A5},
      {"add", of([](K k, float* x, Row y, int64_t n) { k.add(x, y, n); }), 0x815DB1BEF6D6B40E},
      {"gated silu", gate_of(Act::silu), 0x231B574F09ADAD52},
      {"gated gelu_tanh", gate_of(Act::gelu_tanh), 0x07C312A2CC340FAE},
      {"gated gelu", gate_of(Act::gelu), 0x99F52B0CF8213105},
      {"gated quick_gelu", gate_of(Act::quick_gelu), 0x3EE5E083D449F09C},
      {"gated relu", gate_of(Act::relu), 0xEAA657F5BD060E07},
      {"gated relu2", gate_of(Act::relu2), 0x28522DF4415579AE},
      {"gated sigmoid", gate_of(Act::sigmoid), 0x9F913482431C2767},
      {"gated tanh", gate_of(Act::tanh), 0xFBD9052221021917},
      {"silu", act_of(Act::silu), 0x285EA9CEE0828C8C},
      {"gelu_tanh", act_of(Act::gelu_tanh), 0xD1B688508E2B4D3E},
      {"gelu", act_of(Act::gelu), 0xAA10C97AD449A713},
      {"quick_gelu", act_of(Act::quick_gelu), 0xA8ECD9887B091C20},
      {"relu", act_of(Act::relu), 0x95333C00AA0C505A},
      {"relu2", act_of(Act::relu2), 0xD25D8F098617FDFF},
      {"sigmoid", act_of(Act::sigmoid), 0x0DAF955D3D4A622D},
      {"tanh", act_of(Act::tanh), 0xAC0C2AFF9AD90810},
      {"xielu", of([](K k, float* x, Row, int64_t n) {
         k.xielu(x, n, {0.8F, 0.9F, 0.5F, -1e-6F});
       }),
       0xC8901DDBE135D534},
      {"state_step", state_step_hash, 0xC80130F768F358DD},
      {"scan_step", scan_step_hash, 0x1CC23437BDD0CFE6},
      {"rope_half", rope_hash, 0x8787D22887E762CD},
      {"softcap", of([](K k, float* x, Row, int64_t n) { k.softcap(x, n, 30.0F); }),
       0xF5D782725201DB03},
      {"exp_sum, largest", exp_sum_hash, 0x94D6A5B13F330C4D},
      {"blend", of([](K k, float* x, Row y, int64_t n) { k.blend(x, y, n, 0.3F, 0.9F); }),
       0xBCF1BD0524A16A2F},
      {"f16 pages", f16_pages_hash, 0xECAA519D6C2B1E8F},
      {"int8 pages", [](K k) { return integer_pages_hash(k, 8); }, 0x2FD6B200E8C1C485},
      {"int4 pages", [](K k) { return integer_pages_hash(k, 4); }, 0x9D740C1DEF642C93},
      {"int2 pages", [](K k) { return integer_pages_hash(k, 2); }, 0x5209047FE507322F},
      {"weights of integer values", weights_hash, 0x6F334846E561584E},
      {"quantize_head", quantize_head_hash, 0x6D65B0874ADFBEAA},
      {"to_f16", halves_hash, 0x808579D924486202},
  };
  return cases;
}

// Products of a format for odd numbers of rows, columns and blocks, and for many rows.
uint64_t matmul_hash(const GemmKernel& kernel) {
  const Format& format = format_of(kernel.weight);
  const int64_t block = std::max(format.block_size, kernel.act == ActFormat::q8 ? 32 : 1);
  Hash hash;
  for (const int64_t n_blocks : {1, 3, 17}) {
    const int64_t k = n_blocks * block;
    for (const int64_t n_out : {1, 37, 200}) {
      Rng rng(static_cast<uint64_t>(k * 1000 + n_out));
      const auto weights = random_weights(format, n_out, k, rng);
      const Packed packed = pack(kernel, weights, n_out, k);
      for (const int64_t n_rows : {1, 3, 45}) {
        const QuantizedRows a = random_activations(kernel.act, n_rows, k, rng);
        hash.add(multiply(kernel, packed, a, n_rows, n_out, k));
      }
    }
  }
  return hash.value();
}

struct FormatCase {
  DType weight;
  uint64_t expected;
};

constexpr FormatCase kFormatCases[] = {
    {DType::f32, 0xFC0DCB040739B110},     {DType::f16, 0x636C2D1C4CA0A680},
    {DType::bf16, 0x2E4AE74CD5E3DF71},    {DType::q4_0, 0x1E27B38D54809311},
    {DType::q4_1, 0x95B8738E5C36FC03},    {DType::q5_0, 0x143D132667A48E35},
    {DType::q5_1, 0xB5E8F05EDA048AED},    {DType::q8_0, 0xBB82EB6053D5C0F1},
    {DType::q2_k, 0xCE74DE6780C0DABA},    {DType::q3_k, 0x7A6B8D595815E485},
    {DType::q4_k, 0xB22818BA5E55AF77},    {DType::q5_k, 0x8DB47143C3BE1D39},
    {DType::q6_k, 0xE657263BD9FB4D88},    {DType::iq4_nl, 0xAEA49883B394B8EE},
    {DType::iq4_xs, 0x531605CC2AD26506},  {DType::a4, 0x749633C660D4C8A0},
    {DType::a4_f32, 0xDE1F9A552F1847C3},  {DType::a8_f32, 0x85CD7B78C12BD680},
    {DType::e4m3, 0x2014211C4641E89E},    {DType::e5m2, 0xA9262B20B67559B2},
    {DType::nf4, 0xD777A99B7EEAC273},     {DType::fp4, 0x2C75ECD2DCC7A6B1},
    {DType::e2m1, 0x56BA93AA9406D92F},    {DType::mxfp4, 0xD9F6629D4D1E5A31},
    {DType::nvfp4, 0x5AEFBA39C00F2DCD},   {DType::iq1_s, 0x5F116250985C564F},
    {DType::iq1_m, 0xFAD4B62FCCC24380},   {DType::iq2_xxs, 0x5658ED42D46AC3C6},
    {DType::iq2_xs, 0xCFDC15776351B6A7},  {DType::iq2_s, 0x16C7DEF83A80DBE4},
    {DType::iq3_xxs, 0xE40E9324CAD0823F}, {DType::iq3_s, 0x37710472E397D1DD},
    {DType::tq1_0, 0xFD0F67E62F937737},   {DType::tq2_0, 0x10365004F0113C67},
};

std::string hex(uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llX", static_cast<unsigned long long>(hash));
  return text;
}

class SameBytes : public testing::TestWithParam<const Kernels*> {};

TEST_P(SameBytes, OfVectors) {
  for (const KernelCase& c : kernel_cases()) {
    EXPECT_EQ(hex(c.hash(*GetParam())), hex(c.expected)) << c.name;
  }
}

TEST_P(SameBytes, OfMatmuls) {
  for (const GemmKernel& row : find_kernels("ref")->gemm) {
    const auto* const found = std::ranges::find(kFormatCases, row.weight, &FormatCase::weight);
    ASSERT_NE(found, std::end(kFormatCases)) << format_of(row.weight).name << " has no hash";
  }
  for (const FormatCase& c : kFormatCases) {
    for (const GemmKernel& row : GetParam()->gemm) {
      if (row.weight != c.weight || row.act == ActFormat::bf16) continue;
      EXPECT_EQ(hex(matmul_hash(row)), hex(c.expected)) << format_of(c.weight).name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, SameBytes,
                         testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& info) { return std::string(info.param->isa); });

}  // namespace
}  // namespace ruv
