// The bytes of all encoders, as hashes, under the version that kEncoderVersion says.
#include "tensor/encoder_version.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "tensor/format.h"

namespace ruv::encoder_version_test {
namespace {

constexpr int64_t kNumbers = 4096;

// Sums of six uniform numbers, nearly normal, and the same on every machine; some large ones.
std::vector<float> drawn_numbers() {
  Rng rng(7);
  std::vector<float> x(kNumbers);
  for (size_t i = 0; i < x.size(); ++i) {
    double sum = -3.0;
    for (int n = 0; n < 6; ++n) sum += rng.uniform();
    x[i] = static_cast<float>(i % 97 == 0 ? 4.0 * sum : 0.05 * sum);
  }
  return x;
}

std::vector<float> drawn_importance() {
  Rng rng(8);
  std::vector<float> importance(kNumbers);
  for (float& one : importance) {
    const double root = rng.uniform();
    one = static_cast<float>(root * root);
  }
  return importance;
}

// The hash of the bytes without importance and with it.
uint64_t hash_of(const Format& format, const std::vector<float>& x,
                 const std::vector<float>& importance) {
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(kNumbers)));
  format.encode(x.data(), nullptr, bytes.data(), kNumbers);
  const uint64_t plain = hash_bytes(bytes);
  format.encode(x.data(), importance.data(), bytes.data(), kNumbers);
  return hash_bytes(bytes, plain);
}

const std::map<std::string, uint64_t>& hashes_of_version_2() {
  static const std::map<std::string, uint64_t> hashes = {
      {"f32", 0xf97dba2a1785ef4dULL},     {"f16", 0x8f97243c9f3ad36bULL},
      {"q4_0", 0xd73b75e970efde08ULL},    {"q4_1", 0xf403da709182def8ULL},
      {"q5_0", 0xe357443ea565616fULL},    {"q5_1", 0x181982f029fc4123ULL},
      {"q8_0", 0x07d520c676c0f6dbULL},    {"q8_1", 0xcc47f02016122e93ULL},
      {"q2_k", 0x7b25220ecfbfb823ULL},    {"q3_k", 0x9aaabb08e1b5d37eULL},
      {"q4_k", 0x1e7f8372d42367f6ULL},    {"q5_k", 0x914d9c9913d10de8ULL},
      {"q6_k", 0xec785d139824fdcbULL},    {"q8_k", 0xbb1e3ffc4eb5a599ULL},
      {"iq2_xxs", 0x081abb5aced064a1ULL}, {"iq2_xs", 0xa3195979b1aab9afULL},
      {"iq3_xxs", 0x0f8625cc90500a11ULL}, {"iq1_s", 0x30c002740b082362ULL},
      {"iq4_nl", 0x5d80991d39d14d8bULL},  {"iq3_s", 0x51217cb501695defULL},
      {"iq2_s", 0x0a0cbda5fb8f9fa4ULL},   {"iq4_xs", 0xc4ebf434aa2c1f4dULL},
      {"i8", 0x4cd90cedb50da3cbULL},      {"i16", 0x9f049556e3a67f7fULL},
      {"i32", 0x1a9669f48f21d767ULL},     {"i64", 0x7a9e275ac428dd8bULL},
      {"f64", 0xd5590998ff4a6d2fULL},     {"iq1_m", 0xd980071fa4dccf65ULL},
      {"bf16", 0xe5804ee4fca2f3c7ULL},    {"tq1_0", 0x358a247b1cfdc10aULL},
      {"tq2_0", 0x96c225830e6304acULL},   {"mxfp4", 0x825392872fad7c08ULL},
      {"nvfp4", 0x934693158c43b5f4ULL},   {"a4", 0x0d0102a9068f7933ULL},
  };
  return hashes;
}

// Fails where an encoder writes other bytes: then kEncoderVersion becomes one more, and the hashes
// here become those of the new version.
TEST(EncoderVersion, StandsForTheBytesOfAllEncoders) {
  ASSERT_EQ(kEncoderVersion, 2U) << "the hashes here are those of another version";
  const std::vector<float> x = drawn_numbers();
  const std::vector<float> importance = drawn_importance();
  size_t n_encoders = 0;
  for (const Format& format : all_formats()) {
    if (format.encode == nullptr) continue;
    n_encoders += 1;
    const uint64_t hash = hash_of(format, x, importance);
    const auto found = hashes_of_version_2().find(format.name);
    ASSERT_NE(found, hashes_of_version_2().end())
        << fmt::format("no hash of {}: {{\"{}\", {:#018x}ULL}},", format.name, format.name, hash);
    EXPECT_EQ(found->second, hash)
        << format.name << " has other bytes than version " << kEncoderVersion
        << ": raise kEncoderVersion, and put " << fmt::format("{:#018x}", hash) << " here";
  }
  EXPECT_EQ(n_encoders, hashes_of_version_2().size());
}

}  // namespace
}  // namespace ruv::encoder_version_test
