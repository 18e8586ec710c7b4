// Every format against the golden file made by tests/golden/make_format_goldens.py, and bounds on
// what encoding may lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/rng.h"
#include "tensor/format.h"

namespace ruv::formats_test {
namespace {

struct Golden {
  Bytes blocks;
  std::vector<float> numbers;
  Bytes encoded;  // empty: no encoding of another engine to equal
  double peer_error = 0.0;
};

struct GoldenFile {
  std::vector<MappedFile> files;  // of the standard's formats, and of ik_llama.cpp's
  std::vector<float> input;       // of the first
  std::map<std::string, Golden> formats;
};

std::vector<float> floats(Bytes bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Status add_goldens(const char* path, GoldenFile& golden) {
  golden.files.push_back(TRY(MappedFile::open(path)));
  const MappedFile& file = golden.files.back();
  ByteReader reader(file.bytes(), file.path());
  const auto n_input = TRY(reader.read<uint32_t>("n"));
  const std::vector<float> input = floats(TRY(reader.take(n_input * sizeof(float), "input")));
  if (golden.input.empty()) golden.input = input;
  while (reader.remaining() > 0) {
    const std::string name(as_text(TRY(reader.take(16, "name"))).data());
    Golden& entry = golden.formats[name];
    const auto n_numbers = TRY(reader.read<uint32_t>("n_numbers"));
    const auto n_bytes = TRY(reader.read<uint32_t>("n_block_bytes"));
    entry.blocks = TRY(reader.take(n_bytes, "blocks"));
    entry.numbers = floats(TRY(reader.take(n_numbers * sizeof(float), "numbers")));
    entry.encoded = TRY(reader.take(TRY(reader.read<uint32_t>("n_encoded")), "encoded"));
    entry.peer_error = TRY(reader.read<double>("peer_error"));
  }
  return {};
}

Result<GoldenFile> load_goldens() {
  GoldenFile golden;
  TRY(add_goldens(RUV_SOURCE_DIR "/tests/golden/formats/formats.bin", golden));
  TRY(add_goldens(RUV_SOURCE_DIR "/tests/golden/formats/ik_formats.bin", golden));
  return golden;
}

std::vector<std::byte> encoded(const Format& format, const std::vector<float>& x) {
  std::vector<std::byte> bytes(
      static_cast<size_t>(format.bytes_of(static_cast<int64_t>(x.size()))));
  format.encode(x.data(), nullptr, bytes.data(), static_cast<int64_t>(x.size()));
  return bytes;
}

std::vector<float> round_trip(const Format& format, const std::vector<float>& x) {
  const auto bytes = encoded(format, x);
  std::vector<float> back(x.size());
  format.decode(bytes.data(), back.data(), static_cast<int64_t>(x.size()));
  return back;
}

double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double off = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += off * off;
  }
  return sum;
}

float greatest(const std::vector<float>& x) {
  float top = 0.0F;
  for (const float number : x) top = std::max(top, std::fabs(number));
  return top;
}

// Normal numbers by the polar method.
std::vector<float> normal_numbers(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.uniform()));
    x[i] = static_cast<float>(radius * std::cos(6.283185307179586 * rng.uniform()));
  }
  return x;
}

constexpr size_t kOwnFormats = 8;

// Those of files, which have goldens.
std::span<const Format> filed_formats() { return all_formats().first(52); }

TEST(Formats, TableIsInOrderAndFindsEveryRow) {
  int last = -1;
  for (const Format& format : all_formats()) {
    const int id = static_cast<int>(format.dtype);
    EXPECT_GT(id, last);
    last = id;
    EXPECT_EQ(&format_of(format.dtype), &format);
    const bool is_own = id >= kFirstOwnDType;
    EXPECT_EQ(find_format(static_cast<uint32_t>(id)), is_own ? nullptr : &format);
    EXPECT_EQ(find_format(std::string_view(format.name)), &format);
    EXPECT_EQ(format.bytes_of(format.block_size * 3), format.header_bytes + format.block_bytes * 3);
  }
  EXPECT_EQ(all_formats().size(), 52U + kOwnFormats);
}

// The pages of docs/formats have a row for each format.
TEST(Formats, PagesHaveEveryFormat) {
  std::string pages;
  for (const char* name : {"blocks.md", "ik.md"}) {
    const auto page = MappedFile::open(std::string(RUV_SOURCE_DIR "/docs/formats/") + name);
    ASSERT_TRUE(page.has_value()) << page.error().message();
    pages += as_text(page->bytes());
  }
  for (const Format& format : all_formats()) {
    if (static_cast<int>(format.dtype) >= 200) continue;  // in no file
    const std::string row =
        "| " + std::to_string(static_cast<int>(format.dtype)) + " | `" + format.name + "` | " +
        std::to_string(format.block_size) + " | " + std::to_string(format.block_bytes) + " | " +
        (format.header_bytes > 0 ? std::to_string(format.header_bytes) + " | " : "");
    EXPECT_NE(pages.find(row), std::string::npos) << row;
  }
}

