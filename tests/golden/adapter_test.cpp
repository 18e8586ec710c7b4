// Steps with adapters: what they compute, and that others in the batch do not matter.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "cache/page_list.h"
#include "device/batch_builder.h"
#include "engine/executor.h"
#include "golden/test_changed_model.h"
#include "kernels/kernels.h"
#include "model/test_adapter.h"

namespace ruv::adapter_test {
namespace {

using Numbers = std::vector<float>;

const std::vector<Token> kTokens = {3, 14, 15, 9, 2, 6, 5, 3, 5};
constexpr int64_t kPages = 12;

// An executor with sequences of up to one page each, numbered.
class AdapterWorld {
 public:
  explicit AdapterWorld(const std::string& path, const std::string& isa = "", int n_threads = 1) {
    LoadOptions options;
    options.isa = isa;
    auto model = load_model(path, options);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
    executor_ = std::move(
        *Executor::create(*model_, {.n_threads = n_threads,
                                    .n_pages = kPages,
                                    .frames = FrameLimits{.n_lists = kPages, .n_rows = 64},
                                    .max_rows = 64,
                                    .max_outputs = 64,
                                    .max_rank = 8,
                                    .n_ctx = kPageTokens}));
    frames_ = frames_of(executor_->pages());
    pool_ = std::make_unique<PagePool>(kPages, frames_);
  }

  const Model& model() const { return *model_; }
  // The next n tokens of a sequence, all of whose logits are wanted.
  void add(int sequence, int64_t n, const Adapter* adapter) {
    Timeline& at = timelines_.try_emplace(sequence, *pool_).first->second;
    EXPECT_TRUE(at.pages.grow(at.n_computed + n, executor_->pages()));
    at.pages.begin_step(batch_, {at.n_computed, n});
    AdapterShare& share = shares_[sequence] = {adapter};
    if (adapter != nullptr) batch_.set_adapters({&share, 1});
    batch_.add(
        std::span(kTokens).subspan(static_cast<size_t>(at.n_computed), static_cast<size_t>(n)));
    batch_.want_logits(n);
    at.n_computed += n;
    added_.push_back(sequence);
  }
  // Logits of all rows that were added since the last step, by sequence.
  std::map<int, Numbers> step() {
    const HostRows logits = executor_->run(batch_.batch()).logits;
    std::map<int, Numbers> result;
    for (size_t i = 0; i < added_.size(); ++i) {
      const BatchSequence& rows = batch_.batch().sequences[i];
      const float* const begin = logits.row(rows.row_begin);
      result[added_[i]].assign(begin, begin + rows.n_rows * logits.n_cols);
      Timeline& at = timelines_.at(added_[i]);
      at.pages.finish_step(at.n_computed);
    }
    added_.clear();
    batch_.clear();
    return result;
  }
  // Logits of all tokens in a sequence of its own.
  Numbers logits(const Adapter* adapter) {
    timelines_.erase(0);
    add(0, std::ssize(kTokens), adapter);
    return step()[0];
  }

 private:
  struct Timeline {
    explicit Timeline(PagePool& pool) : pages(pool) {}
    PageList pages;
    int64_t n_computed = 0;
  };

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Executor> executor_;
  std::vector<PageFrames> frames_;
  std::unique_ptr<PagePool> pool_;
  std::map<int, Timeline> timelines_;
  std::map<int, AdapterShare> shares_;
  std::vector<int> added_;
  BatchBuilder batch_;
};

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// An adapter of one matrix that has the same bytes as the merged weights. A picks the last input,
// B and the scale are powers of two, so that B · A · x is exact; and the model's own weights of the
// last input are zero, so that its sum, which goes along the inputs in order, ends with one rounded
// addition of the same number in both.
struct ExactMatrix {
  AdapterMatrices adapter;
  Numbers merged;  // the last column

