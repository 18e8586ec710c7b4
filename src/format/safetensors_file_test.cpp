// Folders of checkpoints: shards, templates, GPT-2's transposed matrices, and for every golden
// model the same names, shapes and numbers as its GGUF file.
#include <gtest/gtest.h>

#include <set>

#include "format/gguf_export.h"
#include "format/safetensors.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr std::string_view kConfig =
    R"({"architectures":["LlamaForCausalLM"],"hidden_size":4,"intermediate_size":4,)"
    R"("num_hidden_layers":1,"num_attention_heads":2,"vocab_size":2)";

// A file of int8 … of the given tensors "name": (shape text, number of bytes).
std::string checkpoint(std::vector<std::tuple<std::string, std::string, size_t>> tensors,
                       std::string_view dtype = "I8") {
  std::string header = "{";
  size_t at = 0;
  for (const auto& [name, shape, n_bytes] : tensors) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                          at == 0 ? "" : ",", name, dtype, shape, at, at + n_bytes);
    at += n_bytes;
  }
  header += "}";
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += header;
  for (size_t i = 0; i < at; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string error_of(const TestFolder& folder) {
  const auto file = ModelFile::open(folder.path());
  return file ? "no error" : file.error().message();
}

// Of a folder that opens: why its model cannot run.
std::string fault_of(const TestFolder& folder) {
  const auto file = ModelFile::open(folder.path());
  return file ? (*file)->usable().message() : "does not open";
}

TEST(SafetensorsFile, OpensOneFile) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("model.safetensors",
               checkpoint({{"model.embed_tokens.weight", "[2,4]", 8},
                           {"lm_head.weight", "[1]", 1},
                           {"model.layers.0.self_attn.rotary_emb.inv_freq", "[1]", 1},
                           {"something.else", "[2]", 2}}));
  const auto opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  const ModelFile& file = **opened;
  EXPECT_EQ(file.container(), "safetensors");
  EXPECT_EQ(file.architecture(), "llama");
  EXPECT_EQ(file.rope_order(), RopeOrder::halves);
  EXPECT_EQ(file.integer("block_count").value(), 1);
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_NE(file.find_tensor("token_embd.weight"), nullptr);
  EXPECT_NE(file.find_tensor("output.weight"), nullptr);
  ASSERT_EQ(file.remarks().size(), 1U);
  EXPECT_NE(file.remarks()[0].find("does not use tensors of the file: 'something.else'"),
            std::string::npos);
  EXPECT_EQ(file.chat_template(), "");
}

// The bytes of `checkpoint` count up, so that every 256 bytes are the same.
TEST(SafetensorsFile, AnOutputMatrixOfATiedModelCountsWhereItDiffers) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + ",\"tie_word_embeddings\":true}");
  folder.write("model.safetensors", checkpoint({{"model.embed_tokens.weight", "[2,4]", 8},
                                                {"lm_head.weight", "[2,4]", 8}}));
  const auto differing = ModelFile::open(folder.path());
  ASSERT_TRUE(differing) << differing.error().message();
  EXPECT_TRUE((*differing)->usable().ok()) << (*differing)->usable().message();
  EXPECT_NE((*differing)->find_tensor("output.weight"), nullptr);
  ASSERT_EQ((*differing)->remarks().size(), 1U);
  EXPECT_NE((*differing)->remarks()[0].find("'lm_head.weight' differs from the embedding"),
            std::string::npos);
  folder.write("model.safetensors", checkpoint({{"model.embed_tokens.weight", "[2,128]", 256},
                                                {"lm_head.weight", "[2,128]", 256}}));
  const auto same = ModelFile::open(folder.path());
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_EQ((*same)->find_tensor("output.weight"), nullptr);
  EXPECT_TRUE((*same)->remarks().empty());
}

TEST(SafetensorsFile, WithoutAnOutputMatrixOrWithAnotherVocabularyNobodyMayCompute) {
  const TestFolder folder;
  std::string config(kConfig);
  config.replace(config.find("\"vocab_size\":2"), 14, "\"vocab_size\":3");
  folder.write("config.json", config + "}");
  folder.write("model.safetensors", checkpoint({{"model.embed_tokens.weight", "[2,4]", 8}}));
  auto opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_NE((*opened)->usable().message().find(
                "'lm_head.weight' is missing, and 'tie_word_embeddings' is false"),
            std::string::npos);
  folder.write("config.json", config + ",\"tie_word_embeddings\":true}");
  opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_NE((*opened)->usable().message().find(
                "'model.embed_tokens.weight' has 2 rows, but 'vocab_size' is 3"),
            std::string::npos);
}