TEST(Formats, UnknownIdsAndNamesAreNull) {
  for (const uint32_t id : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 41U, 136U, 142U, 143U, 147U, 159U,
                            200U, 207U, 255U, 0xFFFFFFFFU}) {
    EXPECT_EQ(find_format(id), nullptr) << id;
  }
  EXPECT_EQ(find_format("q4_2"), nullptr);
  EXPECT_EQ(find_format("Q4_0"), nullptr);
  EXPECT_EQ(find_format(""), nullptr);
}

TEST(Formats, DecodeEqualsGoldenInEveryBit) {
  const auto golden = load_goldens();
  ASSERT_TRUE(golden.has_value()) << golden.error().message();
  for (const Format& format : filed_formats()) {
    ASSERT_EQ(golden->formats.count(format.name), 1U) << format.name;
    const Golden& entry = golden->formats.at(format.name);
    const auto n = static_cast<int64_t>(entry.numbers.size());
    ASSERT_EQ(format.bytes_of(n), static_cast<int64_t>(entry.blocks.size())) << format.name;
    std::vector<float> mine(entry.numbers.size());
    format.decode(entry.blocks.data(), mine.data(), n);
    for (size_t i = 0; i < mine.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(mine[i]), std::bit_cast<uint32_t>(entry.numbers[i]))
          << format.name << " number " << i << ": " << mine[i] << " for " << entry.numbers[i];
    }
  }
}

TEST(Formats, DecodeReadsBlocksAtAnyAddress) {
  const auto golden = load_goldens();
  ASSERT_TRUE(golden.has_value());
  for (const Format& format : filed_formats()) {
    const Golden& entry = golden->formats.at(format.name);
    std::vector<std::byte> moved(entry.blocks.size() + 1);
    std::copy(entry.blocks.begin(), entry.blocks.end(), moved.begin() + 1);
    std::vector<float> mine(entry.numbers.size());
    format.decode(moved.data() + 1, mine.data(), static_cast<int64_t>(mine.size()));
    EXPECT_EQ(std::memcmp(mine.data(), entry.numbers.data(), mine.size() * sizeof(float)), 0)
        << format.name;
  }
}

TEST(Formats, EncodeEqualsGoldenBytes) {
  const auto golden = load_goldens();
  ASSERT_TRUE(golden.has_value());
  int checked = 0;
  for (const Format& format : filed_formats()) {
    const Golden& entry = golden->formats.at(format.name);
    if (entry.encoded.empty()) continue;
    const auto mine = encoded(format, golden->input);
    ASSERT_EQ(mine.size(), entry.encoded.size()) << format.name;
    const auto differs = std::mismatch(mine.begin(), mine.end(), entry.encoded.begin()).first;
    EXPECT_EQ(differs, mine.end()) << format.name << " byte " << differs - mine.begin();
    ++checked;
  }
  EXPECT_EQ(checked, 12);
}

// The exponent of a block stands for 2^(e - 128); the two least are subnormal numbers.
TEST(Formats, Mxfp4HasEveryPowerOfTwo) {
  const Format& format = format_of(DType::mxfp4);
  for (const int e : {0, 1, 2, 3, 127, 254}) {
    std::vector<std::byte> block(static_cast<size_t>(format.bytes_of(32)), std::byte{0x22});
    block[0] = static_cast<std::byte>(e);
    std::vector<float> x(32);
    format.decode(block.data(), x.data(), 32);
    const float unit = std::ldexp(1.0F, e - 127);  // code 2 is one, which the table holds doubled
    for (const float number : x) EXPECT_EQ(number, unit) << "exponent " << e;
  }
}

uint64_t fnv1a(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3ULL;
  return hash;
}

