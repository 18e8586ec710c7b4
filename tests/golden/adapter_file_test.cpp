// Adapters from files on the golden models: an adapter of PEFT computes the same bytes beside the
// model's folder and beside its GGUF file, and the same as a GGUF adapter with its matrices. That
// they are the right ones tests/oracle/compare_adapters.py shows with PEFT itself.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/test_safetensors.h"
#include "format/gguf_writer.h"
#include "format/row_order.h"
#include "format/tensor_names.h"
#include "format/test_folder.h"
#include "model/adapter.h"
#include "model/file_rows.h"
#include "model/model.h"
#include "ruv/logits.h"

namespace ruv::adapter_file_test {
namespace {

constexpr int64_t kRank = 3;
constexpr float kAlpha = 6;

std::string model_folder(const std::string& name) {
  return RUV_SOURCE_DIR "/tests/golden/models/" + name;
}

// Multiples of 2^-12 below 1/8.
TestMatrix random_matrix(std::string name, int64_t n_rows, int64_t n_cols, Rng& rng) {
  TestMatrix matrix = counted(std::move(name), n_rows, n_cols);
  for (float& x : matrix.numbers) x = (static_cast<float>(rng.below(1025)) - 512.0F) * 0x1p-12F;
  return matrix;
}

TestMatrix renamed(TestMatrix matrix, std::string name) {
  matrix.name = std::move(name);
  return matrix;
}

// Its rows are the columns of the other.
TestMatrix turned(const TestMatrix& matrix) {
  TestMatrix result = counted("", matrix.n_cols, matrix.n_rows);
  for (int64_t i = 0; i < matrix.n_rows * matrix.n_cols; ++i) {
    const int64_t at = i % matrix.n_cols * matrix.n_rows + i / matrix.n_cols;
    result.numbers[static_cast<size_t>(at)] = matrix.numbers[static_cast<size_t>(i)];
  }
  return result;
}

// A and B of one matrix of the model's checkpoint.
struct Pair {
  std::string gguf, hf;  // names of the tensor
  TestMatrix a, b;
};

// Random ones for each matrix of the layers, by its name in the GGUF file.
std::vector<Pair> random_pairs(const std::string& name) {
  const auto file = *ModelFile::open(model_folder(name));
  const auto gguf = *ModelFile::open(model_folder(name) + "/model.gguf");
  const TensorNames names(file->family(), false);
  Rng rng(7);
  std::vector<Pair> pairs;
  for (const TensorInfo& tensor : gguf->tensors()) {
    if (tensor.shape.size() != 2 || !tensor.name.starts_with("blk.")) continue;
    const std::string hf = names.hf_of(tensor.name).value_or("");
    const std::string stem = "base_model.model." + hf.substr(0, hf.size() - 7);
    pairs.push_back({tensor.name, hf,
                     random_matrix(stem + ".lora_A.weight", kRank, tensor.shape[1], rng),
                     random_matrix(stem + ".lora_B.weight", tensor.shape[0], kRank, rng)});
  }
  return pairs;
}

std::string write_peft(const TestFolder& folder, const std::vector<Pair>& pairs) {
  std::vector<TestMatrix> matrices;
  for (const Pair& pair : pairs) {
    matrices.push_back(pair.a);
    matrices.push_back(pair.b);
  }
  folder.write("adapter_model.safetensors", safetensors_of(matrices));
  folder.write("adapter_config.json",
               fmt::format(R"({{"peft_type":"LORA","r":{},"lora_alpha":{}}})", kRank,
                           static_cast<int>(kAlpha)));
  return folder.path();
}

// The rows of B in the order of the model's GGUF file.
TestMatrix in_gguf_order(const Pair& pair, const Model& model) {
  TestMatrix b = pair.b;
  const bool is_q = pair.gguf.find("attn_q.") != pair.gguf.npos;
  const bool is_k = pair.gguf.find("attn_k.") != pair.gguf.npos;
  if (!model.family->neighbour_rows || !(is_q || is_k)) return b;
  const int64_t head = model.plans[0].head_dim;
  for (int64_t row = 0; row < b.n_rows; ++row) {
    const int64_t from = row - row % head + neighbours_from_halves(row % head, head);
    std::copy_n(&pair.b.numbers[static_cast<size_t>(from * kRank)], kRank,
                &b.numbers[static_cast<size_t>(row * kRank)]);
  }
  return b;
}

std::string write_gguf_tensors(const TestFolder& folder, const std::vector<TestMatrix>& matrices) {
  const std::string path = folder.path() + "/adapter.gguf";
  GgufWriter writer = *GgufWriter::create(path);
  writer.add_text("general.type", "adapter");
  writer.add_text("adapter.type", "lora");
  writer.add_f32("adapter.lora.alpha", kAlpha);
  for (const TestMatrix& m : matrices) {
    const int64_t n = std::max<int64_t>(m.n_matrices, 1);
    std::vector<int64_t> shape = {m.n_rows / n, m.n_cols};
    if (m.n_matrices > 0) shape.insert(shape.begin(), n);
    writer.declare_tensor(m.name, DType::f32, shape);
  }
  EXPECT_TRUE(writer.begin_tensors().ok());
  for (const TestMatrix& matrix : matrices) {
    EXPECT_TRUE(writer.write(std::as_bytes(std::span(matrix.numbers))).ok());
  }
  EXPECT_TRUE(writer.commit().ok());
  return path;
}

std::string write_gguf(const TestFolder& folder, const std::vector<Pair>& pairs,
                       const Model& model) {
  std::vector<TestMatrix> matrices;
  for (const Pair& pair : pairs) {
    matrices.push_back(renamed(pair.a, pair.gguf + ".lora_a"));
    matrices.push_back(renamed(in_gguf_order(pair, model), pair.gguf + ".lora_b"));
  }
  return write_gguf_tensors(folder, matrices);
}

std::vector<float> logits_of(const std::shared_ptr<const Model>& model, const std::string& adapter,
                             float scale = 1) {
  LogitsOptions options{.n_threads = 1, .all = true};
  if (!adapter.empty()) {
    const auto loaded = load_adapter(model, adapter, 1);
    EXPECT_TRUE(loaded) << loaded.error().message();
    if (!loaded) return {};
    options.adapters = {{*loaded, scale}};
  }
  const Token ids[] = {3, 14, 15, 9, 2, 6, 5, 3, 5};
  std::vector<float> all;
  const Status status = compute_logits(*model, ids, options, [&](int64_t, auto row) {
    all.insert(all.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

// llama2: rows of q and k are in another order in GGUF files. gpt2: fused, and matrices of the
// checkpoint are transposed. phi3: fused matrices. The others: as they are.
TEST(AdapterFiles, ContainersOfModelAndAdapterDoNotMatter) {
  for (const char* name : {"llama2", "gpt2", "phi3", "qwen3", "gemma2", "starcoder2"}) {
    const auto folder_model = *load_model(model_folder(name));
    const auto gguf_model = *load_model(model_folder(name) + "/model.gguf");
    const std::vector<Pair> pairs = random_pairs(name);
    const TestFolder scratch;
    const std::string peft = write_peft(scratch, pairs);
    const std::string gguf = write_gguf(scratch, pairs, *gguf_model);
    const std::vector<float> base = logits_of(gguf_model, "");
    ASSERT_EQ(logits_of(folder_model, ""), base) << name;
    const std::vector<float> adapted = logits_of(folder_model, peft);
    EXPECT_NE(adapted, base) << name;
    EXPECT_EQ(logits_of(gguf_model, peft), adapted) << name;
    EXPECT_EQ(logits_of(gguf_model, gguf), adapted) << name;
    EXPECT_EQ(logits_of(folder_model, gguf), adapted) << name;
    EXPECT_NE(logits_of(folder_model, peft, 0.5F), adapted) << name;
    EXPECT_EQ(logits_of(folder_model, peft, 0), base) << name;
  }
}

// A table's adapter has a row for each token in a GGUF file and in MLX's, and a column in PEFT's;
// MLX computes a tied output with it as well.
TEST(AdapterFiles, ContainersOfAdaptersOfTheEndsDoNotMatter) {
  for (const char* name : {"llama2", "qwen3"}) {
    const auto model = *load_model(model_folder(name));
    const int64_t n_vocab = model->h.n_vocab, n_embd = model->h.n_embd;
    Rng rng(9);
    const TestMatrix a = random_matrix("", kRank, n_vocab, rng);
    const TestMatrix b = random_matrix("", n_embd, kRank, rng);
    const TestFolder peft, both, mlx, gguf;
    const std::string embd = "base_model.model.model.embed_tokens.lora_embedding_";
    const std::string head = "base_model.model.lm_head.lora_";
    const std::string config =
        fmt::format(R"({{"peft_type":"LORA","r":{},"lora_alpha":{}}})", kRank, kAlpha);
    const TestMatrix at = turned(a), bt = turned(b);
    peft.write("adapter_config.json", config);
    peft.write("adapter_model.safetensors",
               safetensors_of({renamed(a, embd + "A"), renamed(b, embd + "B")}));
    both.write("adapter_config.json", config);
    both.write("adapter_model.safetensors",
               safetensors_of({renamed(a, embd + "A"), renamed(b, embd + "B"),
                               renamed(bt, head + "A.weight"), renamed(at, head + "B.weight")}));
    mlx.write("adapter_config.json", R"({"lora_parameters":{"rank":3,"scale":2.0}})");
    mlx.write("adapters.safetensors", safetensors_of({renamed(at, "model.embed_tokens.lora_a"),
                                                      renamed(bt, "model.embed_tokens.lora_b")}));
    const Pair pair = {"token_embd.weight", "", at, b};
    const std::string gguf_path = write_gguf(gguf, {pair}, *model);
    const std::vector<float> adapted = logits_of(model, peft.path());
    EXPECT_NE(adapted, logits_of(model, "")) << name;
    EXPECT_EQ(logits_of(model, gguf_path), adapted) << name;
    const bool is_tied = model->file->find_tensor("output.weight") == nullptr;
    EXPECT_EQ(is_tied, std::string(name) == "qwen3");
    EXPECT_NE(logits_of(model, both.path()), adapted) << name;
    EXPECT_EQ(logits_of(model, mlx.path()), logits_of(model, (is_tied ? both : peft).path()))
        << name;
  }
}

// A and B of the gates, the ups (whose A is that of the gates) and the downs of a layer's experts.
struct ExpertLayer {
  int64_t layer = 0, n_experts = 0, n_embd = 0, n_ff = 0;
  std::vector<TestMatrix> a[3], b[3];

  ExpertLayer(const LayerPlan& plan, int64_t layer_, Rng& rng)
      : layer(layer_), n_experts(plan.n_experts), n_embd(plan.n_embd) {
    n_ff = plan.extent(LayerSize::expert_ff);
    for (int64_t e = 0; e < n_experts; ++e) {
      a[0].push_back(random_matrix("", kRank, n_embd, rng));
      a[1].push_back(a[0].back());
      a[2].push_back(random_matrix("", kRank, n_ff, rng));
      for (const int i : {0, 1}) b[i].push_back(random_matrix("", n_ff, kRank, rng));
      b[2].push_back(random_matrix("", n_embd, kRank, rng));
    }
  }
};

// Matrices of all experts below each other.
TestMatrix stack_of(const std::vector<TestMatrix>& matrices, std::string name) {
  TestMatrix stack{std::move(name), 0, matrices[0].n_cols, {}, std::ssize(matrices)};
  for (const TestMatrix& m : matrices) {
    stack.n_rows += m.n_rows;
    stack.numbers.insert(stack.numbers.end(), m.numbers.begin(), m.numbers.end());
  }
  return stack;
}

// The B of a parameter of PEFT, of one or two roles: ranks by turns of the experts.
TestMatrix interleaved(const ExpertLayer& layer, std::vector<int> roles, std::string name) {
  const int64_t n = layer.n_experts;
  TestMatrix all = counted(std::move(name), 0, n * kRank);
  for (const int role : roles) {
    for (int64_t row = 0; row < layer.b[role][0].n_rows; ++row, ++all.n_rows) {
      for (int64_t i = 0; i < n * kRank; ++i) {
        const TestMatrix& b = layer.b[role][static_cast<size_t>(i % n)];
        all.numbers.push_back(b.numbers[static_cast<size_t>(row * kRank + i / n)]);
      }
    }
  }
  return all;
}

// A and B of a parameter of PEFT in which its older versions took outputs for inputs: A of each
// expert is its B turned, and the other way round.
std::vector<TestMatrix> exchanged(const TestMatrix& a, const TestMatrix& b, int64_t n_experts) {
  TestMatrix new_a = counted(a.name, 0, b.n_rows), new_b = counted(b.name, 0, b.n_cols);
  for (; new_a.n_rows < a.n_rows; ++new_a.n_rows) {
    const int64_t column = new_a.n_rows % kRank * n_experts + new_a.n_rows / kRank;
    for (int64_t row = 0; row < b.n_rows; ++row) {
      new_a.numbers.push_back(b.numbers[static_cast<size_t>(row * b.n_cols + column)]);
    }
  }
  for (; new_b.n_rows < a.n_cols; ++new_b.n_rows) {
    for (int64_t i = 0; i < b.n_cols; ++i) {
      const int64_t row = i % n_experts * kRank + i / n_experts;
      new_b.numbers.push_back(a.numbers[static_cast<size_t>(row * a.n_cols + new_b.n_rows)]);
    }
  }
  return {std::move(new_a), std::move(new_b)};
}

// One adapter as files have it: with a module for each expert, with stacks of parameters as two
// versions of PEFT write them, and with those of MLX and of GGUF.
struct ExpertTensors {
  std::vector<TestMatrix> single, stacked, older, mlx, gguf;

  void add(const ExpertLayer& layer, const TensorNames& names) {
    constexpr const char* kGguf[] = {"ffn_gate", "ffn_up", "ffn_down"};
    constexpr const char* kMlx[] = {"gate_proj", "up_proj", "down_proj"};
    for (int role = 0; role < 3; ++role) {
      for (int64_t e = 0; e < layer.n_experts; ++e) {
        const std::string tensor =
            *names.hf_of(fmt::format("blk.{}.{}.{}.weight", layer.layer, kGguf[role], e));
        const std::string stem = "base_model.model." + tensor.substr(0, tensor.size() - 7);
        const auto at = static_cast<size_t>(e);
        single.push_back(renamed(layer.a[role][at], stem + ".lora_A.weight"));
        single.push_back(renamed(layer.b[role][at], stem + ".lora_B.weight"));
      }
      const std::string of_mlx =
          fmt::format("model.layers.{}.mlp.switch_mlp.{}.lora_", layer.layer, kMlx[role]);
      mlx.push_back(stack_of(layer.a[role], of_mlx + "a"));
      mlx.push_back(stack_of(layer.b[role], of_mlx + "b"));
      const std::string of_gguf =
          fmt::format("blk.{}.{}_exps.weight.lora_", layer.layer, kGguf[role]);
      gguf.push_back(stack_of(layer.a[role], of_gguf + "a"));
      gguf.push_back(stack_of(layer.b[role], of_gguf + "b"));
    }
    const std::string module =
        fmt::format("base_model.model.model.layers.{}.mlp.experts.", layer.layer);
    add_parameter(layer, {0, 1}, module + "base_layer.lora_");
    add_parameter(layer, {2}, module + "lora_");
  }

 private:
  void add_parameter(const ExpertLayer& layer, const std::vector<int>& roles,
                     const std::string& stem) {
    TestMatrix a = stack_of(layer.a[roles[0]], stem + "A.weight");
    a.n_matrices = 0;
    const TestMatrix b = interleaved(layer, roles, stem + "B.weight");
    for (TestMatrix& matrix : exchanged(a, b, layer.n_experts)) older.push_back(std::move(matrix));
    stacked.push_back(std::move(a));
    stacked.push_back(b);
  }
};

TEST(AdapterFiles, ContainersOfAdaptersOfExpertsDoNotMatter) {
  for (const char* name : {"mixtral", "qwen3moe"}) {
    const auto model = *load_model(model_folder(name));
    const auto gguf_model = *load_model(model_folder(name) + "/model.gguf");
    ExpertTensors tensors;
    Rng rng(11);
    for (int64_t i = 0; i < model->h.n_layers; ++i) {
      const LayerPlan& plan = model->plans[static_cast<size_t>(i)];
      if (plan.n_experts > 0) tensors.add(ExpertLayer(plan, i, rng), TensorNames(model->family));
    }
    const std::string config = R"({"peft_type":"LORA","r":3,"lora_alpha":6)";
    const std::string targets =
        R"(,"target_parameters":["mlp.experts.gate_up_proj","mlp.experts.down_proj"])";
    const TestFolder single, stacked, older, mlx, gguf;
    single.write("adapter_config.json", config + "}");
    stacked.write("adapter_config.json", config + targets + R"(,"peft_version":"0.20.0"})");
    older.write("adapter_config.json", config + targets + "}");
    mlx.write("adapter_config.json", R"({"lora_parameters":{"rank":3,"scale":2.0}})");
    single.write("adapter_model.safetensors", safetensors_of(tensors.single));
    stacked.write("adapter_model.safetensors", safetensors_of(tensors.stacked));
    older.write("adapter_model.safetensors", safetensors_of(tensors.older));
    mlx.write("adapters.safetensors", safetensors_of(tensors.mlx));
    const std::string gguf_path = write_gguf_tensors(gguf, tensors.gguf);
    const std::vector<float> adapted = logits_of(model, single.path());
    EXPECT_NE(adapted, logits_of(model, "")) << name;
    EXPECT_EQ(logits_of(gguf_model, single.path()), adapted) << name;
    for (const std::string& path : {stacked.path(), older.path(), mlx.path(), gguf_path}) {
      EXPECT_EQ(logits_of(model, path), adapted) << name << " " << path;
      EXPECT_EQ(logits_of(gguf_model, path), adapted) << name << " " << path;
    }
    const auto loaded = *load_adapter(model, gguf_path, 1);
    EXPECT_GE(loaded->n_bytes, adapter_info(*loaded).n_bytes) << "memory of all experts";
  }
}

// Lengths are of the rows of the checkpoint, wherever the model has them.
TEST(AdapterFiles, ContainersOfAdaptersWithLengthsDoNotMatter) {
  for (const char* name : {"llama2", "gpt2", "phi3"}) {
    const auto folder_model = *load_model(model_folder(name));
    const auto gguf_model = *load_model(model_folder(name) + "/model.gguf");
    const TestFolder peft, mlx;
    std::vector<TestMatrix> of_peft, of_mlx;
    Rng rng(4);
    for (const Pair& pair : random_pairs(name)) {
      const std::string module = pair.hf.substr(0, pair.hf.size() - 7);
      TestMatrix lengths = random_matrix(module + ".m", pair.b.n_rows, 1, rng);
      for (float& x : lengths.numbers) x += 1;
      of_peft.push_back(pair.a);
      of_peft.push_back(pair.b);
      of_peft.push_back(renamed(lengths, "base_model.model." + module + ".lora_magnitude_vector"));
      of_mlx.push_back(renamed(turned(pair.a), module + ".lora_a"));
      of_mlx.push_back(renamed(turned(pair.b), module + ".lora_b"));
      of_mlx.push_back(std::move(lengths));
    }
    peft.write("adapter_model.safetensors", safetensors_of(of_peft));
    mlx.write("adapters.safetensors", safetensors_of(of_mlx));
    peft.write("adapter_config.json",
               R"({"peft_type":"LORA","r":3,"lora_alpha":6,"use_dora":true})");
    mlx.write("adapter_config.json",
              R"({"fine_tune_type":"dora","lora_parameters":{"rank":3,"scale":2.0}})");
    const std::vector<float> adapted = logits_of(folder_model, peft.path());
    EXPECT_NE(adapted, logits_of(folder_model, "")) << name;
    EXPECT_EQ(logits_of(gguf_model, peft.path()), adapted) << name;
    EXPECT_EQ(logits_of(folder_model, mlx.path()), adapted) << name;
  }
}

// PEFT saves the base's matrix beside an adapter of it.
TEST(AdapterFiles, TheBaseThatComesWithAnAdapterIsTheModels) {
  const auto model = *load_model(model_folder("llama2"));
  const int64_t n_vocab = model->h.n_vocab, n_embd = model->h.n_embd;
  Rng rng(9);
  const std::string head = "base_model.model.lm_head.";
  const TestMatrix a = random_matrix(head + "lora_A.weight", kRank, n_embd, rng);
  const TestMatrix b = random_matrix(head + "lora_B.weight", n_vocab, kRank, rng);
  TestMatrix base = random_matrix(head + "base_layer.weight", n_vocab, n_embd, rng);
  const TensorInfo& own = *model->file->find_tensor("output.weight");
  for (int64_t row = 0; row < n_vocab; ++row)
    own.decode_row(row, &base.numbers[static_cast<size_t>(row * n_embd)]);
  const auto refusal = [&](const TestMatrix& copy) {
    const TestFolder folder;
    folder.write("adapter_config.json", R"({"peft_type":"LORA","r":3})");
    folder.write("adapter_model.safetensors", safetensors_of({a, b, copy}));
    const auto loaded = load_adapter(model, folder.path(), 1);
    return loaded ? "" : loaded.error().message().substr(folder.path().size() + 2);
  };
  EXPECT_EQ(refusal(base), "");
  EXPECT_EQ(refusal(random_matrix(base.name, n_vocab + 1, n_embd, rng)),
            "'lm_head.weight': the base's matrix that it has is of another shape than the model's");
  base.numbers[static_cast<size_t>(2 * n_embd)] += 0.01F;
  EXPECT_EQ(refusal(base),
            "'lm_head.weight': row 2 of the base's matrix that it has differs from the model's; "
            "adapters with another base are not supported");
}

TEST(AdapterFiles, WhatTheModelLacksIsRefusedByItsName) {
  const auto model = *load_model(model_folder("llama2"));
  const auto refusal = [&](const std::string& module, int64_t n_in = 4, int64_t n_out = 4) {
    const TestFolder folder;
    const std::string stem = "base_model.model." + module;
    folder.write("adapter_model.safetensors",
                 safetensors_of({counted(stem + ".lora_A.weight", 8, n_in),
                                 counted(stem + ".lora_B.weight", n_out, 8)}));
    folder.write("adapter_config.json", R"({"peft_type":"LORA"})");
    const auto loaded = load_adapter(model, folder.path(), 1);
    EXPECT_FALSE(loaded);
    return loaded ? "" : loaded.error().message().substr(folder.path().size() + 2);
  };
  EXPECT_EQ(refusal("model.layers.0.mlp.gate_proj2"),
            "'model.layers.0.mlp.gate_proj2.weight' is not a matrix of the model's layers");
  EXPECT_EQ(refusal("model.layers.99.mlp.up_proj"),
            "'model.layers.99.mlp.up_proj.weight' is not a matrix of the model's layers");
  EXPECT_EQ(refusal("lm_head"),
            fmt::format("adapter: output: the matrices are (8, 4) and (4, 8), and the model's "
                        "({}, {})",
                        model->h.n_vocab, model->h.n_embd));
  EXPECT_EQ(refusal("model.layers.0.mlp.up_proj"),
            fmt::format("adapter: layer 0, ffn_up: A is (8, 4), expected (rank, {}) with a rank of "
                        "at least 1",
                        model->h.n_embd));
}

}  // namespace
}  // namespace ruv::adapter_file_test
