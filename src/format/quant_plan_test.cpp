// Importance, rules and budgets through quantize_model, on a model written as a GGUF file.
#include "format/quant_plan.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "format/gguf_writer.h"
#include "format/quantize.h"
#include "format/test_folder.h"

namespace ruv::quant_plan_test {
namespace {

constexpr int64_t kColumns = 256;

std::vector<float> random_rows(int64_t n_rows, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> numbers(static_cast<size_t>(n_rows * kColumns));
  for (float& number : numbers) number = static_cast<float>(rng.uniform() + rng.uniform() - 1);
  return numbers;
}

// Two matrices, one of two experts, and a table.
class Made {
 public:
  Made() {
    auto out = GgufWriter::create(path());
    out->add_text("general.architecture", "qwen2");
    out->add_u32("qwen2.block_count", 1);
    const std::vector<std::pair<std::string, std::vector<int64_t>>> tensors{
        {"token_embd.weight", {8, kColumns}},
        {"blk.0.ffn_up.weight", {16, kColumns}},
        {"blk.0.ffn_down.weight", {16, kColumns}},
        {"blk.0.ffn_up_exps.weight", {2, 8, kColumns}}};
    for (const auto& [name, shape] : tensors) out->declare_tensor(name, DType::f32, shape);
    EXPECT_TRUE(out->begin_tensors().ok());
    uint64_t seed = 1;
    for (const auto& [name, shape] : tensors) {
      const int64_t n_rows = shape.size() == 3 ? shape[0] * shape[1] : shape[0];
      const std::vector<float> rows = random_rows(n_rows, seed++);
      EXPECT_TRUE(out->write(std::as_bytes(std::span(rows))).ok());
    }
    EXPECT_TRUE(out->commit().ok());
    model = *ModelFile::open(path());
  }
  std::string path() const { return folder.path() + "/made.gguf"; }
  // Quantises and opens the result.
  Result<std::unique_ptr<ModelFile>> quantized(std::string_view type,
                                               const QuantizeOptions& options) const {
    const std::string out = folder.path() + "/out.gguf";
    QuantizeOptions replacing = options;
    replacing.replace = true;
    TRY(quantize_model(*model, type, out, replacing));
    return ModelFile::open(out);
  }

