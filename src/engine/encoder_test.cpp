// Texts of encoders through the whole engine: each is computed whole, sees itself in both
// directions, and is refused where it does not fit a step. The models are small decoders of the
// repository whose rows see each other.
#include <gtest/gtest.h>

#include "model/model.h"
#include "ruv/logits.h"
#include "ruv/stream.h"

namespace ruv::encoder_test {
namespace {

using Tokens = std::vector<Token>;

// gemma3 has windows of 8 places.
std::shared_ptr<const Model> load_as_encoder(const std::string& name) {
  const auto model = *load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf");
  auto& encoder = const_cast<Model&>(*model);
  encoder.h.bidirectional = encoder.h.encodes = true;
  for (LayerPlan& plan : encoder.plans) plan.both_ways = true;
  return model;
}

Tokens tokens_from(Token from, int64_t n) {
  Tokens ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back((from + static_cast<Token>(i) * 7) % 50);
  return ids;
}

Request request(Tokens ids) {
  Request one;
  one.prompt = std::move(ids);
  one.output = RequestOutput::hidden;
  return one;
}

Event last_of(Stream stream) {
  Event last;
  while (auto event = stream.next()) last = std::move(*event);
  return last;
}

std::vector<std::vector<float>> rows_of(const Model& model, const Tokens& ids, bool all,
                                        int n_threads = 1) {
  std::vector<std::vector<float>> rows;
  const LogitsOptions options = {.n_threads = n_threads, .chunk_tokens = 5, .all = all};
  const Status status = compute_hidden(
      model, ids, options,
      [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); });
  EXPECT_TRUE(status.ok()) << status.message();
  return rows;
}

std::unique_ptr<Engine> engine_of(const std::shared_ptr<const Model>& model, int n_threads,
                                  int64_t max_batch_tokens) {
  return std::move(*Engine::create(
      model, {.n_threads = n_threads, .max_sequences = 4, .max_batch_tokens = max_batch_tokens}));
}

class Encoder : public testing::TestWithParam<const char*> {};

TEST_P(Encoder, ATextHasTheSameStateWhateverIsBesideIt) {
  const auto model = load_as_encoder(GetParam());
  const Tokens lengths_from[] = {tokens_from(3, 45), tokens_from(8, 1),  tokens_from(5, 16),
                                 tokens_from(1, 33), tokens_from(3, 44), tokens_from(2, 60)};
  for (const int n_threads : {1, 3}) {
    const auto engine = engine_of(model, n_threads, 60);
    for (int round = 0; round < 2; ++round) {
      std::vector<Stream> streams;
      for (const Tokens& ids : lengths_from) {
        streams.push_back(std::move(*engine->stream(request(ids))));
      }
      for (size_t i = 0; i < streams.size(); ++i) {
        const Event last = last_of(std::move(streams[i]));
        EXPECT_EQ(last.finish, FinishReason::stop) << last.status.message();
        EXPECT_EQ(last.hidden, rows_of(*model, lengths_from[i], false)[0]) << i;
        EXPECT_EQ(last.timings.n_cached_tokens, 0);
      }
    }
  }
}

// A later token changes the rows before it, in a window as far as it reaches.
TEST_P(Encoder, RowsSeeWhatFollows) {
  const auto model = load_as_encoder(GetParam());
  Tokens ids = tokens_from(3, 40);
  const auto before = rows_of(*model, ids, true);
  EXPECT_EQ(rows_of(*model, ids, true, 3), before);
  ids.back() = 49;
  const auto after = rows_of(*model, ids, true);
  ASSERT_EQ(after.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_NE(after[i], before[i]) << i;
}

TEST_P(Encoder, ATextThatDoesNotFitAStepIsRefused) {
  const auto model = load_as_encoder(GetParam());
  const auto engine = engine_of(model, 1, 20);
  EXPECT_TRUE(engine->embed(tokens_from(1, 20)));
  const auto refused = engine->embed(tokens_from(1, 21));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid);
  EXPECT_EQ(refused.error().message(),
            "prompt: 21 tokens; an encoder computes a text in one step, which has room for 20: "
            "raise max_batch_tokens");
  const auto long_engine = engine_of(model, 1, 512);
  const int64_t n_ctx = long_engine->n_ctx();
  EXPECT_TRUE(long_engine->embed(tokens_from(1, n_ctx)));
  const auto too_long = long_engine->embed(tokens_from(1, n_ctx + 1));
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message().find("do not fit the context"), std::string::npos);
}

TEST_P(Encoder, WritesNothing) {
  const auto model = load_as_encoder(GetParam());
  const auto engine = engine_of(model, 1, 64);
  Request answer = request(tokens_from(1, 5));
  answer.output = RequestOutput::tokens;
  const auto refused = engine->submit(answer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_NE(refused.error().message().find("is an encoder"), std::string::npos);
  EXPECT_EQ(compute_logits(*model, tokens_from(1, 5), {}, {}).code(), Code::unsupported);
  EXPECT_FALSE(Engine::create(model, {.draft_model = model}));
}

INSTANTIATE_TEST_SUITE_P(All, Encoder, testing::Values("llama2", "gemma3", "gpt2"));

}  // namespace
}  // namespace ruv::encoder_test
