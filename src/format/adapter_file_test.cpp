// Adapters of PEFT, MLX and GGUF: what is read of each, and that what would change the sums and is
// not honoured is refused by name.
#include "format/adapter_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_safetensors.h"
#include "format/adapter_halves.h"
#include "format/gguf_builder.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr const char* kQ = "base_model.model.model.layers.0.self_attn.q_proj";

// A folder of PEFT whose config has `more` after the rank, 2, and alpha, 3.
class PeftFolder {
 public:
  PeftFolder() { tensors({counted(name("A"), 2, 4), counted(name("B"), 6, 2)}); }

  static std::string name(const std::string& half, const std::string& module = kQ) {
    return module + ".lora_" + half + ".weight";
  }
  void tensors(const std::vector<TestMatrix>& matrices) {
    folder_.write("adapter_model.safetensors", safetensors_of(matrices));
  }
  Result<AdapterFile> read(const std::string& more = "") const {
    folder_.write("adapter_config.json", R"({"peft_type":"LORA","r":2,"lora_alpha":3)" +
                                             (more.empty() ? more : "," + more) + "}");
    return open_adapter(folder_.path());
  }
  // Without the folder's name, and "" where it is read.
  std::string refusal(const std::string& more = "", Code code = Code::unsupported) const {
    const Result<AdapterFile> file = read(more);
    if (file) return "";
    EXPECT_EQ(file.error().code(), code) << file.error().message();
    const std::string start = folder_.path() + ": ";
    EXPECT_TRUE(file.error().message().starts_with(start)) << file.error().message();
    return file.error().message().substr(start.size());
  }

 private:
  TestFolder folder_;
};

std::vector<float> row_numbers(const TensorInfo& tensor, int64_t row) {
  std::vector<float> numbers(static_cast<size_t>(tensor.shape.back()));
  tensor.decode_row(row, numbers.data());
  return numbers;
}