  ExactMatrix(const FileMatrix& m, Rng& rng) {
    Numbers a(static_cast<size_t>(2 * m.n_in));
    a[static_cast<size_t>(m.n_in - 1)] = 1.0F;
    a[static_cast<size_t>(2 * m.n_in - 1)] = -4.0F;
    Numbers b;
    for (int64_t i = 0; i < m.n_out; ++i) {
      const float size = static_cast<float>(1 << rng.below(4)) * 0x1p-3F;
      const bool second = rng.below(2) == 1;
      b.insert(b.end(), {second ? 0.0F : size, second ? size : 0.0F});
      merged.push_back(0.5F * (second ? -4.0F : 1.0F) * size);
    }
    adapter = {m.layer, m.roles, host_matrix(a, m.n_in), host_matrix(b, 2), 0.5F};
  }
};

void set_last_column(std::span<float> matrix, int64_t n_in, const Numbers& column) {
  for (size_t row = 0; row < column.size(); ++row) {
    matrix[row * static_cast<size_t>(n_in) + static_cast<size_t>(n_in - 1)] = column[row];
  }
}

class MergedAdapter : public testing::TestWithParam<const char*> {};

TEST_P(MergedAdapter, EachMatrixGivesTheBytesOfMergedWeights) {
  ChangedModel file(GetParam());
  const std::vector<FileMatrix> matrices =
      matrices_of(AdapterWorld(golden_gguf(GetParam())).model());
  for (const FileMatrix& m : matrices) {
    set_last_column(file.numbers(m.name + ".weight"), m.n_in,
                    Numbers(static_cast<size_t>(m.n_out)));
    for (float& number : file.numbers(m.name + ".bias")) number = 0;
  }
  const auto world = std::make_unique<AdapterWorld>(file.write());
  int64_t n_products = 0, n_tested = 0;
  for (const FileMatrix& m : matrices) n_tested += std::ssize(m.roles);
  for (const LayerPlan& plan : world->model().plans) {
    for (const RoleRow& row : role_rows()) {
      n_products += plan.has(row.role) && row.of_experts.empty() ? 1 : 0;
    }
  }
  ASSERT_EQ(n_tested, n_products) << "every product of every layer";
  const Numbers plain = world->logits(nullptr);
  WorkerPool pool(1);
  Rng rng(1);
  const auto compare = [&](std::span<const AdapterMatrices> parts, const std::string& what) {
    const Result<Adapter> adapter =
        make_adapter(world->model(), parts, file.file().rope_order(), pool);
    ASSERT_TRUE(adapter.has_value()) << adapter.error().message();
    const Numbers adapted = world->logits(&*adapter);
    EXPECT_FALSE(same_bytes(adapted, plain)) << what;
    EXPECT_TRUE(same_bytes(adapted, AdapterWorld(file.write()).logits(nullptr))) << what;
  };
  std::vector<AdapterMatrices> all;
  for (const FileMatrix& m : matrices) {
    const ExactMatrix exact(m, rng);
    all.push_back(exact.adapter);
    set_last_column(file.numbers(m.name + ".weight"), m.n_in, exact.merged);
    compare(std::span(&all.back(), 1), m.name);
    set_last_column(file.numbers(m.name + ".weight"), m.n_in,
                    Numbers(static_cast<size_t>(m.n_out)));
  }
  Rng again(1);
  for (const FileMatrix& m : matrices) {
    set_last_column(file.numbers(m.name + ".weight"), m.n_in, ExactMatrix(m, again).merged);
  }
  compare(all, "all at once");
}

// Rows ordered to rotate as neighbours; several norms; fused matrices; a dense feed-forward.
INSTANTIATE_TEST_SUITE_P(Models, MergedAdapter,
                         testing::Values("llama2", "gemma2", "gemma3", "phi3", "gpt2", "qwen3",
                                         "lfm2", "qwen3moe"),
                         [](const auto& test) { return test.param; });

// Of every other expert each matrix, alone and all at once.
class MergedExperts : public testing::TestWithParam<const char*> {};

TEST_P(MergedExperts, EachMatrixGivesTheBytesOfMergedWeights) {
  struct ExpertMatrix {
    FileMatrix matrix;
    int64_t expert;
  };
  ChangedModel file(GetParam());
  const AdapterWorld plain_world(golden_gguf(GetParam()));
  std::vector<ExpertMatrix> matrices;
  const auto numbers_of = [&file](const ExpertMatrix& m) {
    const auto n = static_cast<size_t>(m.matrix.n_out * m.matrix.n_in);
    return file.numbers(m.matrix.name + ".weight").subspan(static_cast<size_t>(m.expert) * n, n);
  };
  const auto clear = [&](const ExpertMatrix& m) {
    set_last_column(numbers_of(m), m.matrix.n_in, Numbers(static_cast<size_t>(m.matrix.n_out)));
  };
  for (int64_t layer = 0; layer < plain_world.model().h.n_layers; ++layer) {
    const LayerPlan& plan = plain_world.model().plans[static_cast<size_t>(layer)];
    for (const RoleRow& row : role_rows()) {
      if (!plan.has(row.role) || row.of_experts.empty()) continue;
      for (int64_t e = 0; e < plan.n_experts; e += 2) {
        matrices.push_back({{fmt::format("blk.{}.{}", layer, row.tensor),
                             layer,
                             {&row.role, 1},
                             plan.extent(row.n_out),
                             plan.extent(row.n_in)},
                            e});
      }
    }
  }
  ASSERT_FALSE(matrices.empty());
  for (const ExpertMatrix& m : matrices) clear(m);
  const auto world = std::make_unique<AdapterWorld>(file.write());
  const Numbers plain = world->logits(nullptr);
  WorkerPool pool(1);
  Rng rng(1);
  std::vector<AdapterMatrices> all;
  std::vector<Numbers> merged;
  size_t n_different = 0;
  const auto compare = [&](std::span<const AdapterMatrices> parts, const std::string& what) {
    const Result<Adapter> adapter =
        make_adapter(world->model(), parts, file.file().rope_order(), pool);
    ASSERT_TRUE(adapter.has_value()) << adapter.error().message();
    const Numbers adapted = world->logits(&*adapter);
    n_different += same_bytes(adapted, plain) ? 0 : 1;
    EXPECT_TRUE(same_bytes(adapted, AdapterWorld(file.write()).logits(nullptr))) << what;
  };
  for (const ExpertMatrix& m : matrices) {
    ExactMatrix exact(m.matrix, rng);
    exact.adapter.expert = m.expert;
    all.push_back(std::move(exact.adapter));
    merged.push_back(std::move(exact.merged));
    set_last_column(numbers_of(m), m.matrix.n_in, merged.back());
    compare(std::span(&all.back(), 1), fmt::format("{}, expert {}", m.matrix.name, m.expert));
    clear(m);
  }
  EXPECT_GT(n_different, matrices.size() / 2) << "no row may have chosen an expert";
  for (size_t i = 0; i < matrices.size(); ++i) {
    set_last_column(numbers_of(matrices[i]), matrices[i].matrix.n_in, merged[i]);
  }
  compare(all, "all at once");
}

INSTANTIATE_TEST_SUITE_P(Models, MergedExperts, testing::Values("mixtral", "qwen3moe"),
                         [](const auto& test) { return test.param; });

// Matrices of the ends and of a layer, all with lengths.
Adapter adapter_of_ends(const Model& model, uint64_t seed) {
  constexpr Role kO[] = {Role::o}, kConvOut[] = {Role::conv_out};
  Rng rng(seed);
  const bool attends = model.plans[0].has(Role::o);
  std::vector<AdapterMatrices> all = {random_matrices(model, ModelEnd::token_embd, 3, rng),
                                      random_matrices(model, ModelEnd::output, 3, rng),
                                      random_matrices(model, 0, attends ? kO : kConvOut, 3, rng)};
  for (AdapterMatrices& m : all) add_random_lengths(m, rng);
  WorkerPool pool(1);
  return std::move(*make_adapter(model, all, RopeOrder::halves, pool));
}

// A direction after each layer that may have one.
Adapter control_vector_of(const Model& model, uint64_t seed) {
  Rng rng(seed);
  std::vector<LayerDirection> directions;
  for (int64_t layer = 1; layer < model.h.n_layers; ++layer) {
    directions.push_back({layer, small_numbers(model.h.n_embd, rng)});
  }
  WorkerPool pool(1);
  return std::move(*make_adapter(model, {}, RopeOrder::halves, pool, {}, directions));
}

// Adapters a, b and c and the model as it is, together and cut into chunks, against each alone.
TEST(MixedAdapters, SequencesHaveTheBytesThatTheyHaveAlone) {
  for (const char* name : {"llama2", "gemma3", "lfm2", "qwen3moe"}) {
    AdapterWorld alone(golden_gguf(name));
    AdapterWorld together(golden_gguf(name), "", 3);
    const Adapter a = random_adapter(alone.model(), 8, 1);
    const Adapter b = adapter_of_ends(alone.model(), 2);
    const Adapter c = control_vector_of(alone.model(), 3);
    const Adapter* const adapters[] = {&a, &b, nullptr, &a, &b, &b, &c, nullptr, &c, &c};
    const int64_t chunks[][3] = {{9, 0, 0}, {4, 5, 0}, {1, 1, 7}, {3, 0, 6}, {2, 7, 0},
                                 {0, 4, 5}, {1, 8, 0}, {3, 3, 3}, {0, 9, 0}, {7, 1, 1}};
    std::map<int, Numbers> got;
    for (size_t step = 0; step < 3; ++step) {
      for (size_t i = 0; i < std::size(adapters); ++i) {
        if (chunks[i][step] == 0) continue;
        together.add(static_cast<int>(i), chunks[i][step], adapters[i]);
      }
      for (const auto& [sequence, logits] : together.step()) {
        got[sequence].insert(got[sequence].end(), logits.begin(), logits.end());
      }
    }
    const Numbers plain = alone.logits(nullptr);
    EXPECT_FALSE(same_bytes(alone.logits(&a), alone.logits(&b)));
    for (size_t i = 0; i < std::size(adapters); ++i) {
      const Numbers expected = alone.logits(adapters[i]);
      EXPECT_TRUE(same_bytes(got[static_cast<int>(i)], expected)) << name << " " << i;
      EXPECT_EQ(same_bytes(expected, plain), adapters[i] == nullptr) << name << " " << i;
    }
  }
}

// Two adapters of experts and the model as it is, in one step, and the prompts in chunks.
TEST(MixedAdapters, ExpertsOfARowAreThoseOfItsAdapter) {
  for (const char* name : {"mixtral", "qwen3moe"}) {
    for (const int n_threads : {1, 3}) {
      AdapterWorld alone(golden_gguf(name));
      AdapterWorld together(golden_gguf(name), "", n_threads);
      const Adapter a = random_adapter(alone.model(), 8, 1);
      const Adapter b = random_adapter(alone.model(), 3, 2);
      ASSERT_FALSE(a.experts.empty());
      EXPECT_EQ(a.max_rank(), 8);
      const Adapter* const adapters[] = {&a, nullptr, &b, &a, nullptr, &b};
      const int64_t chunks[][2] = {{9, 0}, {8, 1}, {4, 5}, {1, 8}, {0, 9}, {7, 2}};
      std::map<int, Numbers> got;
      for (size_t step = 0; step < 2; ++step) {
        for (size_t i = 0; i < std::size(adapters); ++i) {
          if (chunks[i][step] == 0) continue;
          together.add(static_cast<int>(i), chunks[i][step], adapters[i]);
        }
        for (const auto& [sequence, logits] : together.step()) {
          got[sequence].insert(got[sequence].end(), logits.begin(), logits.end());
        }
      }
      const Numbers plain = alone.logits(nullptr);
      for (size_t i = 0; i < std::size(adapters); ++i) {
        const Numbers expected = alone.logits(adapters[i]);
        EXPECT_TRUE(same_bytes(got[static_cast<int>(i)], expected)) << name << " " << i;
        EXPECT_EQ(same_bytes(expected, plain), adapters[i] == nullptr) << name << " " << i;
      }
    }
  }
}

uint64_t hash_of(const Numbers& numbers) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const std::byte b : std::as_bytes(std::span(numbers))) {
    hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001B3ULL;
  }
  return hash;
}

struct AdapterLogitsCase {
  DType dtype;
  uint64_t expected;
};

// As SameLogits: one hash for all tables of all machines. f32 and f16 agree because the matrices
// have few bits.
TEST(SameLogitsWithAdapter, OnEveryInstructionSet) {
  constexpr AdapterLogitsCase kCases[] = {{DType::f32, 0x2BD9961B0B130FA2ULL},
                                          {DType::f16, 0x2BD9961B0B130FA2ULL},
                                          {DType::bf16, 0xCB8FB85B08D82F45ULL}};
  for (const Kernels* table : all_kernels()) {
    if (!table->portable) continue;
    AdapterWorld world(golden_gguf("llama2"), table->isa);
    for (const AdapterLogitsCase& c : kCases) {
      const Adapter adapter = random_adapter(world.model(), 5, 3, c.dtype);
      EXPECT_EQ(hash_of(world.logits(&adapter)), c.expected)
          << table->isa << " " << format_of(c.dtype).name;
    }
  }
}

}  // namespace
}  // namespace ruv::adapter_test
