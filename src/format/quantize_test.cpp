// Whole models through quantize_model: made ones for the rules, the golden folders against their
// GGUF twins, a trained one for size and error.
#include "format/quantize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/rng.h"
#include "format/quant_mix.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

// A model made in the test.
class MadeModel final : public ModelFile {
 public:
  MadeModel(std::string_view container, std::string architecture) {
    path_ = "/models/made";
    container_ = container;
    architecture_ = std::move(architecture);
    family_ = find_family(architecture_);
    metadata_["general.architecture"] = architecture_;
    metadata_["general.file_type"] = int64_t{0};
  }

  void set(const std::string& key, MetaValue value) {
    metadata_[architecture_ + "." + key] = std::move(value);
  }
  // A tensor of the given numbers, as float32.
  TensorInfo& add(std::string name, std::vector<int64_t> shape, std::vector<float> numbers) {
    numbers_.push_back(std::make_unique<std::vector<float>>(std::move(numbers)));
    tensors_.push_back({.name = std::move(name),
                        .dtype = DType::f32,
                        .shape = std::move(shape),
                        .bytes = std::as_bytes(std::span(*numbers_.back()))});
    EXPECT_TRUE(index_tensors_again().ok());
    return tensors_.back();
  }

  Result<TokenizerSpec> tokenizer_spec() const override {
    if (!spec_) return fail(Code::not_found, "no tokenizer");
    return *spec_;
  }
  std::string chat_template() const override { return chat_template_; }

  // Makes the first number of a tensor infinite.
  void spoil(std::string_view name) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].name == name) numbers_[i]->front() = INFINITY;
    }
  }

  std::optional<TokenizerSpec> spec_;
  std::string chat_template_;

 private:
  Status index_tensors_again() {
    tensor_index_.clear();
    return index_tensors();
  }
  std::vector<std::unique_ptr<std::vector<float>>> numbers_;
};

std::vector<float> counting(int64_t n) {
  std::vector<float> numbers(static_cast<size_t>(n));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  return numbers;
}

std::vector<float> noise(int64_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> numbers(static_cast<size_t>(n));
  for (float& number : numbers) number = static_cast<float>(rng.uniform() - 0.5);
  return numbers;
}

std::vector<float> decoded(const ModelFile& model, std::string_view name) {
  const TensorInfo* info = model.find_tensor(name);
  if (info == nullptr) return {};
  std::vector<float> numbers(static_cast<size_t>(info->n_elements()));
  format_of(info->dtype).decode(info->bytes.data(), numbers.data(), info->n_elements());
  return numbers;
}

// Converts and opens the result.
Result<std::unique_ptr<ModelFile>> converted(const ModelFile& model, std::string_view type,
                                             const TestFolder& folder,
                                             const QuantizeOptions& options = {}) {
  const std::string path = folder.path() + "/" + std::string(type) + ".gguf";
  TRY(quantize_model(model, type, path, options));
  return ModelFile::open(path);
}

