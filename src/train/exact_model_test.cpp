// Logits beside those of the reference implementation, which stay nearer than those of inference.
#include "train/exact_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"

namespace ruv::exact_model_test {
namespace {

const std::string kModels = RUV_SOURCE_DIR "/tests/golden/models/";

using Rows = std::vector<std::vector<float>>;

Rows rows_of(ExactModel& model, const std::vector<int32_t>& ids, int64_t first) {
  Rows rows;
  const Status done =
      model.each_logits(ids, first, [&](int64_t position, std::span<const float> logits) {
        EXPECT_EQ(position, first + std::ssize(rows));
        rows.emplace_back(logits.begin(), logits.end());
      });
  EXPECT_TRUE(done.ok()) << done.message();
  return rows;
}

TEST(ExactModel, LogitsAreThoseOfTheReference) {
  for (const char* const name : {"llama3", "qwen2", "gemma2", "phi3", "gpt2", "mixtral"}) {
    const std::string folder = kModels + name;
    const Json golden = *parse_json(*read_text_file(folder + "/golden.json"), name);
    const auto ids = golden["ids"].get<std::vector<int32_t>>();
    const auto expected = golden["logits"].get<Rows>();
    const auto model = *ExactModel::create(folder + "/model.gguf", 2);
    const Rows found = rows_of(*model, ids, 0);
    ASSERT_EQ(found.size(), expected.size()) << name;
    double error = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].size(), expected[i].size()) << name;
      for (size_t c = 0; c < found[i].size(); ++c) {
        error = std::max(error, std::abs(double{found[i][c]} - double{expected[i][c]}));
      }
    }
    EXPECT_LT(error, 1e-5) << name;
    // A shorter text, and the last rows alone, in memory that has room already.
    const std::vector<int32_t> some(ids.begin(), ids.begin() + 5);
    EXPECT_EQ(rows_of(*model, some, 3), Rows(found.begin() + 3, found.begin() + 5)) << name;
  }
}

TEST(ExactModel, TokensThatAreNoneAreRefused) {
  const auto model = *ExactModel::create(kModels + "llama2/model.gguf", 1);
  const auto code = [&](const std::vector<int32_t>& ids, int64_t first) {
    return model->each_logits(ids, first, [](int64_t, std::span<const float>) {}).code();
  };
  EXPECT_EQ(code({}, 0), Code::invalid);
  EXPECT_EQ(code({1, 2}, 2), Code::invalid);
  EXPECT_EQ(code({1, -2}, 0), Code::invalid);
  EXPECT_EQ(code({1, 1 << 30}, 0), Code::invalid);
}

}  // namespace
}  // namespace ruv::exact_model_test
