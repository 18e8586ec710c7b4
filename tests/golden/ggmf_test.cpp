// Small trained models of three generations in the files of rwkv.cpp, in floats and in blocks,
// against the logits that their trainers' own code gave. Needs the shared data.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "format/model_file.h"
#include "format/quantize.h"
#include "ruv/logits.h"
#include "ruv/model.h"

namespace ruv::ggmf_test {
namespace {

std::string folder_of_data() {
  const char* const dir = std::getenv("RUV_DATA_DIR");
  return (dir != nullptr ? std::string(dir) : RUV_SOURCE_DIR "/../shared/data") + "/models/rwkv/";
}

std::vector<float> logits_of(const std::string& path, std::span<const Token> ids, int64_t chunk) {
  LoadOptions load;
  load.n_threads = 1;
  const auto model = load_model(path, load);
  EXPECT_TRUE(model) << model.error().message();
  if (!model) return {};
  LogitsOptions options;
  options.n_threads = 1;
  options.chunk_tokens = chunk;
  std::vector<float> last;
  const Status status = compute_logits(
      **model, ids, options,
      [&](int64_t, std::span<const float> row) { last.assign(row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return last;
}

// The largest difference over the standard deviation of the expected numbers.
double difference(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return INFINITY;
  double mean = 0, squares = 0, worst = 0;
  for (const float x : want) mean += double{x} / static_cast<double>(want.size());
  for (const float x : want) squares += (x - mean) * (x - mean) / static_cast<double>(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, std::fabs(double{got[i]} - double{want[i]}));
  }
  return worst / std::sqrt(squares);
}

struct Generation {
  const char* model;
  const char* expected;
};

class GgmfModels : public testing::TestWithParam<Generation> {
 protected:
  void SetUp() override {
    const std::string path = folder_of_data() + GetParam().expected;
    if (!file_exists(path)) GTEST_SKIP() << path << " is not there";
    const auto bytes = MappedFile::open(path);
    ASSERT_TRUE(bytes);
    want_.resize(bytes->bytes().size() / sizeof(float));
    std::memcpy(want_.data(), bytes->bytes().data(), want_.size() * sizeof(float));
  }
  std::string file(std::string_view type) const {
    return fmt::format("{}{}-{}.bin", folder_of_data(), GetParam().model, type);
  }

  const std::vector<Token> ids_ = {'"', 'i', 'n'};  // a token is a byte
  std::vector<float> want_;
};

TEST_P(GgmfModels, LogitsAreThoseOfTheTrainers) {
  EXPECT_LT(difference(logits_of(file("FP32"), ids_, 512), want_), 1e-4);
  EXPECT_LT(difference(logits_of(file("FP16"), ids_, 512), want_), 0.05);
  EXPECT_LT(difference(logits_of(file("Q5_1"), ids_, 512), want_), 1.0);
  EXPECT_LT(difference(logits_of(file("Q5_0"), ids_, 512), want_), 1.0);
}

TEST_P(GgmfModels, RowByRowGivesTheSameBytes) {
  EXPECT_EQ(logits_of(file("FP32"), ids_, 1), logits_of(file("FP32"), ids_, 512));
}

TEST_P(GgmfModels, GgufFilesOfThemGiveTheSameLogits) {
  const std::string path = testing::TempDir() + "ruv_ggmf_" + std::to_string(getpid()) + ".gguf";
  const auto opened = ModelFile::open(file("FP32"));
  ASSERT_TRUE(opened) << opened.error().message();
  const Status status = quantize_model(**opened, "f32", path);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LT(difference(logits_of(path, ids_, 512), want_), 1e-4);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(
    Rwkv, GgmfModels,
    testing::Values(Generation{"tiny-rwkv-4v0-660K", "expected-logits-4v0-660K.bin"},
                    Generation{"tiny-rwkv-5v2-730K", "expected-logits-5v2-730K.bin"},
                    Generation{"tiny-rwkv-7v0-834K", "expected-logits-7v0-834K.bin"}));

}  // namespace
}  // namespace ruv::ggmf_test
