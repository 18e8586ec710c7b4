// Calibration of small models: sums against counts that are known, experts apart from each other,
// runs that continue, and noise that moves answers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "calibrate/measure_sensitivity.h"

namespace ruv::calibrate_test {
namespace {

using Chunks = std::vector<std::vector<Token>>;

std::string golden_model(std::string_view name) {
  return std::string(RUV_SOURCE_DIR "/tests/golden/models/") + std::string(name);
}

WatchedModel watched_model(std::string_view name) {
  auto watched = load_watched(golden_model(name), {});
  EXPECT_TRUE(watched.has_value()) << (watched ? "" : watched.error().message());
  return std::move(*watched);
}

// n chunks of eight tokens below 60.
Chunks some_chunks(int n) {
  Chunks chunks;
  for (int i = 0; i < n; ++i) {
    std::vector<Token>& chunk = chunks.emplace_back();
    for (int t = 0; t < 8; ++t) chunk.push_back((7 * i + 5 * t * t + 3) % 60);
  }
  return chunks;
}

InputSquares::OfFile measured(const WatchedModel& watched, const Chunks& chunks,
                              MeasureOptions options = {}) {
  options.chunk_size = 8;
  options.dataset = "made";
  auto result = measure_importance(watched, chunks, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return std::move(*result);
}

TEST(Calibrate, EveryMatrixIsCountedOncePerToken) {
  const WatchedModel watched = watched_model("llama2");
  const auto result = measured(watched, some_chunks(3));
  EXPECT_TRUE(result.missing.empty() ||
              result.missing == std::vector<std::string>{"token_embd.weight"});
  ASSERT_GE(result.importance.entries.size(), 7U);
  for (const auto& [name, entry] : result.importance.entries) {
    EXPECT_EQ(entry.counts, std::vector<float>{24.0F}) << name;
    double sum = 0;
    for (const float x : entry.sums) sum += static_cast<double>(x);
    EXPECT_GT(sum, 0) << name;
  }
  const auto& entries = result.importance.entries;
  EXPECT_EQ(entries.at("blk.0.attn_q.weight").sums, entries.at("blk.0.attn_v.weight").sums);
  EXPECT_NE(entries.at("blk.0.attn_q.weight").sums, entries.at("blk.1.attn_q.weight").sums);
  EXPECT_EQ(result.importance.n_chunks, 3);
  EXPECT_EQ(result.importance.chunk_size, 8);
}

TEST(Calibrate, ExpertsAreCountedByTheirRows) {
  const WatchedModel watched = watched_model("mixtral");
  const auto result = measured(watched, some_chunks(3));
  for (const char* role : {"up", "gate", "down"}) {
    const auto found =
        result.importance.entries.find(fmt::format("blk.1.ffn_{}_exps.weight", role));
    ASSERT_NE(found, result.importance.entries.end()) << role;
    const ImportanceEntry& entry = found->second;
    ASSERT_EQ(entry.counts.size(), 5U) << role;
    float sum = 0;
    for (const float n : entry.counts) sum += n;
    EXPECT_EQ(sum, 3 * 24.0F) << role;  // three experts for each token
    const size_t n_columns = entry.sums.size() / 5;
    for (size_t e = 0; e < 5; ++e) {
      float squares = 0;
      for (size_t c = 0; c < n_columns; ++c) squares += entry.sums[e * n_columns + c];
      EXPECT_EQ(squares > 0, entry.counts[e] > 0) << role << " of " << e;
    }
  }
}

// A step of one token takes another way through the experts than one of many.
TEST(Calibrate, StepsOfOneTokenCountTheSame) {
  const WatchedModel together = watched_model("mixtral");
  const WatchedModel alone = watched_model("mixtral");
  const auto result = measured(together, {{5, 9}});
  const auto single = measured(alone, {{5}});
  const ImportanceEntry& down = single.importance.entries.at("blk.0.ffn_down_exps.weight");
  float sum = 0;
  for (const float n : down.counts) sum += n;
  EXPECT_EQ(sum, 3.0F);
  for (size_t i = 0; i < down.sums.size(); ++i) {
    const float both = result.importance.entries.at("blk.0.ffn_down_exps.weight").sums[i];
    EXPECT_LE(down.sums[i], both * 1.001F + 1e-6F) << i;
  }
}

TEST(Calibrate, ThreadsDoNotChangeTheSums) {
  const WatchedModel one = watched_model("mixtral");
  const WatchedModel three = watched_model("mixtral");
  MeasureOptions options;
  options.n_threads = 1;
  const auto a = measured(one, some_chunks(4), options);
  options.n_threads = 3;
  const auto b = measured(three, some_chunks(4), options);
  for (const auto& [name, entry] : a.importance.entries) {
    EXPECT_EQ(entry.sums, b.importance.entries.at(name).sums) << name;
  }
}

class StateFile {
 public:
  StateFile() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ruv_calibrate_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  ~StateFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/sums"; }

 private:
  std::string folder_;
};

TEST(Calibrate, AStoppedRunContinues) {
  const StateFile state;
  const Chunks chunks = some_chunks(2 * static_cast<int>(kSavedChunks) + 3);
  const WatchedModel whole = watched_model("llama2");
  const auto expected = measured(whole, chunks);
  MeasureOptions options;
  options.state_path = state.path();
  options.chunk_size = 8;
  options.dataset = "made";
  {
    const WatchedModel stopped = watched_model("llama2");
    options.on_chunk = [](int64_t n) { return n < kSavedChunks + 5; };
    EXPECT_EQ(measure_importance(stopped, chunks, options).error().code(), Code::cancelled);
  }
  int64_t first = -1;
  options.on_chunk = [&](int64_t n) {
    if (first < 0) first = n;
    return true;
  };
  const WatchedModel continued = watched_model("llama2");
  const auto result = measured(continued, chunks, options);
  EXPECT_EQ(first, kSavedChunks);
  for (const auto& [name, entry] : expected.importance.entries) {
    EXPECT_EQ(entry.sums, result.importance.entries.at(name).sums) << name;
    EXPECT_EQ(entry.counts, result.importance.entries.at(name).counts) << name;
  }
  // Other texts do not continue it.
  const WatchedModel other = watched_model("llama2");
  const auto refused = measure_importance(other, some_chunks(40), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find(state.path()), std::string::npos);
}

TEST(Calibrate, NoiseMovesAnswers) {
  const WatchedModel watched = watched_model("llama2");
  const Chunks chunks = some_chunks(3);
  Importance importance = measured(watched, chunks).importance;
  ASSERT_TRUE(measure_sensitivity(watched, chunks, {}, importance).ok());
  for (const auto& [name, entry] : importance.entries) {
    EXPECT_GT(entry.sensitivity, 0.0F) << name;
    EXPECT_LT(entry.sensitivity, 1000.0F) << name;
  }
  // Measuring leaves no noise.
  Importance again = importance;
  ASSERT_TRUE(measure_sensitivity(watched, chunks, {.n_threads = 1}, again).ok());
  for (const auto& [name, entry] : importance.entries) {
    EXPECT_EQ(entry.sensitivity, again.entries.at(name).sensitivity) << name;
  }
}

TEST(Calibrate, NoChunksAreRefused) {
  const WatchedModel watched = watched_model("llama2");
  EXPECT_EQ(measure_importance(watched, {}, {}).error().code(), Code::invalid);
  const Chunks beyond{{1, 100000}};
  EXPECT_EQ(measure_importance(watched, beyond, {}).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv::calibrate_test
