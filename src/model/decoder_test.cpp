// What a step takes and gives besides tokens and logits.
#include "model/decoder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/worker_pool.h"
#include "device/batch_builder.h"
#include "device/ops.h"

namespace ruv {
namespace {

using Numbers = std::vector<float>;

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A small model of the repository and one page to compute in.
class DecoderWorld {
 public:
  explicit DecoderWorld(const std::string& name) {
    auto model = load_model(RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf");
    EXPECT_TRUE(model.has_value()) << model.error().message();
    model_ = *model;
    pages_ = std::make_unique<KvPages>(std::move(*KvPages::create(model_->cache_layout(), 1)));
    pages_->clear(0);
    activations_ = std::make_unique<Activations>(
        std::move(*Activations::create(*model_, kPageTokens, kPageTokens)));
    ops_ = std::move(*model_->device->make_ops(pool_, *pages_, ops_limits(*model_, kPageTokens)));
  }

  const Model& model() const { return *model_; }
  Ops& ops() { return *ops_; }
  std::span<const PageId> pages() const { return page_ids_; }
  StepOutput step(const BatchBuilder& batch) {
    return *decode(*ops_, *model_, batch.batch(), *activations_, kPageTokens);
  }
  // The rows of the embedding table that the tokens stand for, as they enter the first layer.
  View embeddings(std::span<const Token> tokens) {
    const View rows = make_view(std::ssize(tokens), model_->h.n_embd);
    ops_->embed(rows, model_->token_embd, tokens, model_->h.embed_scale);
    return rows;
  }
  // Memory that lives as long as the world.
  View make_view(int64_t n_rows, int64_t n_cols) {
    memory_.push_back(*model_->device->allocate(n_rows * n_cols * int64_t{sizeof(float)}));
    return {memory_.back().start, n_rows, n_cols};
  }
  Numbers numbers_of(View view) const {
    Numbers numbers(static_cast<size_t>(view.n_rows * view.n_cols));
    model_->device->download(view.start, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

 private:
  std::shared_ptr<const Model> model_;
  std::vector<DeviceMemory> memory_;
  WorkerPool pool_{1};
  std::unique_ptr<KvPages> pages_;
  std::unique_ptr<Activations> activations_;
  std::unique_ptr<Ops> ops_;
  std::vector<PageId> page_ids_ = {0};
};

const std::vector<Token> kTokens = {3, 14, 15, 9, 2, 6};

// gemma3 scales embeddings and has two sets of angles, gpt2 adds learned positions.
TEST(Decoder, ARowMayBringItsEmbedding) {
  for (const char* name : {"llama2", "gemma3", "gpt2"}) {
    DecoderWorld world(name);
    BatchBuilder text;
    text.begin_sequence(0, world.pages());
    text.add(kTokens);
    text.want_logits(std::ssize(kTokens));
    const Numbers expected = world.numbers_of(world.step(text).logits);

    const View image = world.embeddings(std::span(kTokens).subspan(1, 3));
    const std::vector<Position> positions = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
    BatchBuilder mixed;
    mixed.begin_sequence(0, world.pages());
    mixed.add(kTokens[0]);
    mixed.add_embeddings(image, positions);
    mixed.add(std::span(kTokens).subspan(4));
    mixed.want_logits(std::ssize(kTokens));
    EXPECT_TRUE(same_bytes(world.numbers_of(world.step(mixed).logits), expected)) << name;
  }
}

// What the output matrix makes logits of; rows that want both get both.
TEST(Decoder, HiddenStatesAreWhatLogitsAreMadeOf) {
  DecoderWorld world("llama2");
  BatchBuilder batch;
  batch.begin_sequence(0, world.pages());
  batch.add(kTokens);
  batch.want_hidden(4);
  batch.want_logits(2);
  const StepOutput output = world.step(batch);
  const Numbers logits = world.numbers_of(output.logits);
  ASSERT_EQ(output.hidden.n_rows, 4);
  ASSERT_EQ(output.hidden.n_cols, world.model().h.n_embd);
  const View again = world.make_view(2, world.model().h.n_vocab);
  world.ops().matmul(again, output.hidden.rows(2, 2), world.model().output, {});
  EXPECT_TRUE(same_bytes(world.numbers_of(again), logits));

  BatchBuilder hidden_only;
  hidden_only.begin_sequence(0, world.pages());
  hidden_only.add(kTokens);
  hidden_only.want_hidden();
  const Numbers last = world.numbers_of(output.hidden.rows(3, 1));
  const StepOutput alone = world.step(hidden_only);
  EXPECT_EQ(alone.logits.n_rows, 0);
  EXPECT_TRUE(same_bytes(world.numbers_of(alone.hidden), last));
}

}  // namespace
}  // namespace ruv