TEST(PeftAdapter, HasAModuleForEachPairOfMatrices) {
  PeftFolder folder;
  const std::string up = "base_model.model.model.layers.1.mlp.up_proj";
  folder.tensors({counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("B"), 6, 2),
                  counted(PeftFolder::name("B.default", up), 8, 2),
                  counted(PeftFolder::name("A.default", up), 2, 4)});
  const Result<AdapterFile> file = folder.read(R"("base_model_name_or_path":"some/model")");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->base, "some/model");
  ASSERT_EQ(file->modules.size(), 2U);
  EXPECT_EQ(file->modules[0].tensor, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(file->modules[1].tensor, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(file->modules[0].scale, 1.5F);
  EXPECT_EQ(file->modules[0].b.shape, (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(row_numbers(file->modules[0].a, 1), (std::vector<float>{4, 5, 6, 7}));
}

TEST(PeftAdapter, ABaseWithoutANameIsNone) {
  const Result<AdapterFile> file = PeftFolder().read(R"("base_model_name_or_path":null)");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->base, "");
  EXPECT_FALSE(PeftFolder().read(R"("base_model_name_or_path":3)"));
}

TEST(PeftAdapter, ScalesFollowTheConfig) {
  const PeftFolder folder;
  const auto scale = [&](const std::string& more) { return folder.read(more)->modules[0].scale; };
  EXPECT_EQ(scale(R"("use_rslora":true)"), static_cast<float>(3 / std::sqrt(2.0)));
  EXPECT_EQ(scale(R"("alpha_pattern":{"q_proj":5})"), 2.5F);
  EXPECT_EQ(scale(R"("alpha_pattern":{"self_attn.q_proj":5,"q_proj":7})"), 2.5F) << "the first";
  EXPECT_EQ(scale(R"("alpha_pattern":{"proj":5,"k_proj":7})"), 1.5F) << "whole names only";
  EXPECT_EQ(scale(R"("alpha_pattern":{"^model.layers.0.self_attn.q_proj":5})"), 2.5F);
  EXPECT_EQ(scale(R"("alpha_pattern":{"^self_attn.q_proj":5})"), 1.5F);
  EXPECT_EQ(scale(R"("rank_pattern":{"q_proj":2},"r":9)"), 1.5F);
}

TEST(PeftAdapter, RanksMustBeThoseOfTheConfig) {
  const PeftFolder folder;
  EXPECT_EQ(folder.refusal(R"("rank_pattern":{"q_proj":4})", Code::corrupt),
            "'model.layers.0.self_attn.q_proj' has matrices of rank 2, and the config says 4");
}

TEST(PeftAdapter, WhatWouldChangeTheSumsIsRefusedByItsKey) {
  const PeftFolder folder;
  const std::pair<std::string, std::string> refused[] = {
      {"use_dora", "true"},
      {"use_dora", "1"},
      {"modules_to_save", R"("lm_head")"},
      {"modules_to_save", "[1]"},
      {"layer_replication", "[[0,1]]"},
      {"lora_bias", "true"},
      {"trainable_token_indices", "[1]"},
      {"target_parameters", "[1]"},
      {"alora_invocation_tokens", "[5]"},
      {"arrow_config", R"({"top_k":1})"},
      {"something_new", "1"},
      {"bias", R"("some")"},
      {"peft_type", R"("LOHA")"},
      {"init_lora_weights", R"("pissa_niter_4")"},
      {"init_lora_weights", R"("olora")"},
  };
  for (const auto& [key, value] : refused) {
    const bool is_wrong =
        key == "use_dora" || key == "modules_to_save" || key == "target_parameters";
    const Code code = is_wrong ? Code::corrupt : Code::unsupported;
    const std::string refusal = folder.refusal(fmt::format(R"("{}":{})", key, value), code);
    EXPECT_NE(refusal.find(key), std::string::npos) << key;
  }
  EXPECT_NE(folder.refusal(R"("alpha_pattern":{".*\\.q_proj":5})").find("regular expression"),
            std::string::npos);
}

TEST(PeftAdapter, WhatChangesNothingIsRead) {
  const PeftFolder folder;
  for (const char* more :
       {R"("use_dora":false,"modules_to_save":null,"layer_replication":null,"rank_pattern":{})",
        R"("lora_dropout":0.1,"target_modules":["q_proj"],"fan_in_fan_out":true)",
        R"("init_lora_weights":true)", R"("init_lora_weights":"gaussian")",
        R"("something_new":null,"other":{},"third":[],"fourth":false,"fifth":"")"}) {
    EXPECT_EQ(folder.refusal(more), "");
  }
}

TEST(PeftAdapter, TensorsMustBePairs) {
  PeftFolder folder;
  folder.tensors({counted(PeftFolder::name("A"), 2, 4)});
  EXPECT_EQ(folder.refusal("", Code::corrupt),
            fmt::format("tensor '{}' has no other half", PeftFolder::name("A")));
  folder.tensors({counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("B"), 6, 3)});
  EXPECT_EQ(folder.refusal("", Code::corrupt),
            "the halves of 'model.layers.0.self_attn.q_proj.weight' have ranks 2 and 3");
  folder.tensors(
      {counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("A.default"), 2, 4)});
  EXPECT_NE(folder.refusal("", Code::corrupt).find("repeats another"), std::string::npos);
  for (const char* other :
       {"base_model.model.lm_head.weight", "model.q_proj.lora_A.weight",
        "base_model.model.embed.lora_embedding_C", "base_model.model.q.lora_A.bias",
        "base_model.model.lm_head.bias", "base_model.model.q.lora_B.a.b.weight"}) {
    folder.tensors({counted(other, 2, 4)});
    EXPECT_EQ(folder.refusal(), fmt::format("tensor '{}' is not a matrix A or B of LoRA", other));
  }
}

TEST(PeftAdapter, EmbeddingsHaveNamesOfTheirOwn) {
  PeftFolder folder;
  const std::string embd = "base_model.model.model.embed_tokens";
  folder.tensors({counted(embd + ".base_layer.weight", 5, 4),
                  counted(embd + ".lora_embedding_A", 2, 5),
                  counted(embd + ".lora_embedding_B.default", 4, 2)});
  const Result<AdapterFile> file = folder.read(R"("alpha_pattern":{"embed_tokens":4})");
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->modules.size(), 1U);
  const AdapterModule& module = file->modules[0];
  EXPECT_EQ(module.tensor, "model.embed_tokens.weight");
  EXPECT_TRUE(module.is_embedding);
  EXPECT_EQ(module.scale, 2);
  EXPECT_EQ(module.a.shape, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(row_numbers(transposed_matrix(module.a), 1), (std::vector<float>{1, 6}));
  ASSERT_EQ(file->wholes.size(), 1U);
  EXPECT_EQ(file->wholes[0].tensor, "model.embed_tokens.weight");
  EXPECT_TRUE(file->wholes[0].is_base);
}

