// What make_adapter refuses, and what it makes of roles that share a matrix. What adapters compute
// is in tests/golden/adapter_test.cpp.
#include "model/adapter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/test_adapter.h"

namespace ruv {
namespace {

constexpr Role kQ[] = {Role::q};
constexpr Role kDown[] = {Role::down};
constexpr Role kGate[] = {Role::gate};
constexpr Role kExpertUp[] = {Role::expert_up};
constexpr Role kGateUp[] = {Role::gate, Role::up};

class MakeAdapter : public testing::Test {
 protected:
  void SetUp() override { load("llama2"); }
  void load(const std::string& name) {
    model_ = *load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf");
  }
  AdapterMatrices matrices(int64_t layer, std::span<const Role> roles, int64_t rank = 4) {
    return random_matrices(*model_, layer, roles, rank, rng_);
  }
  // "" where it is made.
  std::string refusal(std::span<const AdapterMatrices> matrices, Code code = Code::invalid) {
    WorkerPool pool(1);
    const Result<Adapter> adapter = make_adapter(*model_, matrices, RopeOrder::halves, pool);
    if (adapter) return "";
    EXPECT_EQ(adapter.error().code(), code);
    return adapter.error().message();
  }
  std::string refusal(const AdapterMatrices& one, Code code = Code::invalid) {
    return refusal(std::span(&one, 1), code);
  }
  const HParams& h() const { return model_->h; }

  std::shared_ptr<const Model> model_;
  Rng rng_{1};
};

TEST_F(MakeAdapter, ExpertsAreNamed) {
  load("qwen3moe");
  EXPECT_EQ(refusal(matrices(0, kQ)), "");
  AdapterMatrices m = matrices(0, kExpertUp);
  EXPECT_EQ(refusal(m), "adapter: layer 0, ffn_up_exps: an expert is not named");
  m.expert = 3;
  EXPECT_EQ(refusal(m), "");
  const AdapterMatrices twice[] = {m, m};
  EXPECT_EQ(refusal(twice),
            "adapter: layer 0, ffn_up_exps of expert 3: ffn_up_exps is there twice");
  for (const int64_t expert : {int64_t{-1}, h().n_experts}) {
    m.expert = expert;
    EXPECT_EQ(refusal(m), fmt::format("adapter: layer 0, ffn_up_exps of expert {}: the layer has "
                                      "{} experts",
                                      expert, h().n_experts));
  }
  m.expert = 0;
  add_random_lengths(m, rng_);
  EXPECT_EQ(refusal(m, Code::unsupported),
            "adapter: layer 0, ffn_up_exps of expert 0: magnitudes of experts are not supported");
  m = matrices(0, kQ);
  m.expert = 0;
  EXPECT_EQ(refusal(m),
            "adapter: layer 0, attn_q of expert 0: an expert is named, and the matrix is of none");
  EXPECT_EQ(refusal(matrices(0, kDown)),
            "adapter: layer 0, ffn_down: the model has no ffn_down there");
  EXPECT_EQ(refusal(matrices(1, kDown)), "") << "a dense layer";
}

TEST_F(MakeAdapter, ShapesThatDoNotFitAreRefusedByLayerAndRole) {
  AdapterMatrices m = matrices(1, kQ);
  EXPECT_EQ(refusal(m), "");
  m.a.n_in -= 1;
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 1, attn_q: A is (4, {}), expected (rank, {}) "
                                    "with a rank of at least 1",
                                    h().n_embd - 1, h().n_embd));
  m = matrices(1, kDown);
  m.b.rows.pop_back();
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 1, ffn_down: B is ({}, 4), expected ({}, 4)",
                                    h().n_embd - 1, h().n_embd));
  m = matrices(0, kDown);
  m.b.n_in = 3;
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 0, ffn_down: B is ({0}, 3), expected ({0}, 4)",
                                    h().n_embd));
  m = matrices(0, kGateUp);
  m.b.rows.resize(m.b.rows.size() / 2);
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 0, ffn_gate+ffn_up: B is ({}, 4), expected "
                                    "({}, 4)",
                                    h().n_ff, 2 * h().n_ff));
  m = matrices(0, kQ);
  m.a.rows.clear();
  m.b.n_in = 0;
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 0, attn_q: A is (0, {0}), expected (rank, {0}) "
                                    "with a rank of at least 1",
                                    h().n_embd));
}

TEST_F(MakeAdapter, WhatTheModelDoesNotHaveIsRefused) {
  AdapterMatrices m = matrices(0, kQ);
  for (const int64_t layer : {int64_t{-1}, h().n_layers}) {
    m.layer = layer;
    EXPECT_EQ(refusal(m), fmt::format("adapter: layer {}, attn_q: the model has {} layers", layer,
                                      h().n_layers));
  }
  load("gpt2");
  EXPECT_EQ(refusal(matrices(0, kGate)),
            "adapter: layer 0, ffn_gate: the model has no ffn_gate there");
}

TEST_F(MakeAdapter, ARoleHasOneEntry) {
  const AdapterMatrices both[] = {matrices(0, kGate), matrices(0, kGateUp)};
  EXPECT_EQ(refusal(both), "adapter: layer 0, ffn_gate+ffn_up: ffn_gate is there twice");
  const AdapterMatrices layers[] = {matrices(0, kGate), matrices(1, kGate)};
  EXPECT_EQ(refusal(layers), "");
}

