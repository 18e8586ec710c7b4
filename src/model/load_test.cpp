// load_model with and without packed files, over small models of the repository.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/folder.h"
#include "device/cpu/cpu_device.h"
#include "fault/damage.h"
#include "format/gguf_writer.h"
#include "format/quantize.h"
#include "model/decoder.h"
#include "model/examine.h"
#include "model/packed_key.h"
#include "ruv/prompts.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

class LoadPacked : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_);
    fs::copy_file(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf", path_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::shared_ptr<const Model> load(const std::string& isa = {}) {
    return load_from(path_, isa, root_ + "/cache");
  }
  std::shared_ptr<const Model> load_from(const std::string& path, const std::string& isa,
                                         const std::string& folder) {
    LoadOptions options;
    options.n_threads = 2;
    options.isa = isa;
    options.packed_cache_dir = folder;
    options.packed_cache_min_bytes = 0;
    options.packed_cache_reserve_bytes = 0;
    options.note = [this](NoteKind kind, std::string_view text) {
      (kind == NoteKind::problem ? problems_ : remarks_).emplace_back(text);
    };
    auto model = load_model(path, options);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    return model ? *model : nullptr;
  }
  bool is_mapped(const std::string& isa = {}) { return load(isa)->from_packed_file; }
  size_t n_files() const { return files_in(root_ + "/cache").size(); }
  std::string only_file() const { return files_in(root_ + "/cache").at(0).path; }

  // Writes the only file again, with other distances.
  void keep(const FoundReadAhead& found) const {
    const auto mapped = MappedFile::open(only_file());
    const auto directory = read_packed_directory(mapped->bytes(), "f");
    auto writer = PackedFileWriter::create(only_file(), directory->key, uint64_t{1} << 30);
    ASSERT_TRUE(writer.has_value());
    for (const auto& [name, matrix] : directory->matrices) {
      const Bytes bytes = mapped->bytes().subspan(matrix.offset, matrix.n_bytes);
      ASSERT_TRUE((*writer)->begin(matrix).has_value());
      std::ranges::copy(bytes, *(*writer)->next(static_cast<int64_t>(bytes.size())));
    }
    ASSERT_TRUE((*writer)->flush().ok());
    (*writer)->keep(found);
    ASSERT_TRUE((*writer)->publish().ok());
  }

  const std::string root_ = testing::TempDir() + "ruv_load_" + std::to_string(getpid());
  const std::string path_ = root_ + "/model.gguf";
  std::vector<std::string> problems_, remarks_;
};

void expect_same(const Weight& a, const Weight& b) {
  ASSERT_EQ(a.n_out, b.n_out);
  ASSERT_EQ(a.form, b.form);
  ASSERT_EQ(a.packed.n_bytes, b.packed.n_bytes);
}

std::vector<std::byte> bytes_of(const Model& model, const Weight& weight) {
  std::vector<std::byte> bytes(static_cast<size_t>(weight.packed.n_bytes));
  model.device->download(weight.packed.start, bytes);
  return bytes;
}

void expect_same(const Model& a, const Model& b) {
  expect_same(a.output, b.output);
  EXPECT_EQ(bytes_of(a, a.output), bytes_of(b, b.output));
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    for (const RoleRow& row : role_rows()) {
      const auto some = a.layers[i][row.role].matrices();
      const auto others = b.layers[i][row.role].matrices();
      ASSERT_EQ(some.size(), others.size());
      for (size_t j = 0; j < some.size(); ++j) {
        expect_same(some[j], others[j]);
        EXPECT_EQ(bytes_of(a, some[j]), bytes_of(b, others[j]));
      }
    }
  }
}

