// Latent attention: the forms of its matrices in files, what it keeps, and its bounds.
#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "base/worker_pool.h"
#include "device/batch_builder.h"
#include "device/test_numbers.h"
#include "format/gguf_writer.h"
#include "format/tensor_names.h"
#include "format/test_folder.h"
#include "model/decoder.h"

namespace ruv {
namespace {

constexpr int64_t kWidth = 32, kHeads = 2, kPlain = 6, kRope = 4, kValue = 5, kRank = 8,
                  kInner = 24;
const std::vector<Token> kTokens = {3, 1, 4, 1, 5, 9, 2, 6};

struct Tensor {
  std::vector<int64_t> shape;
  Numbers numbers;
};

// A model of one layer. Its matrices from short rows to keys and values are one, or one for each
// head with those of keys transposed.
class LatentFile {
 public:
  explicit LatentFile(bool of_heads) {
    add("token_embd.weight", {11, kWidth});
    add("output_norm.weight", {kWidth});
    add("blk.0.attn_norm.weight", {kWidth});
    add("blk.0.attn_q.weight", {kHeads * (kPlain + kRope), kWidth});
    add("blk.0.attn_kv_a_mqa.weight", {kRank + kRope, kWidth});
    add("blk.0.attn_kv_a_norm.weight", {kRank});
    add("blk.0.attn_kv_b.weight", {kHeads * (kPlain + kValue), kRank});
    add("blk.0.attn_output.weight", {kWidth, kHeads * kValue});
    add("blk.0.ffn_norm.weight", {kWidth});
    for (const char* name : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"}) {
      add(name, {kInner, kWidth});
    }
    add("blk.0.ffn_down.weight", {kWidth, kInner});
    if (of_heads) split();
  }
  // Makes queries of a short row, and adds an index that chooses n keys; 0: none.
  void add_index(int64_t n) {
    constexpr int64_t kQueryRank = 6, kIndexHeads = 3, kIndexDim = 5;
    tensors_.erase("blk.0.attn_q.weight");
    add("blk.0.attn_q_a.weight", {kQueryRank, kWidth});
    add("blk.0.attn_q_a_norm.weight", {kQueryRank});
    add("blk.0.attn_q_b.weight", {kHeads * (kPlain + kRope), kQueryRank});
    set("attention.q_lora_rank", kQueryRank);
    if (n == 0) return;
    architecture_ = "deepseek32";
    add("blk.0.indexer.attn_q_b.weight", {kIndexHeads * kIndexDim, kQueryRank});
    add("blk.0.indexer.attn_k.weight", {kIndexDim, kWidth});
    add("blk.0.indexer.k_norm.weight", {kIndexDim});
    add("blk.0.indexer.k_norm.bias", {kIndexDim});
    add("blk.0.indexer.proj.weight", {kIndexHeads, kWidth});
    set("attention.indexer.head_count", kIndexHeads);
    set("attention.indexer.key_length", kIndexDim);
    set("attention.indexer.top_k", n);
  }
  void set(std::string_view key, MetaValue value) {
    keys_.insert_or_assign(std::string(key), std::move(value));
  }

  std::string write() const {
    const std::string path = folder_->path() + "/model.gguf";
    auto out = GgufWriter::create(path, {.replace = true});
    EXPECT_TRUE(out);
    out->add_text("general.architecture", architecture_);
    out->add_f32(architecture_ + ".attention.layer_norm_rms_epsilon", 1e-5F);
    for (const auto& [key, value] : keys_)
      out->add(fmt::format("{}.{}", architecture_, key), value);
    for (const auto& [name, tensor] : tensors_) {
      out->declare_tensor(name, DType::f32, tensor.shape);
    }
    EXPECT_TRUE(out->begin_tensors().ok());
    for (const auto& [name, tensor] : tensors_) {
      EXPECT_TRUE(out->write(std::as_bytes(std::span(tensor.numbers))).ok());
    }
    EXPECT_TRUE(out->commit().ok());
    return path;
  }