TEST(Quantize, CopiesMetadataAndChoosesFormats) {
  const TestFolder folder;
  MadeModel model("gguf", "qwen2");
  model.set("block_count", int64_t{8});
  model.set("rope.freq_base", 10000.0);
  model.add("token_embd.weight", {4, 256}, noise(1024, 1));
  model.add("blk.0.attn_norm.weight", {256}, noise(256, 2));
  model.add("blk.0.ffn_down.weight", {2, 96}, noise(192, 3));
  model.add("blk.4.ffn_up.weight", {2, 256}, noise(512, 4));
  const auto out = converted(model, "q4_k_m", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ((*out)->integer("general.file_type").value_or(-1), 15);
  EXPECT_EQ((*out)->integer("general.quantization_version").value_or(-1), 2);
  EXPECT_EQ((*out)->integer("block_count").value_or(-1), 8);
  EXPECT_EQ((*out)->number("rope.freq_base").value_or(-1), 10000.0);
  EXPECT_EQ((*out)->find_tensor("token_embd.weight")->dtype, DType::q6_k);
  EXPECT_EQ((*out)->find_tensor("blk.0.attn_norm.weight")->dtype, DType::f32);
  EXPECT_EQ((*out)->find_tensor("blk.0.ffn_down.weight")->dtype, DType::q8_0);
  EXPECT_EQ((*out)->find_tensor("blk.4.ffn_up.weight")->dtype, DType::q4_k);
  EXPECT_EQ((*out)->find_tensor("blk.4.ffn_up.weight")->shape, (std::vector<int64_t>{2, 256}));
  EXPECT_EQ(decoded(**out, "blk.0.attn_norm.weight"), noise(256, 2));
}

TEST(Quantize, TypesOfFewBitsAreWrittenOrNeedImportance) {
  const TestFolder folder;
  MadeModel model("gguf", "qwen2");
  model.set("block_count", int64_t{8});
  model.add("output.weight", {4, 256}, noise(1024, 1));
  model.add("blk.4.ffn_up.weight", {2, 256}, noise(512, 4));
  for (const char* type : {"iq3_s", "iq3_m", "tq1_0", "tq2_0"}) {
    const auto out = converted(model, type, folder);
    ASSERT_TRUE(out.has_value()) << out.error().message();
    EXPECT_EQ((*out)->find_tensor("blk.4.ffn_up.weight")->dtype, find_quant_type(type)->base);
  }
  for (const char* type : {"iq1_s", "iq1_m", "iq2_xxs", "iq2_m", "iq3_xs", "iq3_xxs", "q2_k_s"}) {
    const auto out = converted(model, type, folder);
    ASSERT_FALSE(out.has_value()) << type;
    EXPECT_EQ(out.error().code(), Code::invalid);
    EXPECT_NE(out.error().message().find("'blk.4.ffn_up.weight'"), std::string::npos)
        << out.error().message();
  }
}

TEST(Quantize, QuantisedInputIsRefusedUnlessItStays) {
  const TestFolder folder;
  MadeModel model("gguf", "qwen2");
  model.add("output.weight", {4, 256}, noise(1024, 1));
  const auto first = converted(model, "q8_0", folder);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const Status refused = quantize_model(**first, "q4_k_m", folder.path() + "/no.gguf");
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("output.weight"), std::string::npos) << refused.message();
  EXPECT_FALSE(file_exists(folder.path() + "/no.gguf"));
  // The same type copies the bytes.
  const std::string again = folder.path() + "/again.gguf";
  ASSERT_TRUE(quantize_model(**first, "q8_0", again).ok());
  const auto copy = ModelFile::open(again);
  ASSERT_TRUE(copy.has_value()) << copy.error().message();
  EXPECT_TRUE(std::ranges::equal((*copy)->find_tensor("output.weight")->bytes,
                                 (*first)->find_tensor("output.weight")->bytes));
  const auto forced = converted(**first, "q4_k_m", folder, {.requantize = true});
  ASSERT_TRUE(forced.has_value());
  EXPECT_EQ((*forced)->find_tensor("output.weight")->dtype, DType::q6_k);
}

void copy_golden(const std::string& name, const std::string& to) {
  std::filesystem::copy_file(RUV_SOURCE_DIR "/tests/golden/models/" + name, to);
}

TEST(Quantize, NeverWritesOverItsInput) {
  const TestFolder folder;
  const std::string path = folder.path() + "/self.gguf";
  copy_golden("llama2/model.gguf", path);
  std::filesystem::create_hard_link(path, folder.path() + "/hard.gguf");
  std::filesystem::create_symlink("self.gguf", folder.path() + "/soft.gguf");
  const std::string before = *read_text_file(path);
  const auto file = ModelFile::open(folder.path() + "/soft.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  for (const char* name : {"self", "hard", "soft"}) {
    const std::string out = folder.path() + "/" + name + ".gguf";
    const Status refused = quantize_model(**file, "q8_0", out, {.replace = true});
    EXPECT_EQ(refused.code(), Code::invalid) << name;
    EXPECT_EQ(refused.message().find(out), 0U) << refused.message();
    EXPECT_EQ(*read_text_file(out), before);
  }
  EXPECT_TRUE(quantize_model(**file, "q8_0", folder.path() + "/new.gguf").ok());
  const Status again = quantize_model(**file, "q8_0", folder.path() + "/new.gguf");
  EXPECT_NE(again.message().find("--force"), std::string::npos) << again.message();
  EXPECT_TRUE(quantize_model(**file, "q8_0", folder.path() + "/new.gguf", {.replace = true}).ok());
}