TEST_F(LoadPacked, SecondLoadMapsTheSameBytes) {
  for (const char* name : {"llama2", "phi3", "gpt2", "gemma2", "qwen3", "qwen3moe"}) {
    for (const char* form : {"", "/model.gguf"}) {
      const std::string path = std::string(RUV_SOURCE_DIR "/tests/golden/models/") + name + form;
      for (const Kernels* kernels : all_kernels()) {
        SCOPED_TRACE(path + " " + kernels->isa);
        const auto plain = load_from(path, kernels->isa, "");
        const auto first = load_from(path, kernels->isa, root_ + "/cache");
        const auto second = load_from(path, kernels->isa, root_ + "/cache");
        EXPECT_FALSE(plain->from_packed_file);
        EXPECT_FALSE(first->from_packed_file);
        EXPECT_TRUE(second->from_packed_file);
        expect_same(*plain, *first);
        expect_same(*plain, *second);
      }
    }
  }
  EXPECT_TRUE(problems_.empty()) << problems_.front();
  EXPECT_EQ(n_files(), remarks_.size());
}

TEST_F(LoadPacked, WeightsOutliveTheirFile) {
  load();
  const auto mapped = load();
  fs::remove_all(root_ + "/cache");
  expect_same(*load_from(path_, {}, ""), *mapped);
}

TEST_F(LoadPacked, AnyChangeOfTheModelPacksAgain) {
  EXPECT_FALSE(is_mapped());
  EXPECT_TRUE(is_mapped());
  const auto time = fs::last_write_time(path_);
  // A weight far from the samples, with the time set back.
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(fs::file_size(path_)) - 100)
      .put('\1');
  fs::last_write_time(path_, time);
  EXPECT_FALSE(is_mapped()) << "ctime tells";
  EXPECT_TRUE(is_mapped());
  fs::last_write_time(path_, time + std::chrono::seconds(1));
  EXPECT_FALSE(is_mapped());
  fs::copy_file(path_, root_ + "/copy.gguf");
  fs::rename(root_ + "/copy.gguf", path_);
  EXPECT_FALSE(is_mapped()) << "another file";
  EXPECT_EQ(n_files(), 4U);
}

// Far longer than its samples, so that only the times tell of a change between two of them.
TEST_F(LoadPacked, ABigModelChangedBetweenSamplesHasAnotherKey) {
  const std::string path = root_ + "/big.gguf";
  const int64_t shape[] = {1024, 1024};
  auto out = GgufWriter::create(path);
  ASSERT_TRUE(out);
  out->add_text("general.architecture", "llama");
  out->declare_tensor("token_embd.weight", DType::f32, shape);
  ASSERT_TRUE(out->begin_tensors().ok());
  ASSERT_TRUE(out->write(std::vector<std::byte>(size_t{4} << 20)).ok());
  ASSERT_TRUE(out->commit().ok());
  const auto key_of = [&] {
    const auto file = ModelFile::open(path);
    EXPECT_TRUE(file);
    return packed_key(**file, default_device()->packing()).text();
  };
  const auto before = key_of();
  EXPECT_EQ(key_of(), before);
  const auto stamp = stamp_of(path);
  ASSERT_TRUE(stamp);
  const auto time = fs::last_write_time(path);
  // A sample of 16 KB begins every 64 KB; the clock of files may stand still for a while.
  do {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp((std::streamoff{1} << 20) + (40 << 10))
        .put('\1');
    fs::last_write_time(path, time);
  } while (stamp_of(path)->changed_ns == stamp->changed_ns);
  ASSERT_EQ(stamp_of(path)->modified_ns, stamp->modified_ns);
  EXPECT_NE(key_of(), before);
}

// A golden model with a tensor or key more.
class ChangedModel : public LoadPacked {
 protected:
  std::string with_tensor(const std::string& extra) { return changed(path_, {}, extra); }
  // `extra`: the name of a tensor more; empty: none.
  std::string changed(const std::string& golden, const MetaMap& keys, const std::string& extra) {
    const std::string path = root_ + "/changed.gguf";
    const auto file = ModelFile::open(golden);
    EXPECT_TRUE(file);
    auto out = GgufWriter::create(path, {.replace = true});
    EXPECT_TRUE(out);
    MetaMap metadata = keys;
    metadata.insert((*file)->metadata().begin(), (*file)->metadata().end());
    for (const auto& [key, value] : metadata) out->add(key, value);
    for (const TensorInfo& tensor : (*file)->tensors()) {
      out->declare_tensor(tensor.name, tensor.dtype, tensor.shape);
    }
    const int64_t shape[] = {32};
    if (!extra.empty()) out->declare_tensor(extra, DType::f32, shape);
    EXPECT_TRUE(out->begin_tensors().ok());
    for (const TensorInfo& tensor : (*file)->tensors()) EXPECT_TRUE(out->write(tensor.bytes).ok());
    EXPECT_TRUE(extra.empty() || out->write(std::vector<std::byte>(128)).ok());
    EXPECT_TRUE(out->commit().ok());
    return path;
  }
};

