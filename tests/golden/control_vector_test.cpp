// Control vectors against models whose stream has them. A layer whose last matrices are zero passes
// the stream through, so that a direction after it is the same as one in the table of embeddings,
// which an adapter may replace. Against PyTorch: tests/oracle/compare_control_vectors.py.
#include <gtest/gtest.h>

#include <cmath>

#include "format/gguf_writer.h"
#include "format/test_folder.h"
#include "golden/test_changed_model.h"
#include "model/adapter_load.h"
#include "model/test_adapter.h"
#include "ruv/logits.h"

namespace ruv::control_vector_test {
namespace {

using Numbers = std::vector<float>;

struct Share {
  const Adapter* adapter;
  float scale = 1;
};

Numbers logits_with(const std::shared_ptr<const Model>& model, const std::vector<Share>& shares) {
  LogitsOptions options{.n_threads = 1, .all = true};
  for (const Share& share : shares) {
    options.adapters.push_back(
        {std::make_shared<LoadedAdapter>(LoadedAdapter{.adapter = *share.adapter, .model = model}),
         share.scale});
  }
  const Token ids[] = {3, 14, 15, 9, 2, 6, 5, 3, 5};
  Numbers all;
  const Status status = compute_logits(*model, ids, options, [&](int64_t, auto row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

Result<Adapter> steering(const Model& model, const std::vector<LayerDirection>& directions) {
  WorkerPool pool(1);
  return make_adapter(model, {}, RopeOrder::halves, pool, {}, directions);
}

Adapter whole_embeddings(const Model& model, const Numbers& table) {
  WorkerPool pool(1);
  const WholeMatrix whole = {ModelEnd::token_embd, host_matrix(table, model.h.n_embd)};
  return *make_adapter(model, {}, RopeOrder::halves, pool, std::span(&whole, 1));
}

// The largest difference over the greatest number.
double distance(const Numbers& a, const Numbers& b) {
  double most = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(double{a[i]} - double{b[i]}));
    size = std::max(size, std::fabs(double{b[i]}));
  }
  return most / size;
}

// Multiples of a power of two, as large as the stream is.
Numbers direction_of(const Model& model, Rng& rng) {
  Numbers numbers = small_numbers(model.h.n_embd, rng);
  for (float& number : numbers) number *= 4;
  return numbers;
}

struct PassingCase {
  const char* model;
  double most;  // 0: the bytes are the same
};

class PassingLayers : public testing::TestWithParam<PassingCase> {};

TEST_P(PassingLayers, PassADirectionAsEmbeddingsHaveIt) {
  ChangedModel file(GetParam().model);
  const int64_t n_layers = (*load_model(golden_gguf(GetParam().model)))->h.n_layers;
  Rng rng(1);
  for (int64_t layer = 0; layer < n_layers; ++layer) {
    for (const char* const last :
         {"attn_output", "ffn_down", "ffn_down_exps", "shortconv.out_proj"}) {
      for (const char* const ending : {"weight", "bias"}) {
        const auto numbers = file.numbers(fmt::format("blk.{}.{}.{}", layer, last, ending));
        std::ranges::fill(numbers, 0.0F);
      }
    }
    if (layer == 0) continue;
    const auto model = *load_model(file.write());
    const Numbers direction = direction_of(*model, rng);
    const Adapter adapter = *steering(*model, {{layer, direction}});
    const auto table = file.numbers("token_embd.weight");
    for (const float scale : {1.0F, -0.5F}) {
      Numbers moved(table.begin(), table.end());
      for (size_t i = 0; i < moved.size(); ++i) {
        moved[i] += scale * direction[i % direction.size()] / model->h.embed_scale;
      }
      const Adapter embeddings = whole_embeddings(*model, moved);
      const Numbers steered = logits_with(model, {{&adapter, scale}});
      const Numbers expected = logits_with(model, {{&embeddings}});
      EXPECT_LE(distance(steered, expected), GetParam().most) << layer << " " << scale;
      EXPECT_GT(distance(logits_with(model, {}), expected), 0.05) << layer << " " << scale;
    }
  }
}

// Norms after a block; experts; positions of a table. Where the embeddings are scaled or positions
// are added to them, the sums are rounded elsewhere.
INSTANTIATE_TEST_SUITE_P(Models, PassingLayers,
                         testing::Values(PassingCase{"llama2", 0}, PassingCase{"mixtral", 0},
                                         PassingCase{"qwen3moe", 0}, PassingCase{"lfm2", 0},
                                         PassingCase{"gemma3", 1e-3}, PassingCase{"gemma2", 1e-3},
                                         PassingCase{"gpt2", 1e-3}),
                         [](const auto& test) { return std::string(test.param.model); });

TEST(ControlVectors, AreAddedInAnyMix) {
  for (const char* const name : {"llama2", "gemma3", "qwen3moe", "gpt2"}) {
    const auto model = *load_model(golden_gguf(name));
    Rng rng(2);
    const int64_t last = model->h.n_layers - 1;
    const Numbers one = direction_of(*model, rng), two = direction_of(*model, rng);
    Numbers half = one;
    for (float& number : half) number *= -0.5F;
    const Adapter a = *steering(*model, {{last, one}});
    const Adapter b = *steering(*model, {{1, two}});
    const Adapter less = *steering(*model, {{last, half}});
    EXPECT_EQ(logits_with(model, {{&a, -0.5F}}), logits_with(model, {{&less}})) << name;
    EXPECT_EQ(logits_with(model, {{&a, 0}}), logits_with(model, {})) << name;
    EXPECT_NE(logits_with(model, {{&a}}), logits_with(model, {})) << name;
    EXPECT_NE(logits_with(model, {{&a}, {&b}}), logits_with(model, {{&a}})) << name;
    if (last > 1) {
      const Adapter both = *steering(*model, {{1, two}, {last, one}});
      EXPECT_EQ(logits_with(model, {{&a}, {&b}}), logits_with(model, {{&both}})) << name;
    }
    // Beside matrices of low rank.
    constexpr Role kOut[] = {Role::o};
    WorkerPool pool(1);
    const AdapterMatrices m = random_matrices(*model, 0, kOut, 2, rng);
    const LayerDirection direction = {last, one};
    const Adapter low = *make_adapter(*model, {&m, 1}, RopeOrder::halves, pool);
    const Adapter joined =
        *make_adapter(*model, {&m, 1}, RopeOrder::halves, pool, {}, {&direction, 1});
    EXPECT_EQ(logits_with(model, {{&a}, {&low}}), logits_with(model, {{&joined}})) << name;
  }
}

TEST(ControlVectors, KeysFollowTheirContents) {
  const auto model = *load_model(golden_gguf("llama2"));
  Rng rng(3);
  const Numbers one = direction_of(*model, rng), two = direction_of(*model, rng);
  const auto key = [&](const std::vector<LayerDirection>& directions) {
    return steering(*model, directions)->key;
  };
  EXPECT_EQ(key({{1, one}}), key({{1, one}}));
  EXPECT_NE(key({{1, one}}), key({{1, two}}));
  EXPECT_NE(key({{1, one}}), key({}));
  if (model->h.n_layers > 2) {
    EXPECT_NE(key({{1, one}}), key({{2, one}}));
    EXPECT_NE(key({{1, one}, {2, two}}), key({{1, two}, {2, one}}));
  }
}

TEST(ControlVectors, WhatDoesNotFitIsRefusedByName) {
  auto model = *load_model(golden_gguf("llama2"));
  const auto n = static_cast<size_t>(model->h.n_embd);
  const auto refusal = [&model](int64_t layer, Numbers numbers) {
    const auto adapter = steering(*model, {{layer, std::move(numbers)}});
    return adapter ? std::string() : adapter.error().message();
  };
  const int64_t n_layers = model->h.n_layers;
  EXPECT_EQ(refusal(n_layers - 1, Numbers(n)), "");
  for (const int64_t layer : {int64_t{0}, n_layers, int64_t{-1}}) {
    EXPECT_EQ(refusal(layer, Numbers(n)),
              fmt::format("adapter: direction {}: the model has {} layers, and a direction follows "
                          "one from 1 to {}",
                          layer, n_layers, n_layers - 1));
  }
  EXPECT_EQ(
      refusal(1, Numbers(n - 1)),
      fmt::format("adapter: direction 1: it has {} numbers, and the model's stream {}", n - 1, n));
  Numbers odd(n);
  odd[5] = INFINITY;
  EXPECT_EQ(refusal(1, odd), "adapter: direction 1: number 5 is inf");
  odd[5] = NAN;
  EXPECT_EQ(refusal(1, odd), "adapter: direction 1: number 5 is nan");
  EXPECT_EQ(steering(*model, {{1, Numbers(n)}, {1, Numbers(n)}}).error().message(),
            "adapter: direction 1: it is there twice");
  model = *load_model(golden_gguf("t5"));
  EXPECT_EQ(refusal(1, Numbers(static_cast<size_t>(model->h.n_embd))),
            "adapter: direction 1: models that read a source text have no one stream");
}

TEST(ControlVectors, OfFilesAreForOneArchitecture) {
  const TestFolder folder;
  const auto model = *load_model(golden_gguf("mistral"));
  Rng rng(4);
  const Numbers numbers = direction_of(*model, rng);
  const auto load = [&](std::string_view hint, int64_t layer) {
    const std::string path = fmt::format("{}/{}{}.gguf", folder.path(), hint, layer);
    GgufWriter writer = *GgufWriter::create(path);
    writer.add_text("general.architecture", "controlvector");
    writer.add_text("controlvector.model_hint", hint);
    const int64_t shape[] = {model->h.n_embd};
    writer.declare_tensor(fmt::format("direction.{}", layer), DType::f32, shape);
    EXPECT_TRUE(writer.begin_tensors().ok());
    EXPECT_TRUE(writer.write(std::as_bytes(std::span(numbers))).ok());
    EXPECT_TRUE(writer.commit().ok());
    return load_adapter(model, path, 1);
  };
  const Adapter expected = *steering(*model, {{1, numbers}});
  for (const char* const hint : {"llama", "mistral", ""}) {
    const auto loaded = load(hint, 1);
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(adapter_info(**loaded).n_directions, 1);
    EXPECT_EQ(adapter_info(**loaded).n_params, model->h.n_embd);
    EXPECT_EQ(logits_with(model, {{&(*loaded)->adapter}}), logits_with(model, {{&expected}}));
  }
  EXPECT_NE(
      load("gemma3", 1)
          .error()
          .message()
          .find("metadata 'controlvector.model_hint' is 'gemma3', and the model is of 'llama'"),
      std::string::npos);
  EXPECT_NE(load("llama", 99).error().message().find("adapter: direction 99: the model has"),
            std::string::npos);
}

}  // namespace
}  // namespace ruv::control_vector_test
