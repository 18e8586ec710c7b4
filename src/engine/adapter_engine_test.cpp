// Requests with adapters through the whole engine. What adapters compute is in
// tests/golden/adapter_test.cpp.
#include <gtest/gtest.h>

#include "model/test_adapter.h"
#include "ruv/engine.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

constexpr int64_t kRank = 4;

class AdapterEngineTest : public testing::Test {
 protected:
  static std::shared_ptr<const Model> load(const std::string& name) {
    return *load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf");
  }
  std::unique_ptr<Engine> engine(int64_t max_rank = kRank) const {
    EngineOptions options{.n_threads = 2, .max_adapter_rank = max_rank};
    options.kv.type = KvType::f16;
    return std::move(*Engine::create(model_, options));
  }
  static std::shared_ptr<const LoadedAdapter> adapter(std::shared_ptr<const Model> model,
                                                      uint64_t seed, int64_t rank = kRank) {
    Adapter made = random_adapter(*model, rank, seed);
    return std::make_shared<LoadedAdapter>(LoadedAdapter{std::move(made), std::move(model)});
  }
  Request request(std::shared_ptr<const LoadedAdapter> adapter) const {
    Request one;
    for (Token id = 1; id <= 40; ++id) one.prompt.push_back(id * 7 % 50);
    one.params.temperature = 0;
    one.params.max_tokens = 12;
    one.params.ignore_eos = true;
    one.params.n_logprobs = 0;
    if (adapter != nullptr) one.adapters = {{std::move(adapter)}};
    return one;
  }
  struct Outcome {
    std::vector<float> logprobs;  // of the chosen tokens
    int64_t n_cached = 0;
  };
  static Outcome wait(Stream& stream) {
    Outcome outcome;
    while (const std::optional<Event> event = stream.next()) {
      for (const Event::Logprobs& one : event->logprobs) {
        outcome.logprobs.push_back(one.chosen.logprob);
      }
      outcome.n_cached = event->timings.n_cached_tokens;
      EXPECT_TRUE(event->status.ok()) << event->status.message();
    }
    return outcome;
  }
  static Outcome ask(Engine& engine, Request request) {
    Stream stream = std::move(*engine.stream(std::move(request)));
    return wait(stream);
  }

  std::shared_ptr<const Model> model_ = load("llama2");
};