TEST_F(LoadPacked, WhetherThereIsABiasTheConfigSays) {
  const std::string folder = root_ + "/biased";
  fs::copy(RUV_SOURCE_DIR "/tests/golden/models/llama_bias", folder);
  fs::remove(folder + "/model.gguf");
  const auto with = load_from(folder, {}, "");
  EXPECT_FALSE(with->layers[0][Role::q].bias.empty() || with->layers[0][Role::down].bias.empty());
  LoadOptions options;
  options.ignored_keys = {"model.layers.0.self_attn.q_proj.bias",
                          "model.layers.1.self_attn.q_proj.bias"};
  EXPECT_NE(check_model(folder, options).message().find("q_proj.bias' is missing"),
            std::string::npos);
  std::string config = read_text_file(folder + "/config.json").value();
  const std::string said = R"("attention_bias": true)";
  const size_t at = config.find(said);
  ASSERT_NE(at, std::string::npos);
  config.replace(at, said.size(), R"("attention_bias": false)");
  std::ofstream(folder + "/config.json") << config;
  const auto without = load_from(folder, {}, "");
  EXPECT_TRUE(without->layers[0][Role::q].bias.empty() && without->layers[0][Role::o].bias.empty());
  EXPECT_FALSE(without->layers[0][Role::down].bias.empty()) << "another key";
}

TEST(TextOfAModel, AChatHasItsBosAndTheAnswersBeginningWhereAsked) {
  TokenizerSpec spec = byte_test_spec({});
  spec.add_bos = true;
  Model model;
  model.tokenizer = test_tokenizer(spec);
  model.chat_template =
      ChatTemplate::parse("{{ messages[0].content }}{% if add_generation_prompt %}!{% endif %}")
          .value();
  const auto text_of = [&](PromptEnd end) {
    const std::vector<Token> ids =
        tokenize_chat(model, {{text_message("user", "hi")}, end}).value();
    return detokenize(model, ids, true).value();
  };
  EXPECT_EQ(text_of(PromptEnd::answer), "<bos>hi!");
  EXPECT_EQ(text_of(PromptEnd::closed), "<bos>hi");
  const Token n = model.tokenizer->vocab_size();
  for (const Token id : {Token{-1}, n})
    EXPECT_EQ(detokenize(model, std::vector{id}, true).error().code(), Code::invalid) << id;
  EXPECT_TRUE(detokenize(model, std::vector<Token>{0, n - 1}, true).has_value());
}

TEST_F(ChangedModel, NoChatTemplateIsNotTheSameAsABrokenOne) {
  const std::string golden = RUV_SOURCE_DIR "/tests/golden/models/gpt2/model.gguf";
  const auto code_with = [&](const MetaMap& keys) {
    return can_chat(*load_model(changed(golden, keys, "")).value()).code();
  };
  const std::string key = "tokenizer.chat_template";
  EXPECT_EQ(code_with({}), Code::not_found);
  EXPECT_EQ(code_with({{key, std::string("{{ x")}}), Code::corrupt);
  EXPECT_EQ(code_with({{key, std::string("{{ x }}")}}), Code::ok);
}