TEST(Quantize, NeverWritesOverAFileOfAFolder) {
  const TestFolder folder;
  for (const char* name : {"model.safetensors", "config.json"})
    copy_golden(std::string("llama2/") + name, folder.path() + "/" + name);
  const auto file = ModelFile::open(folder.path());
  ASSERT_TRUE(file.has_value()) << file.error().message();
  for (const char* name : {"/model.safetensors", "/config.json"}) {
    const Status refused = quantize_model(**file, "q8_0", folder.path() + name, {.replace = true});
    EXPECT_EQ(refused.code(), Code::invalid) << name;
  }
}

TEST(Quantize, ErrorsNameTheNumberAndTheWayOut) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.gguf";
  MadeModel model("gguf", "qwen2");
  EXPECT_EQ(quantize_model(model, "q9_9", path).code(), Code::invalid);
  EXPECT_NE(quantize_model(model, "q9_9", path).message().find("q4_k_m"), std::string::npos);
  auto numbers = noise(512, 1);
  numbers[256 + 17] = NAN;
  model.add("blk.0.ffn_up.weight", {2, 256}, numbers);
  const Status nan = quantize_model(model, "q4_0", path);
  EXPECT_EQ(nan.code(), Code::corrupt);
  EXPECT_NE(nan.message().find("row 1, column 17"), std::string::npos) << nan.message();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  MadeModel large("gguf", "qwen2");
  numbers[256 + 17] = 70000.0F;
  large.add("blk.0.ffn_up.weight", {2, 256}, numbers);
  EXPECT_EQ(quantize_model(large, "f16", path).code(), Code::invalid);
  EXPECT_TRUE(quantize_model(large, "bf16", path).ok());
  EXPECT_EQ(quantize_model(large, "f32", "/nowhere/x.gguf").ok(), false);
}

// 65504 is the greatest number of a half; what is above it is refused by its place.
TEST(Quantize, HalvesReachToTheirGreatest) {
  for (const float sign : {1.0F, -1.0F}) {
    const TestFolder folder;
    MadeModel model("gguf", "qwen2");
    auto numbers = noise(512, 1);
    numbers[3] = sign * 65504.0F;
    model.add("blk.0.ffn_up.weight", {2, 256}, numbers);
    for (const char* type : {"f16", "q8_0"}) {
      const auto back = converted(model, type, folder);
      ASSERT_TRUE(back.has_value()) << type << ": " << back.error().message();
      EXPECT_NEAR(decoded(**back, "blk.0.ffn_up.weight")[3], numbers[3], 300) << type;
    }
    MadeModel above("gguf", "qwen2");
    numbers[3] = sign * std::nextafter(65504.0F, 70000.0F);
    above.add("blk.0.ffn_up.weight", {2, 256}, numbers);
    EXPECT_EQ(quantize_model(above, "f16", folder.path() + "/above.gguf").code(), Code::invalid);
  }
}

