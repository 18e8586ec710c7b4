// Models in f16 and bf16 on tables that multiply pairs of bf16: logits near the exact ones, and the
// same bytes however a prompt is cut.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "format/quantize.h"
#include "golden/test_changed_model.h"
#include "kernels/kernels.h"
#include "ruv/logits.h"

namespace ruv::rounded_pairs_test {
namespace {

std::vector<float> logits_of(const Model& model, int64_t chunk_tokens) {
  std::vector<Token> ids;
  for (Token id = 0; id < 60; ++id) ids.push_back(id * 7 % 30);
  std::vector<float> all;
  const Status status = compute_logits(
      model, ids, {.n_threads = 2, .chunk_tokens = chunk_tokens, .all = true},
      [&](int64_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

// Of the difference, as a share of the whole.
double relative_size(const std::vector<float>& exact, const std::vector<float>& rounded) {
  double difference = 0, whole = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double{exact[i]} - double{rounded[i]}, 2);
    whole += std::pow(double{exact[i]}, 2);
  }
  return std::sqrt(difference / whole);
}

// isa empty: exact.
std::shared_ptr<const Model> load(const std::string& path, const std::string& isa) {
  LoadOptions options;
  options.isa = isa;
  options.portable = isa.empty();
  auto model = load_model(path, options);
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return model ? *model : nullptr;
}

void expect_near(const std::string& path, const Kernels& table) {
  const auto exact = load(path, "");
  const auto rounded = load(path, table.isa);
  ASSERT_TRUE(exact != nullptr && rounded != nullptr);
  const std::vector<float> logits = logits_of(*rounded, 64);
  const double difference = relative_size(logits_of(*exact, 64), logits);
  EXPECT_GT(difference, 0) << "it does not round";
  EXPECT_LT(difference, 1e-2);
  for (const int64_t chunk : {1, 7}) EXPECT_EQ(logits_of(*rounded, chunk), logits) << chunk;
}

TEST(RoundedPairs, AreNearTheExactLogits) {
  const std::string path = testing::TempDir() + "ruv_pairs_" + std::to_string(getpid()) + ".gguf";
  bool has_pairs = false;
  for (const Kernels* table : all_kernels()) {
    if (table->portable) continue;
    has_pairs = true;
    for (const char* name : {"llama2", "qwen2", "gemma2"}) {
      for (const char* type : {"f16", "bf16"}) {
        SCOPED_TRACE(std::string(table->isa) + " " + name + " " + type);
        const auto file = ModelFile::open(golden_gguf(name));
        ASSERT_TRUE(file.has_value());
        const Status written = quantize_model(**file, type, path);
        ASSERT_TRUE(written.ok()) << written.message();
        expect_near(path, *table);
        std::filesystem::remove(path);
      }
    }
  }
  if (!has_pairs) GTEST_SKIP() << "this processor does not multiply pairs of bf16";
}

}  // namespace
}  // namespace ruv::rounded_pairs_test