TEST_F(ChangedModel, ASystemMessageThatTheTemplateDoesNotShowIsNotUsed) {
  const std::string golden = RUV_SOURCE_DIR "/tests/golden/models/gpt2/model.gguf";
  const auto loaded = [&](const std::string& chat_template) {
    MetaMap keys;
    if (!chat_template.empty()) keys["tokenizer.chat_template"] = chat_template;
    std::string noted;
    LoadOptions options;
    options.defaults = {.sampling = {{"temperature", 0.5}}, .stop = {"x"}, .system = "Be brief."};
    options.note = [&](NoteKind kind, std::string_view text) {
      if (kind == NoteKind::problem) noted = text;
    };
    const std::string path = changed(golden, keys, "");
    const ModelInfo info = model_info(*load_model(path, options).value());
    EXPECT_EQ(info.defaults.stop, options.defaults.stop);
    EXPECT_EQ(info.defaults.sampling, options.defaults.sampling);
    const ModelInfo examined = model_info(*examine_model(path, options).model);
    EXPECT_EQ(examined.defaults.system, info.defaults.system);
    return info.defaults.system + "|" + noted.substr(std::min(noted.find("the def"), noted.size()));
  };
  const std::string unused = "|the default system message is not used: ";
  EXPECT_EQ(loaded("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"),
            "Be brief.|");
  EXPECT_EQ(loaded("{{ messages[-1].content }}"), unused + "the chat template does not show it");
  EXPECT_EQ(loaded("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}"
                   "{% endif %}{{ m.content }}{% endfor %}"),
            unused + "the chat template does not show it");
  EXPECT_EQ(loaded(""), unused + "there is no chat template that can be used");
}

TEST_F(ChangedModel, LearnedPositionsEndWithTheirTable) {
  for (const int64_t n_positions : {int64_t{50}, int64_t{64}, int64_t{1000}}) {
    const auto model = load_model(changed(RUV_SOURCE_DIR "/tests/golden/models/gpt2/model.gguf",
                                          {{"gpt2.context_length", n_positions}}, ""));
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_EQ((*model)->h.n_ctx_train, std::min(n_positions, int64_t{64}));
  }
}

// Files of a family without a model class are those of another, renamed; and it has its tensors in
// the order of rows that the family's files have.
TEST_F(ChangedModel, FamiliesKnownFromGgufOnlyAreLlamaRenamed) {
  const auto llama = load_from(path_, {}, "");
  for (const FamilyRecord* const family : families()) {
    // Folders of encoders and of halves of blocks without a class are a class of another family.
    const bool is_others = family->block.bidirectional || family->block.one_half;
    if (!family->classes.empty() || !family->ggmf.sign.empty() || is_others) continue;
    const auto file = ModelFile::open(path_);
    const std::string renamed = root_ + "/renamed.gguf";
    auto out = GgufWriter::create(renamed, {.replace = true});
    ASSERT_TRUE(out);
    for (const auto& [key, value] : (*file)->metadata()) {
      const bool own = key.starts_with("llama.");
      const MetaValue name = std::string(family->name);
      out->add(own ? fmt::format("{}{}", family->name, key.substr(5)) : key,
               key == "general.architecture" ? name : value);
    }
    for (const TensorInfo& t : (*file)->tensors()) out->declare_tensor(t.name, t.dtype, t.shape);
    ASSERT_TRUE(out->begin_tensors().ok());
    for (const TensorInfo& t : (*file)->tensors()) ASSERT_TRUE(out->write(t.bytes).ok());
    ASSERT_TRUE(out->commit().ok());
    const auto model = load_from(renamed, {}, "");
    ASSERT_NE(model, nullptr) << family->name;
    const Weight& query = model->layers[0][Role::q].weight;
    const bool same_rows =
        bytes_of(*model, query) == bytes_of(*llama, llama->layers[0][Role::q].weight);
    EXPECT_EQ(same_rows, family->neighbour_rows) << family->name;
    EXPECT_EQ(bytes_of(*model, model->output), bytes_of(*llama, llama->output)) << family->name;
  }
}

TEST_F(ChangedModel, ATensorWithoutARoleIsRefusedUnlessIgnored) {
  const std::string path = with_tensor("blk.0.attn_sub_norm.weight");
  LoadOptions options;
  auto model = load_model(path, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), Code::unsupported);
  EXPECT_NE(model.error().message().find("'blk.0.attn_sub_norm.weight' has no role"),
            std::string::npos);
  EXPECT_EQ(check_model(path).message(), model.error().message());
  options.ignored_keys = {"blk.0.attn_sub_norm.weight", "llama.absent"};
  std::vector<std::string> notes;
  options.note = [&](NoteKind, std::string_view text) { notes.emplace_back(text); };
  model = load_model(path, options);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(model_info(**model).remarks,
            (std::vector<std::string>{"'blk.0.attn_sub_norm.weight' is ignored, as asked for",
                                      "'llama.absent' was to be ignored, but the file has none"}));
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(ChangedModel, ABiasThatOneLayerHasAllLayersHave) {
  const auto model = load_model(with_tensor("blk.0.attn_q.bias"));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("'blk.1.attn_q.bias' is missing"), std::string::npos);
}