TEST_F(MakeAdapter, NumbersThatCannotBeComputedAreRefused) {
  AdapterMatrices m = matrices(0, kQ);
  m.scale = INFINITY;
  EXPECT_EQ(refusal(m), "adapter: layer 0, attn_q: the scale is inf");
  m = matrices(0, kQ);
  m.b.dtype = DType::q8_0;
  EXPECT_EQ(refusal(m, Code::unsupported),
            "adapter: layer 0, attn_q: rows of 4 numbers cannot be q8_0; write them as f16");
  m = matrices(0, kQ);
  m.a.dtype = DType::tq2_0;
  EXPECT_EQ(refusal(m, Code::unsupported),
            fmt::format("adapter: layer 0, attn_q: rows of {} numbers cannot be tq2_0; write them "
                        "as f16",
                        h().n_embd));
}

TEST_F(MakeAdapter, EndsThatDoNotFitAreRefused) {
  const auto end = [&](ModelEnd which) { return random_matrices(*model_, which, 4, rng_); };
  AdapterMatrices m = end(ModelEnd::token_embd);
  EXPECT_EQ(refusal(m), "");
  m.a.rows.pop_back();
  EXPECT_EQ(
      refusal(m),
      fmt::format("adapter: token_embd: the matrices are ({}, 4) and ({}, 4), and the model's "
                  "({}, {})",
                  h().n_vocab - 1, h().n_embd, h().n_vocab, h().n_embd));
  m = end(ModelEnd::output);
  EXPECT_EQ(refusal(m), "");
  m.b.rows.pop_back();
  EXPECT_NE(refusal(m), "");
  const AdapterMatrices twice[] = {end(ModelEnd::output), end(ModelEnd::output)};
  EXPECT_EQ(refusal(twice), "adapter: output: it is there twice");
  load("t5");
  EXPECT_EQ(refusal(end(ModelEnd::token_embd), Code::unsupported),
            "adapter: token_embd: adapters of it are not supported in such a model");
  EXPECT_EQ(refusal(end(ModelEnd::output)), "");
}

TEST_F(MakeAdapter, RowsHaveLengthsThatAreNumbers) {
  AdapterMatrices m = matrices(0, kQ);
  add_random_lengths(m, rng_);
  EXPECT_EQ(refusal(m), "");
  m.magnitudes[3] = NAN;
  EXPECT_NE(refusal(m).find("and the magnitude nan"), std::string::npos);
  m.magnitudes.pop_back();
  EXPECT_EQ(refusal(m), fmt::format("adapter: layer 0, attn_q: {} magnitudes of {} rows",
                                    h().n_embd - 1, h().n_embd));
}

// The base's own may come with an adapter.
TEST_F(MakeAdapter, BiasesAreTheModelsUnlessTheyAreOnesOwn) {
  AdapterMatrices m = matrices(0, kQ);
  m.biases.resize(m.b.rows.size());
  EXPECT_EQ(refusal(m, Code::unsupported),
            "adapter: layer 0, attn_q: the model's product has no bias that could be another");
  load("gpt2");
  m = matrices(0, kDown);
  const auto model_bias = model_->layers[0][Role::down].bias;
  m.biases.resize(m.b.rows.size());
  model_->device->download(model_bias.memory.start, std::as_writable_bytes(std::span(m.biases)));
  EXPECT_EQ(refusal(m), "");
  m.biases[2] += 1;
  EXPECT_NE(refusal(m, Code::unsupported).find("ffn_down: bias 2 is "), std::string::npos);
  m.has_own_biases = true;
  EXPECT_EQ(refusal(m), "");
  m.biases.pop_back();
  EXPECT_NE(refusal(m).find("biases of"), std::string::npos);
}

TEST_F(MakeAdapter, WholeMatricesHaveTheModelsShape) {
  const auto refusal_of = [&](int64_t n_in, std::span<const AdapterMatrices> beside) {
    WorkerPool pool(1);
    const WholeMatrix whole = {ModelEnd::output,
                               host_matrix(small_numbers(h().n_vocab * n_in, rng_), n_in)};
    const auto made = make_adapter(*model_, beside, RopeOrder::halves, pool, std::span(&whole, 1));
    return made ? std::string() : made.error().message();
  };
  EXPECT_EQ(refusal_of(h().n_embd, {}), "");
  EXPECT_EQ(refusal_of(h().n_embd - 1, {}),
            "adapter: output: the matrix in its place has another shape");
  const AdapterMatrices beside = random_matrices(*model_, ModelEnd::output, 2, rng_);
  EXPECT_EQ(refusal_of(h().n_embd, std::span(&beside, 1)), "adapter: output: it is there twice");
}

// Matrices in the formats that adapters come in are packed as they are.
TEST_F(MakeAdapter, RolesThatShareAMatrixShareA) {
  WorkerPool pool(1);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const AdapterMatrices m = random_matrices(*model_, 1, kGateUp, 4, rng_, dtype);
    const Adapter adapter = *make_adapter(*model_, std::span(&m, 1), RopeOrder::halves, pool);
    const LowRank& gate = adapter.products[product_of(1, Role::gate)];
    const LowRank& up = adapter.products[product_of(1, Role::up)];
    EXPECT_EQ(gate.a.packed.start, up.a.packed.start);
    EXPECT_EQ(gate.b.n_out + up.b.n_out, 2 * h().n_ff);
    EXPECT_EQ(gate.b.dtype, dtype);
    EXPECT_EQ(gate.scale, m.scale);
    EXPECT_EQ(adapter.max_rank(), 4);
    EXPECT_EQ(std::ranges::count_if(adapter.products, &LowRank::empty),
              std::ssize(adapter.products) - 2);
    EXPECT_EQ(adapter.products.size(), n_products(h()));
  }
}

}  // namespace
}  // namespace ruv
