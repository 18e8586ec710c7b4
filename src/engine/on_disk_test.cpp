// Models that memory does not hold compute the same bytes from their packed file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "model/model.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

class OnDisk : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::vector<float> logits_of(const Model& model) {
    const std::vector<Token> ids = {1, 5, 2, 7, 3, 3, 8, 1, 12, 9};
    std::vector<float> all;
    const auto keep = [&](int64_t, std::span<const float> row) {
      all.insert(all.end(), row.begin(), row.end());
    };
    const LogitsOptions options{.n_threads = 2, .chunk_tokens = 3, .all = true};
    EXPECT_TRUE(compute_logits(model, ids, options, keep).ok());
    return all;
  }
  const std::string folder_ = testing::TempDir() + "ruv_on_disk_" + std::to_string(getpid());
};

TEST_P(OnDisk, TheBytesAreThoseOfAModelInMemory) {
  const std::string path =
      std::string(RUV_SOURCE_DIR "/tests/golden/models/") + GetParam() + "/model.gguf";
  LoadOptions options;
  options.packed_cache_dir = folder_;
  options.packed_cache_min_bytes = 0;
  options.packed_cache_reserve_bytes = 0;
  options.memory_bytes = 1000;
  const std::vector<float> plain = logits_of(**load_model(path));
  ASSERT_FALSE(plain.empty());
  for (const bool found : {false, true}) {
    const auto model = *load_model(path, options);
    ASSERT_NE(model->pager, nullptr);
    EXPECT_EQ(model->from_packed_file, found);
    EXPECT_EQ(logits_of(*model), plain);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OnDisk, testing::Values("llama2", "qwen3moe"));

}  // namespace
}  // namespace ruv