TEST(CheckModel, TakesEveryGoldenModelAndSaysWhatIsMissingByTheFilesOwnNames) {
  for (const char* name : {"llama2", "llama3", "gemma2", "gemma3", "phi3_longrope", "gpt2",
                           "starcoder2", "lfm2", "qwen3moe", "mixtral"}) {
    for (const char* form : {"", "/model.gguf"}) {
      const std::string path = std::string(RUV_SOURCE_DIR "/tests/golden/models/") + name + form;
      EXPECT_EQ(check_model(path).message(), "");
    }
  }
  LoadOptions options;
  options.ignored_keys = {"model.norm.weight"};
  const Status lacking = check_model(RUV_SOURCE_DIR "/tests/golden/models/llama2", options);
  EXPECT_NE(lacking.message().find("tensor 'model.norm.weight' is missing"), std::string::npos);
  options.ignored_keys = {"num_attention_heads"};
  const Status headless = check_model(RUV_SOURCE_DIR "/tests/golden/models/llama2", options);
  EXPECT_NE(headless.message().find("'num_attention_heads' is missing"), std::string::npos);
}

TEST_F(LoadPacked, EachInstructionSetHasAFileOfItsOwn) {
  for (const Kernels* kernels : all_kernels()) EXPECT_FALSE(is_mapped(kernels->isa));
  for (const Kernels* kernels : all_kernels()) EXPECT_TRUE(is_mapped(kernels->isa));
  EXPECT_EQ(n_files(), all_kernels().size());
}

TEST_F(LoadPacked, DamagedFilesAreReplaced) {
  const auto good = load();
  const uint64_t size = fs::file_size(only_file());
  for (const uint64_t offset : {uint64_t{0}, uint64_t{20}, uint64_t{kPackedBlock} + 5, size - 1}) {
    flip_bits(only_file(), offset, 1);
    problems_.clear();
    const auto again = load();
    EXPECT_FALSE(again->from_packed_file) << offset;
    expect_same(*good, *again);
    EXPECT_EQ(problems_.size(), 1U) << offset;
    EXPECT_TRUE(is_mapped()) << offset;
  }
  std::ofstream(only_file()) << "garbage";
  EXPECT_FALSE(is_mapped());
  EXPECT_TRUE(is_mapped());
}

// A file that says everything right about other matrices than the model has.
TEST_F(LoadPacked, FilesThatLackAMatrixAreReplaced) {
  const auto good = load();
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  const PackedKey key = packed_key(**file, good->device->packing());
  auto writer = PackedFileWriter::create(only_file(), key, 8 * kPackedBlock);
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE((*writer)->flush().ok());
  ASSERT_TRUE((*writer)->publish().ok());
  const auto again = load();
  EXPECT_FALSE(again->from_packed_file);
  expect_same(*good, *again);
  EXPECT_EQ(problems_.size(), 1U);
  EXPECT_EQ(n_files(), 0U);
}

int64_t ahead_of(const Model& model) {
  return static_cast<const CpuDevice&>(*model.device).ahead(model.output.dtype);
}

TEST_F(LoadPacked, DistancesOfThisProcessorAreKept) {
  const auto first = load();
  const uint64_t processor = first->device->processor_id();
  const auto kept = read_packed_directory(MappedFile::open(only_file())->bytes(), "f")->read_ahead;
  EXPECT_EQ(kept.processor_id, processor);
  const auto own = std::ranges::find(kept.distances, first->output.dtype, &ReadAhead::dtype);
  ASSERT_NE(own, kept.distances.end());
  EXPECT_EQ(own->n_bytes, ahead_of(*first));
  keep({processor, {{first->output.dtype, 777}}});
  EXPECT_EQ(ahead_of(*load()), 777);
  keep({processor + 1, {{first->output.dtype, 777}}});
  const auto elsewhere = load();
  EXPECT_NE(ahead_of(*elsewhere), 777) << "of another processor";
  EXPECT_TRUE(elsewhere->from_packed_file);
  expect_same(*first, *elsewhere);
}