TEST(PeftAdapter, RowsMayHaveLengths) {
  PeftFolder folder;
  const auto with = [&](const std::string& name, int64_t n_rows, int64_t n_cols = 1) {
    folder.tensors({counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("B"), 6, 2),
                    counted(kQ + name, n_rows, n_cols)});
    return folder.read(R"("use_dora":true)");
  };
  for (const char* name : {".lora_magnitude_vector", ".lora_magnitude_vector.weight",
                           ".lora_magnitude_vector.default.weight"}) {
    const Result<AdapterFile> file = with(name, 6);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->modules[0].has_magnitudes());
    EXPECT_EQ(row_numbers(file->modules[0].magnitudes, 5), std::vector<float>{5});
  }
  const std::string ending = ".lora_magnitude_vector";
  const auto refusal = [&](const std::string& more) { return folder.refusal(more, Code::corrupt); };
  EXPECT_EQ(refusal(""),
            "'model.layers.0.self_attn.q_proj.weight' has a lora_magnitude_vector, and "
            "'use_dora' is false");
  (void)with(ending, 5);
  EXPECT_EQ(refusal(R"("use_dora":true)"),
            "'model.layers.0.self_attn.q_proj.weight' has 6 rows and the lengths of 5");
  (void)with(ending, 6, 2);
  EXPECT_EQ(refusal(R"("use_dora":true)"),
            fmt::format("tensor '{}{}' is not a vector", kQ, ending));
  folder.tensors({counted(kQ + ending, 6, 1)});
  EXPECT_EQ(refusal(R"("use_dora":true)"),
            fmt::format("tensor '{}{}' has no other half", kQ, ending));
}

TEST(PeftAdapter, BiasesAreTheBasesOrTrained) {
  PeftFolder folder;
  const std::string name = std::string(kQ) + ".base_layer.bias";
  const auto with = [&](int64_t n_rows) {
    folder.tensors({counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("B"), 6, 2),
                    counted(name, n_rows, 1)});
  };
  with(6);
  for (const char* bias : {"none", "lora_only", "all"}) {
    const Result<AdapterFile> file = folder.read(fmt::format(R"("bias":"{}")", bias));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->has_own_biases, std::string_view(bias) != "none");
    EXPECT_EQ(row_numbers(file->modules[0].biases, 5), std::vector<float>{5});
  }
  with(5);
  EXPECT_EQ(folder.refusal("", Code::corrupt),
            "'model.layers.0.self_attn.q_proj.weight' has 6 rows and the biases of 5");
}

TEST(PeftAdapter, ModulesToSaveAreWhole) {
  PeftFolder folder;
  for (const char* name : {".weight", ".modules_to_save.weight", ".modules_to_save.a.weight"}) {
    folder.tensors({counted(PeftFolder::name("A"), 2, 4), counted(PeftFolder::name("B"), 6, 2),
                    counted(std::string("base_model.model.lm_head") + name, 7, 4)});
    const Result<AdapterFile> file = folder.read(R"("modules_to_save":["score","lm_head"])");
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_EQ(file->wholes.size(), 1U);
    EXPECT_EQ(file->wholes[0].tensor, "lm_head.weight");
    EXPECT_FALSE(file->wholes[0].is_base);
    EXPECT_EQ(file->wholes[0].matrix.shape, (std::vector<int64_t>{7, 4}));
    EXPECT_NE(folder.refusal(R"("modules_to_save":["head"])").find("lm_head"), std::string::npos)
        << "whole names only";
  }
}

