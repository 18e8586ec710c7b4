// Files of a model that are cut while an engine uses them: requests end with an error that names
// the file, nothing wrong is kept, and the process goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "base/folder.h"
#include "base/mapped_ranges.h"
#include "ruv/engine.h"
#include "ruv/logits.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIntactModel = RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf";

class DamagedFile : public testing::Test {
 protected:
  void SetUp() override {
    guard_mapped_files();
    fs::create_directories(root_);
    fs::copy_file(kIntactModel, path_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::shared_ptr<const Model> load(const std::string& path, const std::string& packed = {}) {
    LoadOptions options;
    options.n_threads = 1;
    options.packed_cache_dir = packed;
    options.packed_cache_min_bytes = 0;
    options.packed_cache_reserve_bytes = 0;
    auto model = load_model(path, options);
    EXPECT_TRUE(model.has_value()) << model.error().message();
    return *model;
  }
  std::unique_ptr<Engine> engine(const std::shared_ptr<const Model>& model) {
    EngineOptions options{.n_threads = 2, .n_ctx = 512, .max_sequences = 2};
    options.kv.disk_folder = root_ + "/pages";
    options.kv.note = [this](std::string_view text) { notes_.emplace_back(text); };
    return std::move(*Engine::create(model, options));
  }
  static std::vector<Token> long_prompt(const Model& model) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "The river " + std::to_string(i) + " runs to the sea. ";
    return tokenize(model, text).value();
  }
  static GenerateParams greedy() {
    GenerateParams params;
    params.temperature = 0;
    params.max_tokens = 12;
    params.ignore_eos = true;
    return params;
  }

  const std::string root_ = testing::TempDir() + "ruv_damaged_" + std::to_string(getpid());
  const std::string path_ = root_ + "/cut.gguf";
  std::vector<std::string> notes_;
};

TEST_F(DamagedFile, EndsWhatIsAskedAndAllThatFollows) {
  const auto intact = load(kIntactModel);
  const std::vector<Token> prompt = long_prompt(*intact);
  const std::vector<Token> short_prompt(prompt.begin(), prompt.begin() + 20);
  {
    const auto engine = DamagedFile::engine(load(path_));
    ASSERT_TRUE(generate(*engine, short_prompt, greedy()).has_value());
    EXPECT_TRUE(engine->condition().ok());
    fs::resize_file(path_, 100'000);
    std::vector<std::future<Result<Answer>>> answers;
    for (int i = 0; i < 3; ++i) {
      answers.push_back(
          std::async(std::launch::async, [&] { return generate(*engine, prompt, greedy()); }));
    }
    for (auto& future : answers) {
      const Result<Answer> answer = future.get();
      ASSERT_FALSE(answer.has_value()) << "computed from zeros";
      EXPECT_EQ(answer.error().code(), Code::internal);
      EXPECT_EQ(answer.error().message().find("cut.gguf: "), 0U) << answer.error().message();
    }
    EXPECT_EQ(generate(*engine, short_prompt, greedy()).error().code(), Code::internal);
    EXPECT_FALSE(engine->condition().ok());
    // The load is published after the step that ended the last of them.
    const auto n_left = [&] { return engine->load().n_running + engine->load().n_waiting; };
    for (int i = 0; i < 1000 && n_left() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(n_left(), 0);
  }
  EXPECT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_.at(0).find(path_), 0U) << notes_.at(0);
  // What went to the disk meanwhile is right: the pages of one model are those of its copies.
  const auto again = DamagedFile::engine(intact);
  const auto plain = Engine::create(intact, {.n_threads = 1, .n_ctx = 512});
  for (const auto& ids : {prompt, short_prompt}) {
    EXPECT_EQ(generate(*again, ids, greedy())->ids, generate(**plain, ids, greedy())->ids);
  }
}

TEST_F(DamagedFile, PackedWeightsToo) {
  const std::string folder = root_ + "/packed";
  load(path_, folder);
  const auto model = load(path_, folder);
  ASSERT_TRUE(model_info(*model).from_packed_file);
  const std::string packed = files_in(folder).at(0).path;
  std::vector<Token> ids{1, 2, 3};
  const auto ignore = [](int64_t, std::span<const float>) {};
  ASSERT_TRUE(compute_logits(*model, ids, {.n_threads = 1}, ignore).ok());
  fs::resize_file(packed, 4096);
  const Status status = compute_logits(*model, ids, {.n_threads = 1}, ignore);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_EQ(status.message().find(packed), 0U) << status.message();
  const auto engine = Engine::create(model, {.n_threads = 1, .n_ctx = 64});
  EXPECT_EQ(generate(**engine, ids, greedy()).error().code(), Code::internal);
}

TEST_F(DamagedFile, WhileItIsLoaded) {
  for (const char* folder : {"", "/packed"}) {
    SCOPED_TRACE(folder);
    fs::copy_file(kIntactModel, path_, fs::copy_options::overwrite_existing);
    LoadOptions options;
    options.n_threads = 1;
    options.packed_cache_min_bytes = 0;
    options.packed_cache_reserve_bytes = 0;
    options.packed_cache_dir = *folder == '\0' ? "" : root_ + folder;
    options.progress = [&](LoadStage, double) { fs::resize_file(path_, 100'000); };
    const auto model = load_model(path_, options);
    ASSERT_FALSE(model.has_value());
    EXPECT_EQ(model.error().code(), Code::internal);
    EXPECT_EQ(model.error().message().find(path_), 0U) << model.error().message();
    EXPECT_TRUE(files_in(root_ + "/packed").empty()) << "zeros were kept";
  }
}

}  // namespace
}  // namespace ruv