TEST_F(LoadPacked, OnlyModelsOfHalvesTakeTheTableThatRounds) {
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  for (const char* type : {"f32", "f16", "bf16", "q8_0"}) {
    const std::string path = root_ + "/" + type + ".gguf";
    ASSERT_TRUE(quantize_model(**file, type, path).ok()) << type;
    const bool halves = std::string_view(type).ends_with("16");
    const Kernels& wanted = halves ? kernels() : portable_kernels();
    EXPECT_EQ(load_from(path, {}, "")->device->packing().name(), wanted.isa) << type;
    LoadOptions options;
    options.portable = true;
    EXPECT_EQ((*load_model(path, options))->device->packing().name(), portable_kernels().isa);
  }
}

TEST_F(LoadPacked, WithoutAFolderToWriteTheModelWorks) {
  const auto plain = load_from(path_, {}, "");
  const auto model = load_from(path_, {}, path_ + "/under-a-file");
  EXPECT_FALSE(model->from_packed_file);
  expect_same(*plain, *model);
  EXPECT_EQ(problems_.size(), 1U);
}

TEST_F(LoadPacked, SmallModelsAreNotKept) {
  LoadOptions options;
  options.packed_cache_dir = root_ + "/cache";
  ASSERT_TRUE(load_model(path_, options).has_value());
  EXPECT_FALSE(fs::exists(root_ + "/cache"));
}