  // The same weights as a checkpoint with this scaling of positions.
  std::string write_folder(const Json& rope_scaling) const {
    const Json config = {{"model_type", "youtu"},         {"hidden_size", kWidth},
                         {"intermediate_size", kInner},   {"num_hidden_layers", 1},
                         {"num_attention_heads", kHeads}, {"num_key_value_heads", kHeads},
                         {"q_lora_rank", nullptr},        {"kv_lora_rank", kRank},
                         {"qk_nope_head_dim", kPlain},    {"qk_rope_head_dim", kRope},
                         {"v_head_dim", kValue},          {"rms_norm_eps", 1e-5},
                         {"max_position_embeddings", 64}, {"rope_scaling", rope_scaling}};
    folder_->write("config.json", config.dump());
    const TensorNames names(find_family("deepseek2"));
    Json header = Json::object();
    std::string data;
    for (const auto& [name, tensor] : tensors_) {
      const auto bytes = std::as_bytes(std::span(tensor.numbers));
      const size_t end = data.size() + bytes.size();
      header[names.hf_of(name).value_or("")] = {
          {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {data.size(), end}}};
      data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    const std::string text = header.dump();
    const uint64_t n = text.size();
    folder_->write("model.safetensors",
                   std::string(reinterpret_cast<const char*>(&n), sizeof n) + text + data);
    return folder_->path();
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (const int64_t length : shape) n *= length;
    Numbers numbers = random_numbers(n, 1 + tensors_.size());
    tensors_.insert_or_assign(name, Tensor{std::move(shape), std::move(numbers)});
  }
  void split() {
    const Numbers all = tensors_.at("blk.0.attn_kv_b.weight").numbers;
    tensors_.erase("blk.0.attn_kv_b.weight");
    Tensor keys{{kHeads, kRank, kPlain}, {}};
    Tensor values{{kHeads, kValue, kRank}, {}};
    for (int64_t head = 0; head < kHeads; ++head) {
      const auto at = [&](int64_t row, int64_t col) {
        return all[static_cast<size_t>((head * (kPlain + kValue) + row) * kRank + col)];
      };
      for (int64_t i = 0; i < kRank * kPlain; ++i) {
        keys.numbers.push_back(at(i % kPlain, i / kPlain));
      }
      for (int64_t i = 0; i < kValue * kRank; ++i) {
        values.numbers.push_back(at(kPlain + i / kRank, i % kRank));
      }
    }
    tensors_.insert_or_assign("blk.0.attn_k_b.weight", keys);
    tensors_.insert_or_assign("blk.0.attn_v_b.weight", values);
    // Files of this form give the widths of what is kept under the usual keys.
    set("attention.key_length_mla", kPlain + kRope);
    set("attention.value_length_mla", kValue);
    set("attention.key_length", kRank + kRope);
    set("attention.value_length", kRank);
    set("attention.head_count_kv", int64_t{1});
  }

  std::string architecture_ = "deepseek2";
  std::unique_ptr<TestFolder> folder_ = std::make_unique<TestFolder>();
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, MetaValue> keys_ = {{"block_count", int64_t{1}},
                                            {"embedding_length", kWidth},
                                            {"feed_forward_length", kInner},
                                            {"attention.head_count", kHeads},
                                            {"attention.head_count_kv", kHeads},
                                            {"attention.kv_lora_rank", kRank},
                                            {"attention.key_length", kPlain + kRope},
                                            {"attention.value_length", kValue},
                                            {"rope.dimension_count", kRope},
                                            {"context_length", int64_t{64}}};
};

// Logits of all tokens, computed `n` at a time.
Numbers logits_of(const Model& model, int64_t n) {
  const auto n_tokens = std::ssize(kTokens);
  WorkerPool pool(1);
  KvPages pages = std::move(*KvPages::create(model.cache_layout(), 1, {}, model.device));
  pages.clear(0);
  const Activations activations = std::move(*Activations::create(model, n_tokens, n_tokens));
  const auto ops = std::move(*model.device->make_ops(pool, pages, ops_limits(model, n_tokens)));
  const std::vector<PageId> ids = {0};
  Numbers all;
  for (int64_t first = 0; first < n_tokens; first += n) {
    const int64_t n_rows = std::min(n, n_tokens - first);
    BatchBuilder batch;
    batch.begin_sequence(first, ids);
    batch.add(std::span(kTokens).subspan(static_cast<size_t>(first), static_cast<size_t>(n_rows)));
    batch.want_logits(n_rows);
    const StepOutput out = *decode(*ops, model, batch.batch(), activations, n_tokens);
    Numbers part(static_cast<size_t>(out.logits.n_rows * out.logits.n_cols));
    model.device->download(out.logits.start, std::as_writable_bytes(std::span(part)));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(Latent, BothFormsOfTheMatricesGiveTheSameBytes) {
  const auto whole = load_model(LatentFile(false).write());
  const auto split = load_model(LatentFile(true).write());
  ASSERT_TRUE(whole.has_value()) << whole.error().message();
  ASSERT_TRUE(split.has_value()) << split.error().message();
  const Numbers expected = logits_of(**whole, 8);
  EXPECT_EQ(logits_of(**split, 8), expected);
  EXPECT_EQ(logits_of(**split, 3), expected);
  EXPECT_EQ(logits_of(**whole, 1), expected);
}

// Rows that see no more keys than an index chooses are those of a model without one.
TEST(Latent, AnIndexMattersWhereThereAreMoreKeys) {
  const auto model_with = [](int64_t n_chosen) {
    LatentFile file(true);
    file.add_index(n_chosen);
    auto model = load_model(file.write());
    EXPECT_TRUE(model.has_value()) << model.error().message();
    return *model;
  };
  const auto n_tokens = std::ssize(kTokens);
  const Numbers without = logits_of(*model_with(0), n_tokens);
  EXPECT_EQ(logits_of(*model_with(n_tokens), n_tokens), without);
  const auto few = model_with(3);
  const Numbers got = logits_of(*few, n_tokens);
  const auto row = std::ssize(without) / n_tokens;
  const auto rows = [&](const Numbers& all, int64_t first, int64_t n) {
    return Numbers(all.begin() + first * row, all.begin() + (first + n) * row);
  };
  EXPECT_EQ(rows(got, 0, 3), rows(without, 0, 3));
  for (int64_t i = 3; i < n_tokens; ++i) EXPECT_NE(rows(got, i, 1), rows(without, i, 1)) << i;
  EXPECT_EQ(logits_of(*few, 3), got);
  EXPECT_EQ(logits_of(*few, 1), got);
}

// Files of llama.cpp hold a tenth of mscale_all_dim; checkpoints say it beside mscale.
TEST(Latent, YarnMakesScoresLargerInFilesOfBothKinds) {
  LatentFile file(false);
  const auto folder = load_model(file.write_folder({{"type", "yarn"},
                                                    {"factor", 8.0},
                                                    {"mscale", 0.75},
                                                    {"mscale_all_dim", 0.75},
                                                    {"original_max_position_embeddings", 8}}));
  ASSERT_TRUE(folder.has_value()) << folder.error().message();
  file.set("rope.freq_base", 10000.0);
  file.set("rope.scaling.type", std::string("yarn"));
  file.set("rope.scaling.factor", 8.0);
  file.set("rope.scaling.original_context_length", int64_t{8});
  const auto unscaled = load_model(file.write());
  ASSERT_TRUE(unscaled.has_value()) << unscaled.error().message();
  file.set("rope.scaling.yarn_log_multiplier", 0.075);
  const auto gguf = load_model(file.write());
  ASSERT_TRUE(gguf.has_value()) << gguf.error().message();
  EXPECT_EQ((*gguf)->rope.plans.at(0).magnitude, 1.0F);
  EXPECT_FLOAT_EQ((*gguf)->h.attn_scale, (*folder)->h.attn_scale);
  EXPECT_GT((*gguf)->h.attn_scale, 1.2F * (*unscaled)->h.attn_scale);
  const Numbers expected = logits_of(**folder, 8), got = logits_of(**gguf, 8);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4F) << i;
  EXPECT_NE(logits_of(**unscaled, 8), got);
}

// A softmax ranks groups of experts by their best, sigmoids by their best two.
TEST(Latent, GroupsOfExpertsAreRankedByTheKindOfScores) {
  const auto rank = [](int64_t score) {
    LatentFile file(false);
    file.set("expert_count", int64_t{4});
    file.set("expert_used_count", int64_t{2});
    file.set("expert_gating_func", score);
    const auto model_file = ModelFile::open(file.write());
    EXPECT_TRUE(model_file.has_value());
    const auto h = read_hparams(**model_file, *find_family("deepseek2"));
    EXPECT_TRUE(h.has_value()) << h.error().message();
    return h->route.group_rank;
  };
  EXPECT_EQ(rank(1), GroupRank::best);
  EXPECT_EQ(rank(2), GroupRank::best_two);
}

TEST(Latent, OneShortRowIsKeptForAllHeads) {
  const auto model = load_model(LatentFile(false).write());
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const KvShape shape = (*model)->cache_layout().layers[0].shape;
  EXPECT_EQ(shape.n_heads, 1);
  EXPECT_EQ(shape.key_dim, kRank + kRope);
  EXPECT_EQ(shape.value_dim, kRank);
  EXPECT_EQ((*model)->h.head_dim, kPlain + kRope);
}

TEST(Latent, WidthsHaveBounds) {
  const auto error = [](std::string_view key, int64_t value) {
    LatentFile file(false);
    file.set(key, value);
    const auto model = load_model(file.write());
    return model ? std::string() : model.error().message();
  };
  EXPECT_NE(error("attention.key_length", kRope).find("'deepseek2.attention.key_length'"),
            std::string::npos);
  EXPECT_NE(error("attention.kv_lora_rank", 1021).find("'deepseek2.attention.kv_lora_rank'"),
            std::string::npos);
  EXPECT_NE(error("attention.kv_lora_rank", 0).find("'deepseek2.attention.kv_lora_rank'"),
            std::string::npos);
  EXPECT_NE(error("rope.scaling.yarn_log_multiplier", 1).find("yarn_log_multiplier"),
            std::string::npos);  // of positions that nothing scales
  EXPECT_NE(error("attention.q_lora_rank", 4).find("'blk.0.attn_q_a"), std::string::npos);
}

}  // namespace
}  // namespace ruv