TEST(SafetensorsFile, AClassWithoutAnOutputMatrixNeedsNone) {
  const TestFolder folder;
  std::string config(kConfig);
  config.replace(config.find("LlamaForCausalLM"), 16, "LlamaModel");
  folder.write("config.json", config + "}");
  folder.write("model.safetensors", checkpoint({{"embed_tokens.weight", "[2,4]", 8}}));
  const auto file = ModelFile::open(folder.path());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE((*file)->usable().ok()) << (*file)->usable().message();
  EXPECT_TRUE(std::get<bool>(*(*file)->find("without_output")));
  ASSERT_EQ((*file)->remarks().size(), 1U);
  EXPECT_NE((*file)->remarks()[0].find("'lm_head.weight' is missing"), std::string::npos);
  folder.write("config.json", config + ",\"tie_word_embeddings\":true}");
  EXPECT_EQ((*ModelFile::open(folder.path()))->find("without_output"), nullptr);
}

TEST(SafetensorsFile, NamesNeedNoModelInFrontAndBiasesNobodyAskedForAreLeft) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("model.safetensors",
               checkpoint({{"embed_tokens.weight", "[2,4]", 8},
                           {"lm_head.weight", "[2,4]", 8},
                           {"layers.0.self_attn.q_proj.weight", "[4,4]", 16},
                           {"layers.0.self_attn.q_proj.bias", "[4]", 4},
                           {"layers.1.self_attn.q_proj.weight", "[4,4]", 16}}));
  const auto opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), 3U);
  EXPECT_EQ((*opened)->shown_tensor("blk.0.attn_q.weight"), "layers.0.self_attn.q_proj.weight");
  EXPECT_EQ((*opened)->shown_tensor("output_norm.weight"), "model.norm.weight");
  EXPECT_EQ((*opened)->shown_key("rope.freq_base"), "rope_theta");
  ASSERT_EQ((*opened)->remarks().size(), 1U);
  EXPECT_NE((*opened)->remarks()[0].find("'layers.0.self_attn.q_proj.bias', 'layers.1."),
            std::string::npos);
}

TEST(SafetensorsFile, OpensShards) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("m-1.safetensors", checkpoint({{"model.embed_tokens.weight", "[2,4]", 8}}));
  folder.write("m-2.safetensors", checkpoint({{"model.norm.weight", "[4]", 4}, {"b", "[1]", 1}}));
  const auto index = [&](std::string_view map) {
    folder.write("model.safetensors.index.json", fmt::format(R"({{"weight_map":{{{}}}}})", map));
  };
  index(R"("model.embed_tokens.weight":"m-1.safetensors","model.norm.weight":"m-2.safetensors",)"
        R"("b":"m-2.safetensors")");
  const auto opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), 2U);
  EXPECT_EQ((*opened)->find_tensor("output_norm.weight")->shape, (std::vector<int64_t>{4}));

  index(R"("model.norm.weight":"m-1.safetensors")");
  EXPECT_NE(error_of(folder).find("'model.norm.weight' is not in 'm-1.safetensors'"),
            std::string::npos);
  index(R"("a":"m-3.safetensors")");
  EXPECT_NE(error_of(folder).find("m-3.safetensors: cannot open"), std::string::npos);
  folder.write("m-2.safetensors", checkpoint({{"model.embed_tokens.weight", "[2,4]", 8}}));
  folder.write("m-3.safetensors", checkpoint({{"a", "[1]", 1}}));
  index(R"("a":"m-3.safetensors","model.embed_tokens.weight":"m-2.safetensors")");
  EXPECT_EQ(error_of(folder), "no error");
}

TEST(SafetensorsFile, SaysWhatIsMissing) {
  const TestFolder folder;
  EXPECT_NE(error_of(folder).find("no config.json"), std::string::npos);
  folder.write("config.json", std::string(kConfig) + "}");
  EXPECT_NE(fault_of(folder).find("convert PyTorch files"), std::string::npos);
  folder.write("model.safetensors", checkpoint({{"model.norm.weight", "[1]", 1}}, "BOOL"));
  EXPECT_NE(fault_of(folder).find("tensor 'model.norm.weight': dtype BOOL is not supported"),
            std::string::npos);
  folder.write("model.safetensors", checkpoint({{"h.0.attn.bias", "[1]", 1}}, "BOOL"));
  EXPECT_EQ(error_of(folder), "no error");
  folder.write("model.safetensors", checkpoint({{"a", "[1]", 1}, {"a", "[1]", 1}}));
  EXPECT_NE(error_of(folder).find("tensor 'a' appears twice"), std::string::npos);
  folder.write("model.safetensors", checkpoint({{"lm_head.weight", "[1]", 1},
                                                {"language_model.lm_head.weight", "[1]", 1}}));
  EXPECT_NE(error_of(folder).find("tensor 'output.weight' appears twice"), std::string::npos);
  const auto file = ModelFile::open(folder.path() + "/model.safetensors");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("give the folder"), std::string::npos);
}