// Two parameters of one module, each of 3 experts.
TEST(PeftAdapter, ParametersOfExpertsAreStacks) {
  PeftFolder folder;
  const std::string experts = "base_model.model.model.layers.0.mlp.experts";
  const std::vector<TestMatrix> matrices = {
      counted(PeftFolder::name("A", experts), 6, 4), counted(PeftFolder::name("B", experts), 5, 6),
      counted(PeftFolder::name("A", experts + ".base_layer"), 6, 5),
      counted(PeftFolder::name("B", experts + ".base_layer"), 8, 6)};
  folder.tensors(matrices);
  const std::string targets = R"("target_parameters":["experts.gate_up_proj","experts.down_proj"])";
  const AdapterFile file = *folder.read(targets + R"(,"peft_version":"0.20.1")");
  EXPECT_TRUE(file.modules.empty());
  ASSERT_EQ(file.stacks.size(), 2U);
  const AdapterStack& inner = file.stacks[0];
  const AdapterStack& outer = file.stacks[1];
  EXPECT_EQ(inner.tensor, "model.layers.0.mlp.experts.base_layer.weight");
  EXPECT_EQ(outer.tensor, "model.layers.0.mlp.experts.weight");
  EXPECT_EQ(inner.b.shape, (std::vector<int64_t>{3, 8, 2}));
  EXPECT_EQ(outer.a.shape, (std::vector<int64_t>{3, 2, 4}));
  EXPECT_EQ(outer.scale, 1.5F);
  EXPECT_TRUE(outer.is_any_parameter);
  EXPECT_FALSE(outer.may_be_turned);
  // Row 1 of A's expert 2 is row 5; numbers of row 4 of B's expert 2 are each third one.
  const auto row = [&](size_t matrix, int64_t first, int64_t n, int64_t step) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n; ++i) {
      numbers.push_back(matrices[matrix].numbers[static_cast<size_t>(first + i * step)]);
    }
    return numbers;
  };
  EXPECT_EQ(row_numbers(outer.a, 5), row(0, 20, 4, 1));
  EXPECT_EQ(row_numbers(outer.b, 14), row(1, 4 * 6 + 2, 2, 3));
  for (const char* version : {"0.19.1", "0.9.0", "x", ""}) {
    const std::string more = targets + fmt::format(R"(,"peft_version":"{}")", version);
    EXPECT_TRUE(folder.read(more)->stacks[0].may_be_turned) << version;
  }
  EXPECT_EQ(
      folder.refusal("", Code::corrupt),
      "'model.layers.0.mlp.experts.base_layer' has matrices of rank 6, and the config says 2");
  EXPECT_EQ(folder.refusal(targets + R"(,"alpha_pattern":{"experts.down_proj":5})"),
            "'model.layers.0.mlp.experts.base_layer.weight': parameters of one module with "
            "different ranks or alphas are not supported");
  EXPECT_NE(folder.refusal(targets + R"(,"rank_pattern":{"down_proj":0,"gate_up_proj":0})",
                           Code::corrupt),
            "");
}