// The encoders that search have no other engine's bytes to equal, so their own are kept: a change
// here changes every file that is made with them.
TEST(Formats, SearchedEncodersWriteTheBytesTheyWrote) {
  const auto golden = load_goldens();
  ASSERT_TRUE(golden.has_value());
  struct Row {
    const char* name;
    uint64_t hash;
  };
  constexpr Row kRows[] = {
      {"q2_k", 0x592bb3474552ad2fULL},    {"q3_k", 0xa51ed6cdd2d9dd2fULL},
      {"q4_k", 0x1fba810831bdf868ULL},    {"q5_k", 0xbfade4c824d53ff6ULL},
      {"q6_k", 0xf0cd0cfe05174908ULL},    {"iq4_nl", 0xc7de3e309a1ff00eULL},
      {"iq4_xs", 0xdca877e30bacd878ULL},  {"iq1_s", 0xcaaa3506f801e533ULL},
      {"iq1_m", 0x21066960c53c3345ULL},   {"iq2_xxs", 0xcded661f8e84663bULL},
      {"iq2_xs", 0x8e407c313f97e4b4ULL},  {"iq2_s", 0xa4d9c6402a9493feULL},
      {"iq3_xxs", 0x98c90e664ae51bf4ULL}, {"iq3_s", 0x9637ab10804c99e4ULL},
  };
  int checked = 0;
  for (const Row& row : kRows) {
    const Format* format = find_format(row.name);
    ASSERT_NE(format, nullptr) << row.name;
    EXPECT_NE(golden->formats.at(row.name).peer_error, 0.0) << row.name;
    EXPECT_EQ(fnv1a(encoded(*format, golden->input)), row.hash) << row.name;
    ++checked;
  }
  EXPECT_EQ(checked, 14);
}

// Among 32 numbers one is thirty times as large as the others, which then lie between two levels
// unless 0 is a level. Wrong by half a level they would lose far more than all they are.
TEST(Formats, SmallNumbersBesideALargeOneStayNearZero) {
  for (const char* name : {"q4_k", "q5_k"}) {
    std::vector<float> x = normal_numbers(256, 17);
    for (float& number : x) number *= 0.03F;
    x[165] = 3.0F;
    const std::vector<float> back = round_trip(*find_format(name), x);
    double numbers = 0.0;
    double errors = 0.0;
    for (size_t i = 160; i < 192; ++i) {
      if (i == 165) continue;
      numbers += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      errors += static_cast<double>(x[i] - back[i]) * static_cast<double>(x[i] - back[i]);
    }
    EXPECT_LE(errors, 1.1 * numbers) << name;
    EXPECT_NEAR(back[165], x[165], 0.02F) << name;
  }
}

TEST(Formats, SearchedEncodersLoseNoMoreThanThePeer) {
  const auto golden = load_goldens();
  ASSERT_TRUE(golden.has_value());
  const std::vector<float> x(golden->input.begin(), golden->input.begin() + 4 * 256);
  int checked = 0;
  for (const Format& format : filed_formats()) {
    const double peer = golden->formats.at(format.name).peer_error;
    if (peer == 0.0) continue;
    EXPECT_LE(squared_error(round_trip(format, x), x), 1.02 * peer) << format.name;
    ++checked;
  }
  EXPECT_EQ(checked, 14);
}

// Root mean square error on normal numbers, relative to their size, and the greatest error relative
// to the greatest number of a block. Measured values plus about a tenth.
struct Bound {
  const char* name;
  double rms;
  double worst;
  float top = INFINITY;  // the greatest magnitude it holds; beyond, it saturates
  // Codebooks do not have every pattern, and even counts of signs make some of them wrong: what the
  // corners allow is this much wider.
  float slack = 1.0F;
};
constexpr Bound kBounds[] = {
    {"f32", 0.0, 0.0},
    {"f16", 2.3e-4, 5e-4},
    {"bf16", 1.9e-3, 4e-3},
    {"f64", 0.0, 0.0},
    {"q4_0", 0.094, 0.13},
    {"q4_1", 0.086, 0.073},
    {"q5_0", 0.047, 0.065},
    {"q5_1", 0.042, 0.036},
    {"q8_0", 0.0059, 0.0047},
    {"q8_1", 0.0059, 0.0047},
    {"q2_k", 0.29, 0.45},
    {"q3_k", 0.156, 0.25},
    {"q4_k", 0.077, 0.118},
    {"q5_k", 0.038, 0.044},
    {"q6_k", 0.0184, 0.021},
    {"q8_k", 0.0077, 0.0044},
    {"iq4_nl", 0.08, 0.15},
    {"iq4_xs", 0.081, 0.14},
    {"tq1_0", 0.88, 0.51},
    {"tq2_0", 0.88, 0.51},
    {"mxfp4", 0.127, 0.26},
    {"nvfp4", 0.106, 0.19, 2688.0F},
    {"iq1_s", 0.5, 0.9, INFINITY, 9.0F},
    {"iq1_m", 0.46, 0.9, INFINITY, 9.0F},
    {"iq2_xxs", 0.38, 0.9, INFINITY, 9.0F},
    {"iq2_xs", 0.33, 0.9, INFINITY, 9.0F},
    {"iq2_s", 0.27, 0.9, INFINITY, 9.0F},
    {"iq3_xxs", 0.2, 0.9, INFINITY, 9.0F},
    {"iq3_s", 0.15, 0.9, INFINITY, 9.0F},
    {"a4", 0.095, 0.08},
};