TEST(SafetensorsFile, FindsTheChatTemplate) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("model.safetensors", checkpoint({{"a", "[1]", 1}}));
  const auto chat_template = [&] {
    const auto file = ModelFile::open(folder.path());
    return file ? (*file)->chat_template() : file.error().message();
  };
  EXPECT_EQ(chat_template(), "");
  folder.write("tokenizer_config.json", R"({"x":[[{}]],"chat_template":null})");
  EXPECT_EQ(chat_template(), "");
  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"t"},)"
                                        R"({"name":"default","template":"d\n"}]})");
  EXPECT_EQ(chat_template(), "d\n");
  folder.write("tokenizer_config.json", R"({"chat_template":"text"})");
  EXPECT_EQ(chat_template(), "text");
  folder.write("chat_template.json", R"({"chat_template":"newer"})");
  EXPECT_EQ(chat_template(), "newer");
  folder.write("chat_template.jinja", "newest");
  EXPECT_EQ(chat_template(), "newest");
}

TEST(SafetensorsFile, FindsTheResponseTemplate) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("model.safetensors", checkpoint({{"a", "[1]", 1}}));
  const auto found = [&] {
    const auto file = ModelFile::open(folder.path());
    return file ? (*file)->response_template() : file.error().message();
  };
  EXPECT_EQ(found(), "");
  folder.write("tokenizer_config.json", R"({"x":{"response_template":1},"chat_template":"t"})");
  EXPECT_EQ(found(), "");
  folder.write("tokenizer_config.json", R"({"response_template":null})");
  EXPECT_EQ(found(), "");
  folder.write("chat_template.jinja", "beside it");
  folder.write("tokenizer_config.json",
               R"({"response_template": {"fields": {"a": ["]}"]}} ,"z":1})");
  EXPECT_EQ(found(), R"({"fields": {"a": ["]}"]}})");
  for (const char* bad : {R"({"response_template":[]})", R"({"response_template":"t"})",
                          R"({"response_template":{"a":)", R"({"response_template":)"}) {
    folder.write("tokenizer_config.json", bad);
    EXPECT_NE(found().find("tokenizer_config.json: response_template: "), std::string::npos)
        << bad << ": " << found();
  }
}

TEST(SafetensorsFile, BrokenTemplateFilesAreNamed) {
  const TestFolder folder;
  folder.write("config.json", std::string(kConfig) + "}");
  folder.write("model.safetensors", checkpoint({{"a", "[1]", 1}}));
  for (const std::string& bad : {std::string("{"), std::string("["), std::string(60000, '['),
                                 std::string(R"({"chat_template":[{"template":"t"}]})"),
                                 "{\"chat_template\":" + std::string(60000, '[')}) {
    folder.write("tokenizer_config.json", bad);
    EXPECT_NE(error_of(folder).find("tokenizer_config.json: chat_template"), std::string::npos)
        << error_of(folder);
  }
}

TEST(SafetensorsFile, Gpt2MatricesAreShownAsTheirTranspose) {
  const TestFolder folder;
  folder.write("config.json", R"({"architectures":["GPT2LMHeadModel"],"n_embd":2,"n_layer":1,)"
                              R"("n_head":1,"vocab_size":2,"n_positions":4})");
  folder.write("model.safetensors", checkpoint({{"h.0.attn.c_attn.weight", "[2,6]", 12},
                                                {"h.0.attn.c_attn.bias", "[6]", 6},
                                                {"wte.weight", "[2,2]", 4}}));
  const auto opened = ModelFile::open(folder.path());
  ASSERT_TRUE(opened) << opened.error().message();
  const TensorInfo* qkv = (*opened)->find_tensor("blk.0.attn_qkv.weight");
  ASSERT_NE(qkv, nullptr);
  EXPECT_EQ(qkv->shape, (std::vector<int64_t>{6, 2}));
  EXPECT_FALSE(qkv->has_whole_rows());
  EXPECT_TRUE((*opened)->find_tensor("blk.0.attn_qkv.bias")->steps.empty());
  EXPECT_TRUE((*opened)->find_tensor("token_embd.weight")->steps.empty());
}