TEST(MlxAdapter, MatricesAreTransposedAndScaled) {
  const TestFolder folder;
  const std::string module = "model.layers.3.self_attn.v_proj";
  folder.write("adapters.safetensors", safetensors_of({counted(module + ".lora_a", 4, 2),
                                                       counted(module + ".lora_b", 2, 3)}));
  const auto read = [&](const std::string& config) {
    folder.write("adapter_config.json", config);
    return open_adapter(folder.path());
  };
  const Result<AdapterFile> file = read(R"({"lora_parameters":{"rank":2,"scale":20.0}})");
  ASSERT_TRUE(file) << file.error().message();
  const AdapterModule& v = file->modules.at(0);
  EXPECT_EQ(v.tensor, module + ".weight");
  EXPECT_EQ(v.scale, 20);
  EXPECT_EQ(v.a.shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(row_numbers(v.a, 1), (std::vector<float>{1, 3, 5, 7}));
  EXPECT_EQ(v.b.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(row_numbers(v.b, 2), (std::vector<float>{2, 5}));
  EXPECT_EQ(read(R"({"lora_parameters":{"rank":2,"alpha":3,"scale":20}})")->modules[0].scale, 30);
  EXPECT_FALSE(read(R"({"lora_parameters":{"rank":2}})"));
  EXPECT_EQ(
      read(R"({"fine_tune_type":"full","lora_parameters":{"rank":2,"scale":20}})").error().code(),
      Code::unsupported);
}

// Stacks are not transposed.
TEST(MlxAdapter, ModulesOfExpertsAreStacks) {
  const TestFolder folder;
  folder.write("adapter_config.json", R"({"lora_parameters":{"rank":2,"scale":20.0}})");
  const std::string module = "model.layers.3.mlp.switch_mlp.up_proj";
  const auto read = [&](int64_t n_of_a, int64_t n_of_b) {
    TestMatrix a = counted(module + ".lora_a", n_of_a * 2, 4);
    TestMatrix b = counted(module + ".lora_b", n_of_b * 3, 2);
    a.n_matrices = n_of_a;
    b.n_matrices = n_of_b;
    folder.write("adapters.safetensors", safetensors_of({a, b}));
    return open_adapter(folder.path());
  };
  const Result<AdapterFile> file = read(5, 5);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->modules.empty());
  const AdapterStack& up = file->stacks.at(0);
  EXPECT_EQ(up.tensor, module + ".weight");
  EXPECT_EQ(up.scale, 20);
  EXPECT_EQ(up.a.shape, (std::vector<int64_t>{5, 2, 4}));
  EXPECT_EQ(row_numbers(up.b, 14), (std::vector<float>{28, 29}));
  EXPECT_EQ(read(5, 4).error().message(),
            fmt::format("{}: the halves of '{}.weight' have shapes (5, 2, 4) and (4, 3, 2), of "
                        "experts, rank and n_in, and of experts, n_out and rank",
                        folder.path(), module));
}

TEST(MlxAdapter, RowsMayHaveLengths) {
  const TestFolder folder;
  const std::string module = "model.layers.3.self_attn.v_proj";
  const auto write = [&](std::vector<TestMatrix> matrices) {
    matrices.push_back(counted(module + ".lora_a", 4, 2));
    matrices.push_back(counted(module + ".lora_b", 2, 3));
    folder.write("adapters.safetensors", safetensors_of(matrices));
  };
  const std::string configs[] = {R"("fine_tune_type":"dora")", R"("use_dora":true)"};
  const auto read = [&](const std::string& kind) {
    folder.write("adapter_config.json",
                 "{" + kind + R"(,"lora_parameters":{"rank":2,"scale":20.0}})");
    return open_adapter(folder.path());
  };
  write({counted(module + ".m", 3, 1)});
  for (const std::string& kind : configs) {
    const Result<AdapterFile> file = read(kind);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(row_numbers(file->modules[0].magnitudes, 2), std::vector<float>{2});
  }
  EXPECT_EQ(read(R"("fine_tune_type":"lora")").error().code(), Code::unsupported);
  write({});
  EXPECT_EQ(read(configs[0]).error().message(),
            fmt::format("{}: '{}.weight' has no lengths of its rows", folder.path(), module));
}

TEST(MlxAdapter, ARealOneIsRead) {
  const std::string path = shared_file("adapters/mlx_llama3_8b_lora");
  if (path.empty()) GTEST_SKIP() << "no shared data";
  const Result<AdapterFile> file = open_adapter(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->modules.size(), 4U);
  EXPECT_EQ(file->modules[1].tensor, "model.layers.30.self_attn.v_proj.weight");
  EXPECT_EQ(file->modules[1].b.shape, (std::vector<int64_t>{1024, 8}));
  EXPECT_EQ(file->modules[1].scale, 4) << "2, as the config says, times 16 / 8";
}

// Entries for a plain one, and the two halves of a matrix.
std::string gguf_adapter(std::string_view kind = "lora", std::string_view more = "",
                         std::string_view second = "blk.0.attn_q.weight.lora_b") {
  GgufBuilder gguf(3, 2, more.empty() ? 4 : 5);
  gguf.text_entry("general.architecture", "llama").text_entry("general.type", "adapter");
  gguf.text_entry("adapter.type", kind).key("adapter.lora.alpha", 6).raw(3.0F);
  if (!more.empty()) gguf.u32_entry(more, 1);
  gguf.tensor("blk.0.attn_q.weight.lora_a", {4, 2}, 0, 0);
  gguf.tensor(std::string(second), {2, 6}, 0, 32);
  return gguf.data(32, 80).bytes();
}

Result<AdapterFile> read_gguf(const std::string& bytes) {
  return read_gguf_adapter({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()},
                           "file");
}

TEST(GgufAdapter, IsReadByTheNamesOfItsTensors) {
  const std::string bytes = gguf_adapter();
  const Result<AdapterFile> file = read_gguf(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->modules.at(0).tensor, "blk.0.attn_q.weight");
  EXPECT_EQ(file->modules[0].a.shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(file->modules[0].scale, 1.5F);
}

TEST(GgufAdapter, OtherKindsAndKeysAreRefused) {
  EXPECT_EQ(read_gguf(gguf_adapter("control_vector")).error().message(),
            "file: metadata 'adapter.type': 'control_vector' is not supported");
  EXPECT_EQ(read_gguf(gguf_adapter("lora", "adapter.alora.invocation_tokens")).error().message(),
            "file: metadata 'adapter.alora.invocation_tokens' is not supported");
  EXPECT_EQ(read_gguf(gguf_adapter("lora", "", "blk.0.attn_norm.weight")).error().message(),
            "file: tensor 'blk.0.attn_norm.weight' is not a matrix A or B of LoRA");
}

struct ControlVectorParts {
  std::string key = "controlvector.layer_count";
  uint32_t count = 2;
  std::string second = "direction.3";
  std::vector<uint64_t> shape = {4};
  uint32_t dtype = 0;
};

std::string control_vector(const ControlVectorParts& parts = {}) {
  GgufBuilder gguf(3, 2, 3);
  gguf.text_entry("general.architecture", "controlvector");
  gguf.text_entry("controlvector.model_hint", "llama").u32_entry(parts.key, parts.count);
  gguf.tensor(parts.second, parts.shape, parts.dtype, 0).tensor("direction.2", {4}, 0, 32);
  return gguf.data(32, 48).bytes();
}

TEST(ControlVector, HasDirectionsByLayer) {
  const std::string bytes = control_vector();
  const Result<AdapterFile> file = read_gguf(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->base, "llama");
  EXPECT_TRUE(file->modules.empty());
  ASSERT_EQ(file->directions.size(), 2);
  EXPECT_EQ(file->directions[0].layer, 2);
  EXPECT_EQ(file->directions[1].layer, 3);
  EXPECT_EQ(file->directions[1].numbers.shape, std::vector<int64_t>{4});
  EXPECT_EQ(file->directions[1].numbers.bytes.front(), std::byte{0}) << "it lies first";
}

TEST(ControlVector, WhatIsNotHonouredIsRefusedByName) {
  const auto refusal = [](const ControlVectorParts& parts) {
    const auto file = read_gguf(control_vector(parts));
    return file ? "" : file.error().message();
  };
  EXPECT_EQ(refusal({.key = "controlvector.scale"}),
            "file: metadata 'controlvector.scale' is not supported in a control vector");
  EXPECT_EQ(refusal({.key = "adapter.lora.alpha"}),
            "file: metadata 'adapter.lora.alpha' is not supported in a control vector");
  EXPECT_EQ(refusal({.key = "general.file_type"}), "");
  EXPECT_EQ(refusal({.count = 3}),
            "file: metadata 'controlvector.layer_count' is 3, and the file has 2 directions");
  for (const char* const name : {"direction.0", "direction.", "direction.01", "direction.-1",
                                 "direction.1x", "direction.99999999999", "blk.1.attn_q.weight"}) {
    EXPECT_EQ(refusal({.second = name}),
              fmt::format("file: tensor '{}' is not a direction of a control vector: direction.N "
                          "of a layer from 1 on",
                          name));
  }
  EXPECT_EQ(refusal({.second = "direction.2"}), "file: tensor 'direction.2' is there twice");
  EXPECT_EQ(refusal({.shape = {2, 2}}),
            "file: tensor 'direction.3' has 2 dimensions; directions have one");
  EXPECT_EQ(refusal({.dtype = 1}), "file: tensor 'direction.3' is f16; directions are f32");
}

TEST(OpenAdapter, SaysWhatAFolderLacks) {
  const TestFolder folder;
  const auto message = [&] { return open_adapter(folder.path()).error().message(); };
  EXPECT_NE(message().find("no adapter_config.json"), std::string::npos);
  folder.write("adapter_config.json", "{}");
  EXPECT_NE(message().find("neither adapter_model.safetensors nor"), std::string::npos);
  folder.write("adapter_model.bin", "x");
  EXPECT_NE(message().find("is a pickle"), std::string::npos);
}

}  // namespace
}  // namespace ruv
