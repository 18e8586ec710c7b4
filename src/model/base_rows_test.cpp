// Rows of a model are those of its file, whatever format they are in.
#include "model/base_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

#include "format/quantize.h"
#include "model/file_rows.h"

namespace ruv {
namespace {

std::string file_of(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

// Row i of the matrix is row rows[i] of the tensor.
void expect_rows(const BaseRows& base, const Weight& matrix, const TensorInfo& tensor,
                 const std::vector<int64_t>& rows) {
  ASSERT_EQ(matrix.n_out, std::ssize(rows)) << tensor.name;
  std::vector<float> ours(static_cast<size_t>(matrix.n_in)), files(ours.size());
  for (int64_t i = 0; i < matrix.n_out; ++i) {
    base.decode(matrix, i, ours.data());
    tensor.decode_row(rows[static_cast<size_t>(i)], files.data());
    ASSERT_EQ(ours, files) << tensor.name << " " << i;
  }
}

std::vector<int64_t> all_rows(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(BaseRows, AreThoseOfTheFileInTheDecodersOrder) {
  WorkerPool pool(1);
  const std::string path = testing::TempDir() + "ruv_rows_" + std::to_string(getpid()) + ".gguf";
  for (const char* type : {"f32", "q8_0", "q4_0"}) {
    const auto plain = *ModelFile::open(file_of("llama2"));
    ASSERT_TRUE(quantize_model(*plain, type, path, {.n_threads = 1, .replace = true}).ok());
    const auto model = *load_model(path);
    const Result<BaseRows> base = BaseRows::create(*model, pool);
    ASSERT_TRUE(base) << base.error().message();
    for (const Role role : {Role::q, Role::o, Role::down}) {
      const std::string name =
          fmt::format("blk.1.{}.weight", role_rows()[static_cast<size_t>(role)].tensor);
      const TensorInfo& tensor = *model->file->find_tensor(name);
      std::vector<int64_t> rows = all_rows(tensor.n_rows());
      if (role == Role::q) rotate_as_halves(rows, role, model->plans[1], model->rope);
      expect_rows(*base, base->of(1, role), tensor, rows);
    }
    expect_rows(*base, base->output(), *model->file->find_tensor("output.weight"),
                all_rows(model->h.n_vocab));
    expect_rows(*base, base->token_embd(), *model->file->find_tensor("token_embd.weight"),
                all_rows(model->h.n_vocab));
  }
  unlink(path.c_str());
}

// A tied output is the embedding's rows; experts have none.
TEST(BaseRows, HaveNoExperts) {
  WorkerPool pool(1);
  const auto model = *load_model(file_of("qwen3moe"));
  const Result<BaseRows> base = BaseRows::create(*model, pool);
  ASSERT_TRUE(base) << base.error().message();
  EXPECT_TRUE(base->of(0, Role::expert_up).empty());
  EXPECT_FALSE(base->of(0, Role::router).empty());
  expect_rows(*base, base->output(), *model->file->find_tensor("token_embd.weight"),
              all_rows(model->h.n_vocab));
}

}  // namespace
}  // namespace ruv