// Compares two containers of one model: tensors by name and shape as an export of the folder would
// have them, and hyper-parameters that both have.
void expect_same_model(const ModelFile& folder, const ModelFile& gguf) {
  EXPECT_EQ(folder.architecture(), gguf.architecture());
  const auto exported = export_tensors(folder);
  ASSERT_TRUE(exported) << exported.error().message();
  std::set<std::string> names;
  for (const ExportTensor& tensor : *exported) {
    names.insert(tensor.name);
    const TensorInfo* other = gguf.find_tensor(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
  }
  for (const TensorInfo& tensor : gguf.tensors()) {
    EXPECT_TRUE(names.contains(tensor.name)) << tensor.name;
  }
  const std::string_view kv_heads = "attention.head_count_kv";
  if (gguf.find(kv_heads) != nullptr) {
    EXPECT_EQ(folder.integers(kv_heads).value(), gguf.integers(kv_heads).value());
  }
  for (const std::string_view key : {"block_count",
                                     "embedding_length",
                                     "feed_forward_length",
                                     "context_length",
                                     "attention.head_count",
                                     "shortconv.l_cache",
                                     "attention.key_length",
                                     "rope.dimension_count",
                                     "rope.freq_base",
                                     "attention.layer_norm_rms_epsilon",
                                     "attention.layer_norm_epsilon",
                                     "attention.sliding_window",
                                     "attn_logit_softcapping",
                                     "final_logit_softcapping",
                                     "rope.scaling.factor",
                                     "rope.scaling.attn_factor",
                                     "rope.scaling.original_context_length",
                                     "expert_count",
                                     "expert_used_count",
                                     "expert_feed_forward_length"}) {
    if (gguf.find(key) == nullptr || folder.find(key) == nullptr) continue;
    const double expected = gguf.number(key).value();
    EXPECT_NEAR(folder.number(key).value(), expected, 1e-6 * std::abs(expected)) << key;
  }
}

TEST(SafetensorsFile, GoldenModelsLookLikeTheirGgufFiles) {
  const std::string golden = std::string(RUV_SOURCE_DIR) + "/tests/golden/models";
  ASSERT_TRUE(std::filesystem::exists(golden)) << golden;  // part of this repository
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    SCOPED_TRACE(entry.path().filename().string());
    const auto folder = ModelFile::open(entry.path().string());
    const auto gguf = ModelFile::open((entry.path() / "model.gguf").string());
    ASSERT_TRUE(folder) << folder.error().message();
    ASSERT_TRUE(gguf) << gguf.error().message();
    expect_same_model(**folder, **gguf);
    EXPECT_EQ((*folder)->norms_minus_one(),
              (*gguf)->architecture().find("gemma") != std::string::npos);
  }
}

TEST(SafetensorsFile, TrainedModelHasTheSameNumbersInBothContainers) {
  const std::string path = shared_file("trained/nano");
  if (path.empty()) GTEST_SKIP() << "trained/nano is not here";
  const auto folder = ModelFile::open(path);
  const auto gguf = ModelFile::open(path + "/ruvltra-nano-f16.gguf");
  ASSERT_TRUE(folder) << folder.error().message();
  ASSERT_TRUE(gguf) << gguf.error().message();
  expect_same_model(**folder, **gguf);
  EXPECT_EQ((*folder)->chat_template(), (*gguf)->chat_template());
  // bfloat16 against float16 and float32: these weights are exact in all of them.
  for (const TensorInfo& tensor : (*folder)->tensors()) {
    const TensorInfo& other = *(*gguf)->find_tensor(tensor.name);
    const auto n = static_cast<size_t>(tensor.n_elements());
    std::vector<float> a(n), b(n);
    format_of(tensor.dtype).decode(tensor.bytes.data(), a.data(), tensor.n_elements());
    format_of(other.dtype).decode(other.bytes.data(), b.data(), tensor.n_elements());
    EXPECT_EQ(a, b) << tensor.name;
  }
}

TEST(SafetensorsFile, MixtralExpertsHaveNames) {
  const std::string path = shared_file("trained/moe");
  if (path.empty()) GTEST_SKIP() << "trained/moe is not here";
  const auto file = ModelFile::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ((*file)->architecture(), "llama");
  EXPECT_EQ((*file)->integer("expert_count").value(), 4);
  EXPECT_NE((*file)->find_tensor("blk.2.ffn_gate_inp.weight"), nullptr);
  EXPECT_NE((*file)->find_tensor("blk.2.ffn_down.3.weight"), nullptr);
}

}  // namespace
}  // namespace ruv