TEST(Quantize, ProgressCountsTensorsAndCanStop) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.gguf";
  MadeModel model("gguf", "qwen2");
  model.add("blk.0.ffn_up.weight", {2, 256}, noise(512, 1));
  model.add("output_norm.weight", {256}, noise(256, 2));
  std::vector<std::string> seen;
  QuantizeOptions options;
  options.on_tensor = [&](const QuantizeStep& step) {
    EXPECT_EQ(step.index, static_cast<int64_t>(seen.size()));
    EXPECT_EQ(step.n_tensors, 2);
    seen.emplace_back(step.tensor);
    if (step.index == 0) {
      EXPECT_EQ(step.bytes_in, 2048U);
      EXPECT_EQ(step.bytes_out, 288U);
      EXPECT_EQ(step.to, DType::q4_0);
    }
    return true;
  };
  ASSERT_TRUE(quantize_model(model, "q4_0", path, options).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"blk.0.ffn_up.weight", "output_norm.weight"}));
  std::filesystem::remove(path);
  options.on_tensor = [](const QuantizeStep& step) { return step.index == 0; };
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::cancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Only the tensor that was being converted is converted again: the others' rows are not read, which
// here have numbers by then that no file may hold.
TEST(Quantize, AnInterruptedFileIsContinued) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.gguf";
  MadeModel model("gguf", "qwen2");
  for (const char* name : {"blk.0.ffn_up.weight", "blk.1.ffn_up.weight", "blk.2.ffn_up.weight"})
    model.add(name, {40, 512}, noise(40 * 512, 1));
  ASSERT_TRUE(quantize_model(model, "q4_0", path).ok());
  const std::string whole = read_text_file(path).value_or("");
  std::filesystem::remove(path);

  QuantizeOptions options{.resumable = true};
  options.on_tensor = [](const QuantizeStep& step) { return step.index < 2; };
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::cancelled);
  EXPECT_TRUE(file_exists(path + ".partial"));
  model.spoil("blk.0.ffn_up.weight");
  options.on_tensor = {};
  const Status status = quantize_model(model, "q4_0", path, options);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(read_text_file(path).value_or(""), whole);

  std::filesystem::remove(path);
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::corrupt);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "what cannot be finished goes";
}

TEST(Quantize, AnInterruptedFileOfAnotherTypeIsBegunAnew) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.gguf";
  MadeModel model("gguf", "qwen2");
  for (const char* name : {"blk.0.ffn_up.weight", "blk.1.ffn_up.weight"})
    model.add(name, {40, 512}, noise(40 * 512, 1));
  ASSERT_TRUE(quantize_model(model, "q5_0", path).ok());
  const std::string whole = read_text_file(path).value_or("");
  std::filesystem::remove(path);
  QuantizeOptions options{.resumable = true};
  options.on_tensor = [](const QuantizeStep& step) { return step.index < 1; };
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::cancelled);
  options.on_tensor = {};
  int n_anew = 0;
  options.on_begun_anew = [&] { ++n_anew; };
  ASSERT_TRUE(quantize_model(model, "q5_0", path, options).ok());
  EXPECT_EQ(n_anew, 1);
  EXPECT_EQ(read_text_file(path).value_or(""), whole);
}

// Else rows of two encoders would be in one file. The rows that are there are read again, which
// here have numbers by then that no file may hold.
TEST(Quantize, AnInterruptedFileOfOtherEncodersIsBegunAnew) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.gguf";
  MadeModel model("gguf", "qwen2");
  for (const char* name : {"blk.0.ffn_up.weight", "blk.1.ffn_up.weight"})
    model.add(name, {40, 512}, noise(40 * 512, 1));
  int n_anew = 0;
  QuantizeOptions options{.resumable = true};
  options.on_begun_anew = [&] { ++n_anew; };
  options.encoder_version = kEncoderVersion + 1;
  options.on_tensor = [](const QuantizeStep& step) { return step.index < 1; };
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::cancelled);
  EXPECT_EQ(quantize_model(model, "q4_0", path, options).code(), Code::cancelled);
  EXPECT_EQ(n_anew, 0) << "the same call continues";

  model.spoil("blk.0.ffn_up.weight");
  options.on_tensor = {};
  options.encoder_version = kEncoderVersion;
  const Status status = quantize_model(model, "q4_0", path, options);
  EXPECT_EQ(status.code(), Code::corrupt) << "the first tensor's rows are read again";
  EXPECT_EQ(n_anew, 1);
}

