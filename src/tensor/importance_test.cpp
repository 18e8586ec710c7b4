// Encoders with the importance of columns.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "tensor/format.h"

namespace ruv {
namespace {

constexpr int64_t kNumbers = 256 * 32;

std::vector<float> weights_of_columns() {
  std::mt19937 random(11);
  std::vector<float> x(kNumbers);
  for (float& number : x) {
    // Sums of uniform numbers: the standard's normal_distribution differs between libraries.
    float sum = 0.0F;
    for (int i = 0; i < 6; ++i) sum += static_cast<float>(random() % 20001) / 10000.0F - 1.0F;
    number = sum;
  }
  return x;
}

// One column of eight matters a hundred times as much as the others.
std::vector<float> uneven_importance() {
  std::vector<float> importance(kNumbers, 1.0F);
  for (size_t i = 0; i < importance.size(); i += 8) importance[i] = 100.0F;
  return importance;
}

std::vector<std::byte> encoded_with(const Format& format, const std::vector<float>& x,
                                    const float* importance) {
  std::vector<std::byte> bytes(static_cast<size_t>(format.bytes_of(std::ssize(x))));
  format.encode(x.data(), importance, bytes.data(), std::ssize(x));
  return bytes;
}

double weighted_loss(const Format& format, const std::vector<float>& x,
                     const std::vector<float>& importance, const std::vector<std::byte>& bytes) {
  std::vector<float> back(x.size());
  format.decode(bytes.data(), back.data(), std::ssize(x));
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = static_cast<double>(x[i]) - static_cast<double>(back[i]);
    sum += static_cast<double>(importance[i]) * off * off;
  }
  return sum;
}

// What importance makes of the weighted error: at most this part remains.
struct Remains {
  const char* name;
  double part;
};
constexpr Remains kRemains[] = {
    {"q4_0", 0.9},   {"q4_1", 0.9},    {"q5_0", 0.95},   {"q5_1", 0.9},  {"q8_0", 0.999},
    {"q2_k", 0.8},   {"q3_k", 0.9},    {"q4_k", 0.9},    {"q5_k", 0.9},  {"q6_k", 0.97},
    {"iq4_nl", 0.9}, {"iq4_xs", 0.95}, {"iq1_s", 0.9},   {"iq1_m", 0.9}, {"iq2_xxs", 0.9},
    {"iq2_xs", 0.9}, {"iq2_s", 0.9},   {"iq3_xxs", 0.9}, {"iq3_s", 0.9},
};

TEST(Importance, LowersTheErrorThatItWeighs) {
  const auto x = weights_of_columns();
  const auto importance = uneven_importance();
  for (const Remains& row : kRemains) {
    const Format& format = *find_format(std::string_view(row.name));
    const double plain = weighted_loss(format, x, importance, encoded_with(format, x, nullptr));
    const double with =
        weighted_loss(format, x, importance, encoded_with(format, x, importance.data()));
    EXPECT_LE(with, row.part * plain) << row.name << " " << with / plain;
  }
}

TEST(Importance, OnlyProportionsMatter) {
  const auto x = weights_of_columns();
  const auto importance = uneven_importance();
  std::vector<float> larger = importance;
  for (float& number : larger) number *= 1024.0F;
  for (const Format& format : all_formats()) {
    if (format.encode == nullptr) continue;
    EXPECT_EQ(encoded_with(format, x, importance.data()), encoded_with(format, x, larger.data()))
        << format.name;
  }
}

TEST(Importance, ColumnsOfNoImportanceStayFinite) {
  const auto x = weights_of_columns();
  std::vector<float> importance(kNumbers, 0.0F);
  importance[300] = 1e-30F;
  importance[600] = 1e30F;
  for (const Format& format : all_formats()) {
    if (format.encode == nullptr) continue;
    const auto bytes = encoded_with(format, x, importance.data());
    std::vector<float> back(x.size());
    format.decode(bytes.data(), back.data(), std::ssize(x));
    for (const float number : back) ASSERT_LE(std::fabs(number), 400.0F) << format.name;
  }
}

// Formats that search without it weigh equal columns as unknown ones.
TEST(Importance, EqualColumnsAreAsUnknown) {
  const auto x = weights_of_columns();
  const std::vector<float> equal(kNumbers, 3.0F);
  for (const char* name : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "f16"}) {
    const Format& format = *find_format(std::string_view(name));
    EXPECT_EQ(encoded_with(format, x, equal.data()), encoded_with(format, x, nullptr)) << name;
  }
}

}  // namespace
}  // namespace ruv
