// A model that answers a source text against the reference implementation's logits
// (make_source_golden.py): folder and GGUF file, on every instruction set.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "kernels/kernels.h"
#include "ruv/logits.h"

namespace ruv::source_golden_test {
namespace {

using Rows = std::vector<std::vector<float>>;

Rows logits_of(const Model& model, const std::vector<Token>& ids, int64_t n_source,
               int64_t chunk_tokens) {
  LogitsOptions options;
  options.n_threads = 2;
  options.chunk_tokens = chunk_tokens;
  options.all = true;
  options.n_source = n_source;
  Rows rows;
  const Status status =
      compute_logits(model, ids, options, [&](int64_t position, std::span<const float> row) {
        EXPECT_EQ(position, n_source + std::ssize(rows));
        rows.emplace_back(row.begin(), row.end());
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return rows;
}

double difference(const Rows& got, const Rows& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (size_t r = 0; r < got.size(); ++r) {
    if (got[r].size() != want[r].size()) return INFINITY;
    for (size_t c = 0; c < got[r].size(); ++c) {
      const double gap = std::abs(double{got[r][c]} - double{want[r][c]});
      if (!(gap <= worst)) worst = std::isnan(gap) ? INFINITY : gap;
    }
  }
  return worst;
}

class SourceGolden : public testing::TestWithParam<const char*> {};

TEST_P(SourceGolden, LogitsOfTheAnswer) {
  const std::string folder = std::string(RUV_SOURCE_DIR "/tests/golden/models/") + GetParam();
  const Json golden = *parse_json(*read_text_file(folder + "/golden.json"), "golden.json");
  auto ids = golden.at("source").get<std::vector<Token>>();
  const int64_t n_source = std::ssize(ids);
  const auto answer = golden.at("answer").get<std::vector<Token>>();
  ids.insert(ids.end(), answer.begin(), answer.end());
  const Rows want = golden.at("logits").get<Rows>();
  const double bound = 2 * golden.at("noise").get<double>();
  for (const Kernels* const kernels : all_kernels()) {
    for (const char* const file : {"", "/model.gguf"}) {
      SCOPED_TRACE(std::string(kernels->isa) + file);
      LoadOptions options;
      options.isa = std::string(kernels->isa);
      const auto model = load_model(folder + file, options);
      ASSERT_TRUE(model) << model.error().message();
      const Rows got = logits_of(**model, ids, n_source, 512);
      EXPECT_LE(difference(got, want), bound);
      for (const int64_t chunk : {1, 2, 7, 16}) {
        EXPECT_EQ(logits_of(**model, ids, n_source, chunk), got) << "chunks of " << chunk;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SourceGolden, testing::Values("t5", "t5gemma"));

}  // namespace
}  // namespace ruv::source_golden_test