  TestFolder folder;
  std::unique_ptr<ModelFile> model;
};

// Every eighth column of the first expert matters, and the one after it of the second.
Importance uneven() {
  Importance importance;
  ImportanceEntry& dense = importance.entries["blk.0.ffn_up.weight"];
  ImportanceEntry& experts = importance.entries["blk.0.ffn_up_exps.weight"];
  dense.counts = {2};
  experts.counts = {4, 1};
  for (int e = 0; e < 2; ++e) {
    for (int c = 0; c < kColumns; ++c) {
      const float mean = c % 8 == e ? 1000.0F : 1.0F;
      if (e == 0) dense.sums.push_back(2 * mean);
      experts.sums.push_back(mean * experts.counts[static_cast<size_t>(e)]);
    }
  }
  importance.datasets = {"a.txt"};
  importance.n_chunks = 3;
  return importance;
}

double error_at(const ModelFile& out, const ModelFile& in, std::string_view name, int64_t row,
                int64_t phase) {
  std::vector<float> a(kColumns), b(kColumns);
  out.find_tensor(name)->decode_row(row, a.data());
  in.find_tensor(name)->decode_row(row, b.data());
  double sum = 0;
  for (size_t c = static_cast<size_t>(phase); c < a.size(); c += 8) {
    const auto off = static_cast<double>(a[c]) - static_cast<double>(b[c]);
    sum += off * off;
  }
  return sum;
}

TEST(QuantPlan, ColumnsThatMatterLoseLess) {
  const Made made;
  const Importance importance = uneven();
  QuantizeOptions options;
  std::vector<std::string> missing;
  options.on_missing = [&](std::string_view name) { missing.emplace_back(name); };
  options.importance = &importance;
  options.importance_path = "i.gguf";
  const auto with = made.quantized("q4_k_s", options);
  ASSERT_TRUE(with.has_value()) << with.error().message();
  EXPECT_EQ(missing, std::vector<std::string>{"blk.0.ffn_down.weight"});
  EXPECT_EQ((*with)->text("quantize.imatrix.file").value_or(""), "i.gguf");
  EXPECT_EQ((*with)->text("quantize.imatrix.dataset").value_or(""), "a.txt");
  EXPECT_EQ((*with)->integer("quantize.imatrix.entries_count").value_or(-1), 2);
  EXPECT_EQ((*with)->integer("quantize.imatrix.chunks_count").value_or(-1), 3);
  for (int64_t row = 0; row < 16; ++row) {
    // Rows 8 to 15 are the second expert's.
    const int64_t phase = row / 8;
    constexpr const char* kExperts = "blk.0.ffn_up_exps.weight";
    EXPECT_LT(error_at(**with, *made.model, kExperts, row, phase),
              error_at(**with, *made.model, kExperts, row, 1 - phase))
        << row;
    EXPECT_LT(error_at(**with, *made.model, "blk.0.ffn_up.weight", row, 0),
              error_at(**with, *made.model, "blk.0.ffn_up.weight", row, 4))
        << row;
  }
}

TEST(QuantPlan, ImportanceOfAnotherModelIsRefusedByName) {
  const Made made;
  Importance importance = uneven();
  importance.entries["blk.0.ffn_up.weight"].sums.resize(128);
  QuantizeOptions options;
  options.importance = &importance;
  const auto out = made.quantized("q4_k_s", options);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code(), Code::invalid);
  EXPECT_NE(out.error().message().find("'blk.0.ffn_up.weight'"), std::string::npos);
}

TEST(QuantPlan, FirstRuleThatFitsHolds) {
  const Made made;
  QuantizeOptions options;
  options.rules = {{"*.ffn_up.weight", DType::q6_k}, {"blk.*", DType::q3_k}};
  const auto out = made.quantized("q4_k_s", options);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ((*out)->find_tensor("blk.0.ffn_up.weight")->dtype, DType::q6_k);
  EXPECT_EQ((*out)->find_tensor("blk.0.ffn_down.weight")->dtype, DType::q3_k);
  EXPECT_EQ((*out)->find_tensor("token_embd.weight")->dtype, DType::q6_k);  // the mix's
}

TEST(QuantPlan, RulesThatFitNothingAreRefused) {
  const Made made;
  QuantizeOptions options;
  options.rules = {{"blk.7.*", DType::q6_k}};
  const auto out = made.quantized("q4_k_s", options);
  ASSERT_FALSE(out.has_value());
  EXPECT_NE(out.error().message().find("'blk.7.*=q6_k' fits no tensor"), std::string::npos)
      << out.error().message();
}

TEST(QuantPlan, BudgetsAreKeptAndUsed) {
  const Made made;
  const Importance importance = uneven();
  QuantizeOptions options;
  options.importance = &importance;
  uint64_t last = 0;
  for (const uint64_t per_row : {100U, 120U, 150U, 200U}) {
    options.tensor_bytes = per_row * 56;
    const auto sizes = quantized_sizes(*made.model, "q4_k_m", options);
    ASSERT_TRUE(sizes.has_value()) << sizes.error().message();
    EXPECT_LE(sizes->bytes_out, options.tensor_bytes);
    EXPECT_GT(sizes->bytes_out, last);
    EXPECT_EQ(sizes->n_weights, 56 * kColumns);
    last = sizes->bytes_out;
  }
  options.tensor_bytes = 10;
  EXPECT_EQ(quantized_sizes(*made.model, "q4_k_m", options).error().code(), Code::invalid);
}

TEST(QuantPlan, RulesHoldBeforeABudget) {
  const Made made;
  QuantizeOptions options;
  options.rules = {{"*ffn_down*", DType::q8_0}};
  options.tensor_bytes = 56 * 150;
  const auto out = made.quantized("q4_k_m", options);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ((*out)->find_tensor("blk.0.ffn_down.weight")->dtype, DType::q8_0);
}

TEST(QuantPlan, LossesAreThoseOfTheFile) {
  const Made made;
  QuantizeOptions options;
  int n = 0;
  options.on_loss = [&](const QuantizeLoss& loss) {
    EXPECT_GT(loss.relative, 0.01) << loss.tensor;
    EXPECT_LT(loss.relative, 0.2) << loss.tensor;
    EXPECT_EQ(loss.relative, loss.weighted) << loss.tensor;  // nothing is known of columns
    ++n;
  };
  for (const int n_threads : {1, 3}) {
    options.n_threads = n_threads;
    ASSERT_TRUE(made.quantized("q4_0", options).has_value());
  }
  EXPECT_EQ(n, 8);
}

}  // namespace
}  // namespace ruv::quant_plan_test