TEST_F(LoadPacked, WhatMemoryDoesNotHoldIsReadFromThePackedFile) {
  fs::copy_file(RUV_SOURCE_DIR "/tests/golden/models/qwen3moe/model.gguf", root_ + "/moe.gguf");
  LoadOptions options;
  options.memory_bytes = 1000;
  const auto refused = load_model(root_ + "/moe.gguf", options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  EXPECT_NE(refused.error().message().find("--packed-cache"), std::string::npos);
  options.packed_cache_dir = root_ + "/cache";
  options.packed_cache_min_bytes = 0;
  options.packed_cache_reserve_bytes = 0;
  options.note = [this](NoteKind, std::string_view text) { remarks_.emplace_back(text); };
  for (const bool found : {false, true}) {
    remarks_.clear();
    const auto model = *load_model(root_ + "/moe.gguf", options);
    EXPECT_NE(model->pager, nullptr);
    EXPECT_EQ(model->from_packed_file, found);
    ASSERT_FALSE(remarks_.empty());
    EXPECT_NE(remarks_[0].find("exceed what memory holds"), std::string::npos);
    const auto plain = *load_model(root_ + "/moe.gguf");
    EXPECT_EQ(plain->pager, nullptr);
    expect_same(*plain, *model);
  }
}

TEST_F(LoadPacked, BrokenModelsFailAsWithout) {
  fs::copy_file(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf", root_ + "/cut.gguf");
  fs::resize_file(root_ + "/cut.gguf", fs::file_size(path_) / 2);
  LoadOptions options;
  const auto plain = load_model(root_ + "/cut.gguf", options);
  options.packed_cache_dir = root_ + "/cache";
  options.packed_cache_min_bytes = 0;
  options.packed_cache_reserve_bytes = 0;
  const auto cached = load_model(root_ + "/cut.gguf", options);
  ASSERT_FALSE(plain.has_value());
  ASSERT_FALSE(cached.has_value());
  EXPECT_EQ(plain.error().message(), cached.error().message());
}

TEST_F(LoadPacked, ProgressNeverGoesBack) {
  for (const LoadStage stage : {LoadStage::packing, LoadStage::checking}) {
    double first = 1, last = 0;
    LoadOptions options;
    options.packed_cache_dir = root_ + "/cache";
    options.packed_cache_min_bytes = 0;
    options.packed_cache_reserve_bytes = 0;
    options.progress = [&](LoadStage at, double share) {
      EXPECT_EQ(at, stage);
      EXPECT_GE(share, last);
      EXPECT_LE(share, 1);
      first = std::min(first, share);
      last = share;
    };
    ASSERT_TRUE(load_model(path_, options).has_value());
    EXPECT_GT(last, stage == LoadStage::packing ? 0.9 : -1);
    EXPECT_LT(first, stage == LoadStage::packing ? 0.5 : 2);
  }
}

TEST_F(LoadPacked, AFileIsUnchangedAsLongAsItsStampIs) {
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(is_unchanged(**file));
  const auto time = fs::last_write_time(path_);
  fs::last_write_time(path_, time + std::chrono::seconds(1));
  EXPECT_FALSE(is_unchanged(**file));
  fs::remove(path_);
  EXPECT_FALSE(is_unchanged(**file));
}

TEST_F(LoadPacked, TheFormatOfAModelIsThatOfMostBytes) {
  EXPECT_EQ(model_info(*load()).format, "f32");
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  const std::string path = root_ + "/q8_0.gguf";
  ASSERT_TRUE(quantize_model(**file, "q8_0", path).ok());
  EXPECT_EQ(model_info(*load_from(path, {}, "")).format, "q8_0");
  const std::string mostly_f32 = root_ + "/mostly_f32.gguf";
  const int64_t large[] = {64, 32}, small[] = {1, 32};
  auto out = GgufWriter::create(mostly_f32);
  ASSERT_TRUE(out);
  out->add_text("general.architecture", "llama");
  out->declare_tensor("output.weight", DType::f32, large);
  out->declare_tensor("token_embd.weight", DType::q8_0, small);
  ASSERT_TRUE(out->begin_tensors().ok());
  ASSERT_TRUE(out->write(std::vector<std::byte>(64 * 32 * 4)).ok());
  ASSERT_TRUE(out->write(std::vector<std::byte>(34)).ok());
  ASSERT_TRUE(out->commit().ok());
  Model model;
  model.file = ModelFile::open(mostly_f32).value();
  model.family = find_family("llama");
  model.device = default_device();
  EXPECT_EQ(model_info(model).format, "f32");
}

TEST_F(LoadPacked, WhatPackingTookIsSaid) {
  const auto start = std::chrono::steady_clock::now();
  load();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  const std::string before = "packed in ";
  ASSERT_EQ(remarks_.size(), 1U);
  const size_t at = remarks_[0].find(before);
  ASSERT_NE(at, std::string::npos) << remarks_[0];
  const double said = std::stod(remarks_[0].substr(at + before.size()));
  EXPECT_GE(said, 0);
  EXPECT_LE(said, passed.count() + 0.1) << "rounded to a tenth";
}

// Each part of a step's memory begins on a cache line of its own and has room for its numbers.
TEST_F(LoadPacked, PartsOfAStepsMemoryDoNotOverlap) {
  const auto model = load();
  constexpr int64_t kRows = 3, kOutputs = 2, kRank = 5;
  const auto activations = Activations::create(*model, kRows, kOutputs, kRank);
  ASSERT_TRUE(activations.has_value());
  const Activations::Views views = activations->rows(kRows, kOutputs);
  const View* before = nullptr;
  for (const View* view :
       {&views.x, &views.h, &views.h2, &views.q, &views.k, &views.v, &views.attn, &views.gate,
        &views.up, &views.logits, &views.low_rank.inner, &views.low_rank.outer}) {
    EXPECT_EQ((view->start.bits() - views.x.start.bits()) % 64, 0);
    EXPECT_EQ(view->n_rows, view == &views.logits ? kOutputs : kRows);
    if (before != nullptr) {
      const auto apart = static_cast<int64_t>(view->start.bits() - before->start.bits());
      EXPECT_GE(apart, before->n_bytes());
      EXPECT_LT(apart, before->n_bytes() + 64);
    }
    before = view;
  }
}

TEST_F(LoadPacked, TheWeightsOfAModelAreThoseThatAStepReads) {
  const auto model = load();
  int64_t n_numbers = 0;
  for (const TensorInfo& tensor : model->file->tensors()) {
    if (tensor.shape.size() == 2 && tensor.name != "token_embd.weight")
      n_numbers += tensor.n_elements();
  }
  // They are floats, in groups of rows of which the last may not be full.
  const ModelInfo info = model_info(*model);
  EXPECT_GE(info.weight_bytes, 4 * n_numbers);
  EXPECT_LE(info.weight_bytes, 2 * 4 * n_numbers);
  EXPECT_EQ(info.has_tokenizer, model->tokenizer != nullptr);
  EXPECT_EQ(info.has_chat_template, model->chat_template != nullptr);
}

TEST(WeightsOfExperts, AreCountedForAModelAndForAToken) {
  const auto model = *load_model(RUV_SOURCE_DIR "/tests/golden/models/qwen3moe/model.gguf");
  const ModelInfo info = model_info(*model);
  EXPECT_EQ(info.n_experts, 5);
  EXPECT_EQ(info.n_experts_used, 3);
  int64_t unused = 0;
  for (const LayerWeights& layer : model->layers) {
    for (const Role role : {Role::expert_up, Role::expert_gate, Role::expert_down}) {
      const auto experts = layer[role].matrices();
      EXPECT_TRUE(experts.empty() || experts.size() == 5);
      if (!experts.empty()) unused += 2 * experts[0].n_bytes();
    }
  }
  EXPECT_GT(unused, 0);
  EXPECT_EQ(info.weight_bytes - info.weight_bytes_per_token, unused);
}

TEST_F(ChangedModel, ExpertsThatDoNotFitTheNumbersAreRefused) {
  const std::string golden = RUV_SOURCE_DIR "/tests/golden/models/qwen3moe/model.gguf";
  const auto error = [&](const char* key, int64_t value) {
    const std::string path = changed(golden, {{fmt::format("qwen3moe.{}", key), value}}, "");
    const auto model = load_model(path);
    EXPECT_EQ(check_model(path).message(), model ? "" : model.error().message());
    return model ? std::string() : model.error().message();
  };
  EXPECT_EQ(error("expert_used_count", 5), "");
  EXPECT_NE(error("expert_used_count", 6).find("'qwen3moe.expert_used_count' 6 is above"),
            std::string::npos);
  EXPECT_NE(error("expert_count", 4).find("'blk.0.ffn_gate_inp.weight' has shape"),
            std::string::npos);
  EXPECT_NE(error("expert_feed_forward_length", 21)
                .find("'blk.0.ffn_up_exps.weight' has shape (5, 20, 16), expected (5, 21, 16)"),
            std::string::npos);
  EXPECT_NE(error("expert_count", 0).find("'blk.0.ffn_up.weight' is missing"), std::string::npos);
  EXPECT_EQ(error("expert_gating_func", 2), "");
  EXPECT_NE(error("expert_gating_func", 4).find("'qwen3moe.expert_gating_func' = 4"),
            std::string::npos);
}

// A page of it that cannot be read any more is noticed there.
TEST_F(LoadPacked, AModelKeepsItsPackedFile) {
  EXPECT_EQ(load_from(path_, {}, "")->packed_file, nullptr);
  EXPECT_NE(load()->packed_file, nullptr) << "written";
  EXPECT_NE(load()->packed_file, nullptr) << "found";
}

TEST_F(LoadPacked, TheHalvesOfAKeySayDifferentThings) {
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  const PackedKey key = packed_key(**file, default_device()->packing());
  EXPECT_NE(key.words[0], key.words[1]);
}

TEST_F(LoadPacked, PlacesOfRowsTellOrderAndOrigin) {
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file.has_value());
  const std::byte* const at = (*file)->tensors()[0].bytes.data();
  const std::vector<const std::byte*> rows = {at, at + 64, at + 128},
                                      other = {at, at + 128, at + 64};
  EXPECT_EQ(*hash_of_places(**file, rows), *hash_of_places(**file, rows));
  EXPECT_NE(*hash_of_places(**file, rows), *hash_of_places(**file, other));
  const std::byte elsewhere{};
  EXPECT_FALSE(hash_of_places(**file, std::vector<const std::byte*>{at, &elsewhere}).has_value());
  EXPECT_FALSE(hash_of_places(**file, std::vector<const std::byte*>{&elsewhere}).has_value());
}

}  // namespace
}  // namespace ruv