TEST_F(AdapterEngineTest, EachRequestHasItsOwnAdapterInOneStep) {
  const auto a = adapter(model_, 1), b = adapter(model_, 2);
  const std::vector<std::shared_ptr<const LoadedAdapter>> asked = {nullptr, a, b, a};
  std::vector<std::vector<float>> alone;
  for (const auto& one : asked) alone.push_back(ask(*engine(), request(one)).logprobs);
  EXPECT_EQ(alone[1], alone[3]);
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_NE(alone[1], alone[2]);
  const auto together = engine();
  std::vector<Stream> streams;
  for (const auto& one : asked) streams.push_back(std::move(*together->stream(request(one))));
  for (size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(wait(streams[i]).logprobs, alone[i]) << i;
}

TEST_F(AdapterEngineTest, PrefixesAreSharedAmongEqualAdaptersOnly) {
  const auto one = engine();
  const Outcome first = ask(*one, request(adapter(model_, 1)));
  EXPECT_EQ(first.n_cached, 0);
  EXPECT_EQ(ask(*one, request(nullptr)).n_cached, 0);
  EXPECT_EQ(ask(*one, request(adapter(model_, 2))).n_cached, 0);
  const Outcome again = ask(*one, request(adapter(model_, 1)));  // made anew
  EXPECT_GT(again.n_cached, 0);
  EXPECT_EQ(again.logprobs, first.logprobs);
}

TEST_F(AdapterEngineTest, ScalesAndOrderTellMixesApart) {
  const auto a = adapter(model_, 1), b = adapter(model_, 2);
  const auto one = engine();
  const auto ask_mix = [&](std::vector<AdapterUse> mix) {
    Request asked = request(nullptr);
    asked.adapters = std::move(mix);
    return ask(*one, std::move(asked));
  };
  const Outcome base = ask_mix({});
  const Outcome both = ask_mix({{a}, {b, 0.5F}});
  EXPECT_EQ(both.n_cached, 0);
  EXPECT_NE(both.logprobs, ask_mix({{a}, {b}}).logprobs);
  EXPECT_NE(both.logprobs, ask_mix({{a}}).logprobs);
  EXPECT_EQ(ask_mix({{b, 0.5F}, {a}}).n_cached, 0) << "sums are rounded in another order";
  const Outcome none = ask_mix({{a, 0}, {b, 0}});
  EXPECT_EQ(none.logprobs, base.logprobs);
  EXPECT_GT(none.n_cached, 0) << "a scale of 0 is no adapter";
}

TEST_F(AdapterEngineTest, RequestsThatDoNotSayHaveTheEnginesOwn) {
  const auto a = adapter(model_, 1);
  EngineOptions options{.n_threads = 2, .adapters = {{a, 2}}};
  options.kv.type = KvType::f16;
  const auto one = std::move(*Engine::create(model_, options));
  Request own = request(nullptr);
  own.adapters = {{a, 2}};
  const Outcome expected = ask(*one, std::move(own));
  const Outcome silent = ask(*one, request(nullptr));
  EXPECT_EQ(silent.logprobs, expected.logprobs);
  EXPECT_GT(silent.n_cached, 0);
  Request bare = request(nullptr);
  bare.adapters.emplace();
  EXPECT_EQ(ask(*one, std::move(bare)).logprobs, ask(*engine(), request(nullptr)).logprobs);
}

// Lengths of rows are those of a sum at scale 1, and a whole matrix has no scale.
TEST_F(AdapterEngineTest, ScalesAndMixesWithoutAMeaningAreRefused) {
  constexpr Role kQ[] = {Role::q};
  Rng rng(1);
  WorkerPool pool(1);
  AdapterMatrices q = random_matrices(*model_, 0, kQ, kRank, rng);
  const int64_t n_embd = model_->h.n_embd;
  const WholeMatrix output = {ModelEnd::output,
                              host_matrix(small_numbers(model_->h.n_vocab * n_embd, rng), n_embd)};
  const auto loaded = [&](std::span<const WholeMatrix> wholes) {
    return std::make_shared<LoadedAdapter>(LoadedAdapter{
        .adapter = *make_adapter(*model_, std::span(&q, 1), RopeOrder::halves, pool, wholes),
        .model = model_});
  };
  const auto whole = loaded(std::span(&output, 1));
  add_random_lengths(q, rng);
  const auto lengths = loaded({});
  const auto other = adapter(model_, 2);
  const auto one = engine();
  const auto refusal = [&](std::vector<AdapterUse> mix) {
    Request asked = request(nullptr);
    asked.adapters = std::move(mix);
    const auto stream = one->stream(std::move(asked));
    return stream ? std::string() : stream.error().message();
  };
  EXPECT_EQ(refusal({{lengths}}), "");
  EXPECT_EQ(refusal({{other, 0.5F}, {lengths}, {whole, 0}}), "");
  EXPECT_EQ(refusal({{other}, {lengths, 0.5F}}),
            "adapters[1]: it has magnitudes or biases of rows, which are for a scale of 1, and the "
            "scale is 0.5");
  EXPECT_EQ(refusal({{whole}, {other, 0}}), "");
  EXPECT_EQ(refusal({{whole, -1}}),
            "adapters[0]: it has whole matrices, which are for a scale of 1, and the scale is -1");
  EXPECT_EQ(refusal({{whole}, {other}}),
            "adapters[0]: it has whole matrices, which cannot be used with other adapters");
}

TEST_F(AdapterEngineTest, WhatTheEngineCannotComputeIsRefused) {
  const auto refusal = [&](int64_t max_rank, std::shared_ptr<const LoadedAdapter> one) {
    const auto stream = engine(max_rank)->stream(request(std::move(one)));
    return stream ? std::string() : stream.error().message();
  };
  EXPECT_EQ(refusal(kRank, adapter(model_, 1)), "");
  EXPECT_EQ(refusal(kRank, adapter(model_, 1, kRank + 1)),
            "adapters[0]: its rank is 5, and max_adapter_rank of the engine is 4");
  EXPECT_EQ(refusal(0, adapter(model_, 1)),
            "adapters[0]: its rank is 4, and max_adapter_rank of the engine is 0");
  const auto other = load("llama2");
  EXPECT_EQ(refusal(kRank, adapter(other, 1)), "adapters[0]: made for another model");
  EngineOptions options{.max_adapter_rank = -1};
  EXPECT_FALSE(Engine::create(model_, options));
}

// Equal keys mean equal products, so everything that an adapter is must count.
TEST_F(AdapterEngineTest, KeysTellAdaptersApart) {
  WorkerPool pool(1);
  const auto key_of = [&](const AdapterMatrices& m, RopeOrder order = RopeOrder::halves) {
    return make_adapter(*model_, std::span(&m, 1), order, pool)->key;
  };
  constexpr Role kQ[] = {Role::q}, kUp[] = {Role::up}, kGate[] = {Role::gate};
  Rng rng(1);
  const AdapterMatrices m = random_matrices(*model_, 0, kQ, 2, rng);
  EXPECT_EQ(key_of(m), key_of(m));
  AdapterMatrices other = m;
  other.scale = 3;
  EXPECT_NE(key_of(m), key_of(other));
  other = m;
  other.layer = 1;
  EXPECT_NE(key_of(m), key_of(other));
  other = m;
  std::swap(other.b.rows[0], other.b.rows[1]);
  EXPECT_NE(key_of(m), key_of(other));
  EXPECT_NE(key_of(m), key_of(m, RopeOrder::neighbours));
  AdapterMatrices up = random_matrices(*model_, 0, kUp, 2, rng);
  const uint64_t key = key_of(up);
  up.roles = kGate;
  EXPECT_NE(key, key_of(up));
}

}  // namespace
}  // namespace ruv
