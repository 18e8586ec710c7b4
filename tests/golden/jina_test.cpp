// Jina Embeddings 2 in the forms that converters write: GGUF files with one matrix for gate and up,
// and without the keys that our own have. And its scores, which fall on both sides of a query, have
// the same bytes whatever computes them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "format/gguf_writer.h"
#include "format/quantize.h"
#include "ruv/logits.h"
#include "test_golden_files.h"

namespace ruv::jina_test {
namespace {

using Rows = std::vector<std::vector<float>>;

Rows hidden_of(const std::string& path, const std::vector<Token>& ids, int n_threads = 1,
               int64_t chunk_tokens = 512) {
  LoadOptions loading;
  loading.n_threads = n_threads;
  const auto model = load_model(path, loading);
  if (!model) {
    ADD_FAILURE() << model.error().message();
    return {};
  }
  Rows rows;
  LogitsOptions options;
  options.n_threads = n_threads;
  options.chunk_tokens = chunk_tokens;
  options.all = true;
  const Status status = compute_hidden(
      **model, ids, options,
      [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return rows;
}

std::string numbers_of(const TensorInfo& tensor) {
  std::string bytes;
  for (int64_t row = 0; row < tensor.n_rows(); ++row) {
    std::vector<float> numbers(static_cast<size_t>(tensor.shape.back()));
    tensor.decode_row(row, numbers.data());
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  }
  return bytes;
}

// The file with gates and ups in one matrix, the gates first, and only the keys of converters.
Status write_as_converters(const ModelFile& from, const std::string& path) {
  GgufWriter out = TRY(GgufWriter::create(path, {.replace = true}));
  for (const auto& [key, value] : from.metadata()) {
    const bool is_own = key.ends_with(".max_alibi_bias") || key.ends_with(".hidden_act") ||
                        key.ends_with("_bias") || key.ends_with(".without_output");
    if (!is_own) out.add(key, value);
  }
  std::vector<std::string> parts;
  for (const TensorInfo& tensor : from.tensors()) {
    if (tensor.name.ends_with(".ffn_gate.weight")) continue;
    std::vector<int64_t> shape = tensor.shape;
    std::string numbers = numbers_of(tensor);
    if (tensor.name.ends_with(".ffn_up.weight")) {
      std::string gate = tensor.name;
      gate.replace(gate.find("ffn_up"), 6, "ffn_gate");
      numbers = numbers_of(*from.find_tensor(gate)) + numbers;
      shape[0] *= 2;
    }
    out.declare_tensor(tensor.name, DType::f32, shape);
    parts.push_back(std::move(numbers));
  }
  TRY(out.begin_tensors());
  for (const std::string& numbers : parts) TRY(out.write(std::as_bytes(std::span(numbers))));
  return out.commit();
}

struct Case {
  Json golden;
  std::string folder, gguf, fused;
};

// The golden cases that run, with f32 weights, in all forms.
class Jina : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = RUV_SOURCE_DIR "/tests/golden/families/jina-bert-v2.json";
    const Json goldens = *parse_json(*read_text_file(path), path);
    for (const Json& golden : goldens) {
      if (golden.contains("refused_by") || golden.at("dtype") != "f32") continue;
      const std::string root = fmt::format("{}/{}", root_, cases_.size());
      cases_.push_back({golden, root + "/model", root + "/split.gguf", root + "/fused.gguf"});
      const Case& one = cases_.back();
      write_folder(one.folder, golden);
      const auto model = ModelFile::open(one.folder);
      ASSERT_TRUE(model) << model.error().message();
      ASSERT_TRUE(quantize_model(**model, "f32", one.gguf).ok());
      const Status status = write_as_converters(**ModelFile::open(one.gguf), one.fused);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    ASSERT_GE(cases_.size(), 4U);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static bool is_for_code(const Case& one) { return one.golden.at("config").contains("auto_map"); }

  std::vector<Case> cases_;

 private:
  std::string root_ = fmt::format("{}ruv_jina_{}", testing::TempDir(), getpid());
};

TEST_F(Jina, FilesOfConvertersGiveTheSameStates) {
  int n_same = 0;
  for (const Case& one : cases_) {
    if (is_for_code(one) || one.golden.at("config").at("feed_forward_type") != "geglu") continue;
    const std::vector<Token> ids = prompt_of(one.golden, 33);
    EXPECT_EQ(hidden_of(one.fused, ids), hidden_of(one.gguf, ids)) << one.golden.at("name").dump();
    ++n_same;
  }
  EXPECT_GE(n_same, 1);
}

TEST_F(Jina, TheModelForCodeDoesNotSayWhichHalfIsTheGate) {
  int n_refused = 0;
  for (const Case& one : cases_) {
    if (!is_for_code(one)) continue;
    const auto model = load_model(one.fused, LoadOptions{});
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code(), Code::unsupported);
    EXPECT_NE(model.error().message().find("blk.0.ffn_up.weight"), std::string::npos)
        << model.error().message();
    ++n_refused;
  }
  EXPECT_GE(n_refused, 1);
}

TEST_F(Jina, ThreadsAndChunksGiveTheSameBytes) {
  for (const Case& one : cases_) {
    const std::vector<Token> ids = prompt_of(one.golden, 39);
    const Rows alone = hidden_of(one.folder, ids);
    ASSERT_EQ(alone.size(), ids.size());
    EXPECT_EQ(hidden_of(one.folder, ids, 3), alone);
    EXPECT_EQ(hidden_of(one.folder, ids, 2, 64), alone);
  }
}

// Beyond the goldens' lengths nothing is looked up: a distance counts the same wherever its rows
// are, on either side. With one token everywhere, rows that mirror each other are equal but for
// the order of the sums.
TEST_F(Jina, DistancesCountAlikeOnBothSides) {
  for (const Case& one : cases_) {
    const std::vector<Token> ids(40, 5);
    const Rows rows = hidden_of(one.gguf, ids);
    ASSERT_EQ(rows.size(), ids.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < rows[i].size(); ++j) {
        EXPECT_NEAR(rows[i][j], rows[rows.size() - 1 - i][j], 1e-3) << i;
      }
    }
  }
}

}  // namespace
}  // namespace ruv::jina_test
