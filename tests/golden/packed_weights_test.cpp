// The packed-weights file changes where weights lie and nothing else: logits of every golden model
// with and without it are the same bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "model/model.h"
#include "ruv/logits.h"

namespace ruv {
namespace {

std::vector<float> logits_of(const Model& model) {
  LogitsOptions options;
  options.n_threads = 2;
  options.all = true;
  options.n_source = model.h.reads_source() ? 4 : 0;
  std::vector<float> all;
  const std::vector<Token> ids = {3, 1, 4, 1, 5, 9, 2, 6};
  const Status status = compute_logits(
      model, ids, options,
      [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

TEST(PackedWeights, LogitsAreTheSameBits) {
  const std::string folder = testing::TempDir() + "ruv_golden_" + std::to_string(getpid());
  for (const auto& entry :
       std::filesystem::directory_iterator(RUV_SOURCE_DIR "/tests/golden/models")) {
    for (const Kernels* kernels : all_kernels()) {
      SCOPED_TRACE(entry.path().string() + " " + kernels->isa);
      LoadOptions options;
      options.n_threads = 2;
      options.isa = kernels->isa;
      options.packed_cache_min_bytes = 0;
      options.packed_cache_reserve_bytes = 0;
      const auto plain = load_model(entry.path().string(), options);
      options.packed_cache_dir = folder;
      const auto first = load_model(entry.path().string(), options);
      const auto second = load_model(entry.path().string(), options);
      ASSERT_TRUE(plain && first && second);
      EXPECT_TRUE(model_info(**second).from_packed_file);
      const std::vector<float> expected = logits_of(**plain);
      ASSERT_FALSE(expected.empty());
      for (const auto* model : {&first, &second}) {
        const std::vector<float> got = logits_of(***model);
        ASSERT_EQ(got.size(), expected.size());
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0);
      }
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ruv