TEST(Quantize, FilesSayTheVersionOfTheirEncoders) {
  const TestFolder folder;
  MadeModel model("gguf", "qwen2");
  model.add("blk.0.ffn_up.weight", {4, 512}, noise(4 * 512, 1));
  const auto out = converted(model, "q4_0", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ((*out)->integer("quantize.encoder_version").value_or(0), int64_t{kEncoderVersion});
}

TEST(Quantize, BytesDoNotDependOnThreads) {
  const TestFolder folder;
  MadeModel model("gguf", "qwen2");
  model.add("blk.0.ffn_up.weight", {37, 512}, noise(37 * 512, 1));
  const std::string one = folder.path() + "/one.gguf";
  const std::string five = folder.path() + "/five.gguf";
  ASSERT_TRUE(quantize_model(model, "q4_k_s", one, {.n_threads = 1}).ok());
  ASSERT_TRUE(quantize_model(model, "q4_k_s", five, {.n_threads = 5}).ok());
  EXPECT_EQ(read_text_file(one).value_or("a"), read_text_file(five).value_or("b"));
}

// More than 2^22 numbers, which are converted at once.
TEST(Quantize, LargeTensorsAreConvertedInParts) {
  constexpr int64_t kRows = (int64_t{1} << 14) + 9;
  const TestFolder folder;
  std::vector<float> numbers(static_cast<size_t>(kRows * 256));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 2039);
  MadeModel model("gguf", "qwen2");
  model.add("blk.0.ffn_up.weight", {kRows, 256}, numbers);
  const auto out = converted(model, "f16", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_TRUE(decoded(**out, "blk.0.ffn_up.weight") == numbers);

  numbers[static_cast<size_t>((kRows - 2) * 256 + 17)] = NAN;
  MadeModel broken("gguf", "qwen2");
  broken.add("blk.0.ffn_up.weight", {kRows, 256}, numbers);
  const Status refused = quantize_model(broken, "f16", folder.path() + "/broken.gguf");
  EXPECT_NE(refused.message().find(fmt::format("row {}, column 17", kRows - 2)), std::string::npos)
      << refused.message();
}

TEST(Quantize, LlamaRowsOfHalvesBecomeNeighbours) {
  const TestFolder folder;
  MadeModel model("safetensors", "llama");
  model.set("attention.head_count", int64_t{2});
  model.set("attention.head_count_kv", int64_t{1});
  model.add("blk.0.attn_q.weight", {8, 1}, counting(8));
  model.add("blk.0.attn_k.weight", {4, 2}, counting(8));
  model.add("blk.0.attn_v.weight", {4, 1}, counting(4));
  model.add("blk.0.attn_q.bias", {8}, counting(8));
  const auto out = converted(model, "f32", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  const std::vector<float> expected{0, 2, 1, 3, 4, 6, 5, 7};
  EXPECT_EQ(decoded(**out, "blk.0.attn_q.weight"), expected);
  EXPECT_EQ(decoded(**out, "blk.0.attn_q.bias"), expected);
  EXPECT_EQ(decoded(**out, "blk.0.attn_k.weight"), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(decoded(**out, "blk.0.attn_v.weight"), counting(4));
}

TEST(Quantize, HeadsThatDoNotDivideAreAnError) {
  const TestFolder folder;
  MadeModel model("safetensors", "llama");
  model.set("attention.head_count", int64_t{3});
  model.add("blk.0.attn_q.weight", {8, 1}, counting(8));
  const auto out = converted(model, "f32", folder);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code(), Code::corrupt);
  EXPECT_NE(out.error().message().find("blk.0.attn_q.weight"), std::string::npos);
}

TEST(Quantize, ExpertsBecomeOneTensor) {
  const TestFolder folder;
  MadeModel model("safetensors", "llama");
  model.set("attention.head_count", int64_t{1});
  model.set("expert_count", int64_t{2});
  model.add("blk.0.ffn_up.1.weight", {1, 2}, {3, 4});
  model.add("blk.0.ffn_up.0.weight", {1, 2}, {1, 2});
  const auto out = converted(model, "f32", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  ASSERT_EQ((*out)->tensors().size(), 1U);
  EXPECT_EQ((*out)->tensors()[0].shape, (std::vector<int64_t>{2, 1, 2}));
  EXPECT_EQ(decoded(**out, "blk.0.ffn_up_exps.weight"), (std::vector<float>{1, 2, 3, 4}));

  MadeModel gap("safetensors", "llama");
  gap.set("expert_count", int64_t{3});
  gap.add("blk.0.ffn_up.1.weight", {1, 2}, {3, 4});
  gap.add("blk.0.ffn_up.2.weight", {1, 2}, {3, 4});
  EXPECT_EQ(quantize_model(gap, "f32", folder.path() + "/gap.gguf").code(), Code::corrupt);
  for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{1} << 60}) {
    gap.set("expert_count", count);
    EXPECT_EQ(quantize_model(gap, "f32", folder.path() + "/gap.gguf").code(), Code::corrupt);
  }
  MadeModel beyond("safetensors", "llama");
  beyond.set("expert_count", int64_t{1});
  beyond.add("blk.0.ffn_up.1.weight", {1, 2}, {3, 4});
  EXPECT_EQ(quantize_model(beyond, "f32", folder.path() + "/beyond.gguf").code(), Code::corrupt);
}

TEST(Quantize, NormsAndTransposedTensorsAreAsGgufHasThem) {
  const TestFolder folder;
  MadeModel model("safetensors", "gemma");
  model.add("output_norm.weight", {2}, {0.5F, -0.25F});
  model.add("blk.0.ffn_up.weight", {2, 3}, {1, 4, 2, 5, 3, 6}).steps = {4, 8};
  const auto out = converted(model, "f32", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ(decoded(**out, "output_norm.weight"), (std::vector<float>{1.5F, 0.75F}));
  EXPECT_EQ(decoded(**out, "blk.0.ffn_up.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Quantize, PositionsBeforeTheFirstAreLeftOutAndNotCounted) {
  const TestFolder folder;
  MadeModel model("safetensors", "bert");
  model.set("context_length", int64_t{6});
  model.set("position_offset", int64_t{2});
  model.set("token_type_count", int64_t{0});
  model.add("position_embd.weight", {6, 1}, counting(6));
  const auto out = converted(model, "f32", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ(decoded(**out, "position_embd.weight"), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ((*out)->integer("context_length").value(), 4);
  EXPECT_EQ((*out)->find("position_offset"), nullptr);
  EXPECT_EQ(std::get<int64_t>((*out)->metadata().at("tokenizer.ggml.token_type_count")), 1);
  model.set("context_length", int64_t{2});
  const auto none = converted(model, "f16", folder);
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message().find("context_length"), std::string::npos);
}

TEST(Quantize, OddShapesAreWrittenOrRefused) {
  const TestFolder folder;
  MadeModel model("safetensors", "qwen2");
  model.add("scalar", {}, {2.5F});
  model.add("token_embd.weight", {int64_t{1} << 40, 0}, {});
  TokenizerSpec empty;
  empty.pre = "gpt-2";
  model.spec_ = empty;
  const auto out = converted(model, "f32", folder);
  ASSERT_TRUE(out.has_value() || out.error().code() == Code::corrupt) << out.error().message();
  MadeModel deep("safetensors", "qwen2");
  deep.add("patch.weight", {1, 1, 1, 1, 2}, {1, 2});
  const Status refused = quantize_model(deep, "f32", folder.path() + "/deep.gguf");
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_NE(refused.message().find("patch.weight"), std::string::npos);
}

TEST(Quantize, UnigramTokenizersAreWrittenOrRefused) {
  const TestFolder folder;
  MadeModel model("safetensors", "t5");
  model.add("token_embd.weight", {5, 1}, counting(5));
  TokenizerSpec spec;
  spec.kind = TokenizerKind::unigram;
  spec.tokens = {"<pad>", "</s>", "<unk>", "a"};
  spec.kinds = {TokenKind::control, TokenKind::control, TokenKind::unknown, TokenKind::normal};
  spec.scores = {0, 0, 0, -1.25F};
  spec.unk = 2;
  spec.eos = 1;
  spec.add_eos = spec.add_space_prefix = spec.remove_extra_spaces = true;
  spec.normalizers.push_back({.kind = NormalizerKind::charsmap, .pattern = {}, .content = "\x81z"});
  model.spec_ = spec;
  const auto out = converted(model, "f16", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  const auto back = (*out)->tokenizer_spec();
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(back->kind, TokenizerKind::unigram);
  EXPECT_EQ(back->scores, (std::vector<float>{0, 0, 0, -1.25F, 0}));
  EXPECT_TRUE(back->add_eos && back->add_space_prefix && back->remove_extra_spaces);
  ASSERT_EQ(back->normalizers.size(), 1U);
  EXPECT_EQ(back->normalizers[0].content, "\x81z");
  const Status again = quantize_model(**out, "f16", folder.path() + "/again.gguf");
  ASSERT_TRUE(again.ok()) << again.message();
  const auto twin = ModelFile::open(folder.path() + "/again.gguf");
  EXPECT_EQ((*twin)->tokenizer_spec()->normalizers[0].content, "\x81z");
  for (const bool by_graphemes : {false, true}) {
    TokenizerSpec other = spec;
    if (by_graphemes) other.normalizers[0].pattern = "grapheme";
    other.split_at_spaces = !by_graphemes;
    model.spec_ = other;
    const auto refused = converted(model, "f32", folder);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), Code::unsupported);
    EXPECT_NE(refused.error().message().find("cannot hold this tokenizer"), std::string::npos);
  }
}

TEST(Quantize, TokenizerAndTemplateBecomeMetadata) {
  const TestFolder folder;
  MadeModel model("safetensors", "llama");
  model.add("token_embd.weight", {6, 1}, counting(6));
  model.chat_template_ = "{{ x }}";
  TokenizerSpec spec;
  spec.kind = TokenizerKind::sentencepiece_bpe;
  spec.pre = "default";
  spec.tokens = {"<unk>", "a", "b", "ab"};
  spec.kinds = {TokenKind::unknown, TokenKind::normal, TokenKind::normal, TokenKind::normal};
  spec.merges = {"a b"};
  spec.unk = 0;
  spec.eos = 3;
  spec.add_bos = true;
  model.spec_ = spec;
  const auto out = converted(model, "f16", folder);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ((*out)->chat_template(), "{{ x }}");
  EXPECT_EQ((*out)->text("tokenizer.ggml.model").value_or(""), "llama");
  EXPECT_EQ((*out)->integer("tokenizer.ggml.eos_token_id").value_or(-1), 3);
  const auto back = (*out)->tokenizer_spec();
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(back->tokens, (std::vector<std::string>{"<unk>", "a", "b", "ab", "[PAD4]", "[PAD5]"}));
  EXPECT_EQ(back->kinds[0], TokenKind::unknown);
  EXPECT_EQ(back->kinds[5], TokenKind::unused);
  EXPECT_EQ(back->scores.size(), 6U);
  EXPECT_TRUE(back->add_bos);
  model.spec_->lead = {1, 2};
  const TestFolder other;
  EXPECT_NE(converted(model, "f16", other).error().message().find("puts other tokens"),
            std::string::npos);
}

// Every golden folder gives the tensors of the GGUF file made beside it.
TEST(Quantize, GoldenFoldersEqualTheirGgufTwins) {
  const std::string root = std::string(RUV_SOURCE_DIR) + "/tests/golden/models";
  int n_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const auto folder_model = ModelFile::open(entry.path().string());
    const auto twin = ModelFile::open((entry.path() / "model.gguf").string());
    if (!folder_model.has_value() || !twin.has_value()) continue;
    const TestFolder folder;
    const auto out = converted(**folder_model, "f32", folder);
    ASSERT_TRUE(out.has_value()) << out.error().message();
    EXPECT_EQ((*out)->tensors().size(), (*twin)->tensors().size()) << entry.path();
    for (const TensorInfo& expected : (*twin)->tensors()) {
      const TensorInfo* mine = (*out)->find_tensor(expected.name);
      ASSERT_NE(mine, nullptr) << entry.path() << " " << expected.name;
      EXPECT_EQ(mine->shape, expected.shape) << entry.path() << " " << expected.name;
      const auto a = decoded(**out, expected.name);
      const auto b = decoded(**twin, expected.name);
      for (size_t i = 0; i < a.size(); ++i) {
        // Rope divisors are computed in another precision there.
        ASSERT_NEAR(a[i], b[i], 2e-7F * std::fabs(b[i])) << entry.path() << " " << expected.name;
      }
    }
    ++n_models;
  }
  EXPECT_GE(n_models, 10);
}

// Σ (a − b)² / Σ b² over all quantised tensors.
double relative_error(const ModelFile& a, const ModelFile& b) {
  double off = 0.0;
  double size = 0.0;
  for (const TensorInfo& tensor : a.tensors()) {
    if (format_of(tensor.dtype).block_size == 1) continue;
    const auto mine = decoded(a, tensor.name);
    const auto original = decoded(b, tensor.name);
    for (size_t i = 0; i < mine.size(); ++i) {
      const double x = static_cast<double>(original[i]);
      off += (static_cast<double>(mine[i]) - x) * (static_cast<double>(mine[i]) - x);
      size += x * x;
    }
  }
  return off / size;
}

TEST(Quantize, TrainedModelLosesLittle) {
  const std::string gguf = shared_file("trained/pico/ruvltra-pico-f16.gguf");
  if (gguf.empty()) GTEST_SKIP() << "no trained/pico/ruvltra-pico-f16.gguf in the shared data";
  const auto model = ModelFile::open(gguf);
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const TestFolder folder;
  struct Expected {
    const char* type;
    double error;  // measured, plus a twentieth
  };
  for (const Expected& expected : {Expected{"q8_0", 3.0e-5}, Expected{"q4_k_m", 4.3e-4}}) {
    const auto out = converted(**model, expected.type, folder);
    ASSERT_TRUE(out.has_value()) << out.error().message();
    EXPECT_LE(relative_error(**out, **model), expected.error) << expected.type;
    EXPECT_GT(relative_error(**out, **model), expected.error / 2) << expected.type;
    EXPECT_EQ((*out)->chat_template(), (*model)->chat_template());
  }
}

TEST(Quantize, BothContainersOfAModelGiveTheSameWeights) {
  const std::string gguf = shared_file("trained/moe/ruvltra-moe-f16.gguf");
  if (gguf.empty()) GTEST_SKIP() << "no trained/moe/ruvltra-moe-f16.gguf in the shared data";
  const auto model = ModelFile::open(gguf);
  const auto checkpoint = ModelFile::open(shared_file("trained/moe"));
  ASSERT_TRUE(model.has_value() && checkpoint.has_value());
  const TestFolder folder;
  const TestFolder other;
  const auto out = converted(**model, "q8_0", folder);
  const auto twin = converted(**checkpoint, "q8_0", other);
  ASSERT_TRUE(out.has_value()) << out.error().message();
  ASSERT_TRUE(twin.has_value()) << twin.error().message();
  for (const TensorInfo& tensor : (*out)->tensors()) {
    const TensorInfo* same = (*twin)->find_tensor(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_TRUE(as_text(same->bytes) == as_text(tensor.bytes)) << tensor.name;
  }
  const auto tokens = (*twin)->tokenizer_spec();
  const auto original = (*model)->tokenizer_spec();
  ASSERT_TRUE(tokens.has_value() && original.has_value());
  EXPECT_EQ(tokens->tokens, original->tokens);
  EXPECT_EQ(tokens->kinds, original->kinds);
  EXPECT_EQ(tokens->merges, original->merges);
  EXPECT_EQ(tokens->eos, original->eos);
  EXPECT_EQ((*twin)->chat_template(), (*model)->chat_template());
}

}  // namespace
}  // namespace ruv