TEST(Formats, RoundTripStaysWithinBounds) {
  const auto x = normal_numbers(256 * 64, 7);
  double size = 0.0;
  for (const float number : x) size += static_cast<double>(number) * static_cast<double>(number);
  for (const Bound& bound : kBounds) {
    const Format& format = *find_format(std::string_view(bound.name));
    const auto back = round_trip(format, x);
    EXPECT_LE(std::sqrt(squared_error(back, x) / size), bound.rms) << bound.name;
    const auto block = static_cast<size_t>(format.block_size);
    double worst = 0.0;
    for (size_t at = 0; at < x.size(); at += block) {
      const std::vector<float> part(x.begin() + static_cast<ptrdiff_t>(at),
                                    x.begin() + static_cast<ptrdiff_t>(at + block));
      const double top = static_cast<double>(greatest(part));
      for (size_t i = 0; i < block; ++i) {
        worst = std::max(worst, std::fabs(static_cast<double>(back[at + i] - part[i])) / top);
      }
    }
    EXPECT_LE(worst, bound.worst) << bound.name;
  }
}

TEST(Formats, EveryEncoderOfFractionsHasABound) {
  size_t n = 0;
  for (const Format& format : all_formats()) n += format.encode != nullptr ? 1 : 0;
  EXPECT_EQ(n, std::size(kBounds) + 4);  // and the four integers
}

TEST(Formats, IntegersRoundAndSaturate) {
  const std::vector<float> x{0.5F, 1.5F, -2.5F, 1e30F, -1e30F, NAN};
  EXPECT_EQ(round_trip(format_of(DType::i8), {x.begin(), x.end() - 1}),
            (std::vector<float>{0, 2, -2, 127, -128}));
  EXPECT_EQ(round_trip(format_of(DType::i16), {x.begin(), x.end() - 1}),
            (std::vector<float>{0, 2, -2, 32767, -32768}));
  EXPECT_EQ(round_trip(format_of(DType::i32), {x.begin(), x.end() - 1}),
            (std::vector<float>{0, 2, -2, 2147483648.0F, -2147483648.0F}));
  EXPECT_EQ(round_trip(format_of(DType::i64), {x.begin(), x.end() - 1}),
            (std::vector<float>{0, 2, -2, 0x1p63F, -0x1p63F}));
  EXPECT_EQ(round_trip(format_of(DType::i8), {x.back()}), std::vector<float>{0});
}

// What a row may hold at worst; `allowed` is the error permitted, relative to the greatest number.
struct Corner {
  const char* what;
  std::vector<float> x;
  float allowed;
};

std::vector<Corner> corners() {
  std::vector<Corner> all;
  all.push_back({"zeros", std::vector<float>(512, 0.0F), 0.0F});
  all.push_back({"one value", std::vector<float>(512, 0.75F), 0.26F});
  all.push_back({"one negative value", std::vector<float>(512, -0.75F), 0.26F});
  std::vector<float> swing(512);
  for (size_t i = 0; i < swing.size(); ++i) swing[i] = i % 3 == 0 ? -2.0F : 2.0F;
  all.push_back({"plus and minus the greatest", swing, 0.26F});
  auto negative = normal_numbers(512, 3);
  for (float& number : negative) number = -std::fabs(number) - 0.01F;
  all.push_back({"negative only", negative, 0.51F});
  auto positive = negative;
  for (float& number : positive) number = -number;
  all.push_back({"positive only", positive, 0.51F});
  auto huge = normal_numbers(512, 4);
  huge[300] = 60000.0F;
  all.push_back({"one huge number", huge, 0.3F});
  auto tiny = normal_numbers(512, 5);
  for (float& number : tiny) number *= 1e-40F;
  all.push_back({"subnormal", tiny, 1.01F});
  std::vector<float> mixed(512, 1e-42F);
  mixed[0] = 1.0F;
  mixed[511] = -1.0F;
  all.push_back({"one among subnormals", mixed, 0.3F});
  return all;
}

TEST(Formats, CornersStayFiniteAndNear) {
  for (const Bound& bound : kBounds) {
    const Format& format = *find_format(std::string_view(bound.name));
    for (const Corner& corner : corners()) {
      const auto back = round_trip(format, corner.x);
      const float top = greatest(corner.x);
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_TRUE(std::isfinite(back[i])) << format.name << ", " << corner.what << ", " << i;
        const float held = std::clamp(corner.x[i], -bound.top, bound.top);
        ASSERT_LE(std::fabs(back[i] - held), bound.slack * corner.allowed * top)
            << format.name << ", " << corner.what << ", number " << i << ": " << back[i] << " for "
            << corner.x[i];
      }
    }
  }
}

}  // namespace
}  // namespace ruv::formats_test
