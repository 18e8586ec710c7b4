// What a step takes and gives besides tokens and logits.
#include "model/decoder.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/worker_pool.h"
#include "device/batch_builder.h"
#include "device/ops.h"
#include "format/gguf_writer.h"
#include "model/bind_weights.h"

namespace ruv::decoder_test {
namespace {

using Numbers = std::vector<float>;

bool same_bytes(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string golden_path(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name + "/model.gguf";
}

// A small model of the repository and one page to compute in.
class DecoderWorld {
 public:
  explicit DecoderWorld(const std::string& name) : DecoderWorld(*load_model(golden_path(name))) {}
  explicit DecoderWorld(std::shared_ptr<const Model> model) : model_(std::move(model)) {
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

// A copy of a golden file in which a norm of the same weights has another name too.
void write_with_norm_twice(const std::string& from, const std::string& norm,
                           const std::string& other, const std::string& to) {
  const auto file = ModelFile::open(from);
  ASSERT_TRUE(file);
  auto out = GgufWriter::create(to, {.replace = true});
  ASSERT_TRUE(out);
  for (const auto& [key, value] : (*file)->metadata()) out->add(key, value);
  std::vector<TensorInfo> tensors((*file)->tensors().begin(), (*file)->tensors().end());
  tensors.push_back(*(*file)->find_tensor(norm));
  tensors.back().name = other;
  for (const TensorInfo& t : tensors) out->declare_tensor(t.name, t.dtype, t.shape);
  ASSERT_TRUE(out->begin_tensors().ok());
  for (const TensorInfo& t : tensors) ASSERT_TRUE(out->write(t.bytes).ok());
  ASSERT_TRUE(out->commit().ok());
}

// The model of a file as a family whose embeddings are normalised.
std::shared_ptr<const Model> load_with_embd_norm(const std::string& path, FamilyRecord& family) {
  const auto m = std::make_shared<Model>();
  m->file = std::move(*ModelFile::open(path));
  family = *m->file->family();
  family.block.embd_norm = true;
  m->family = &family;
  m->device = *choose_device({});
  m->h = *read_hparams(*m->file, family);
  m->rope = *read_rope(*m->file, family, m->h);
  m->plans = *plan_layers(*m->file, family, m->h, m->rope);
  WorkerPool pool(1);
  WeightSource source(*m->file, *m->device, pool, {});
  const Status bound = bind_weights(*m, source);
  EXPECT_TRUE(bound.ok()) << bound.message();
  return m;
}

// Tokens of such a model are as rows that another model is given normalised.
TEST(Decoder, EmbeddingsAreNormalisedWhereTheFamilySaysSo) {
  const std::string path =
      testing::TempDir() + "ruv_embd_norm_" + std::to_string(getpid()) + ".gguf";
  write_with_norm_twice(golden_path("llama2"), "blk.0.ffn_norm.weight", "token_embd_norm.weight",
                        path);
  FamilyRecord family;
  DecoderWorld normalising(load_with_embd_norm(path, family));
  BatchBuilder text;
  text.begin_sequence(0, normalising.pages());
  text.add(kTokens);
  text.want_logits(std::ssize(kTokens));
  const Numbers got = normalising.numbers_of(normalising.step(text).logits);

  DecoderWorld plain("llama2");
  const View rows = plain.embeddings(kTokens);
  const NormWeights& norm = plain.model().layers[0][NormRole::ffn];
  plain.ops().norm(rows, rows, norm.weight, norm.bias, {Norm::rms, plain.model().h.norm_eps});
  BatchBuilder given;
  given.begin_sequence(0, plain.pages());
  std::vector<Position> positions;
  for (const int32_t i : {0, 1, 2, 3, 4, 5}) positions.push_back({i, i, i});
  given.add_embeddings(rows, positions);
  given.want_logits(std::ssize(kTokens));
  EXPECT_TRUE(same_bytes(got, plain.numbers_of(plain.step(given).logits)));
  std::filesystem::remove(path);
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
}  // namespace ruv::decoder_test
