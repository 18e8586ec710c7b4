// A process that changes and packs vectors and is killed at any moment: all that it had
// acknowledged is there afterwards, whether the packing was done or not.
//
// RUV_KILLS sets how many processes are killed; a few by default.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/rng.h"
#include "base/test_kill.h"
#include "memory/disk_vectors.h"

namespace ruv::disk_vectors_kill_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPackedDims = 8, kIdsOfStep = 20;

VectorIndexOptions vectors_in(const std::string& folder) {
  VectorIndexOptions options;
  options.folder = folder;
  options.graph = {.n_dims = kPackedDims, .m = 4, .n_looked_at = 16};
  return options;
}

// Of four steps two add, the third packs, and the fourth removes what the first added.
std::vector<int64_t> ids_of_step(int64_t step) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < kIdsOfStep; ++i) ids.push_back(step * kIdsOfStep + i);
  return ids;
}

Status take_step(DiskVectors& vectors, int64_t step, WorkerPool& pool) {
  if (step % 4 == 2) {
    TRY(vectors.pack(pool));
    return {};
  }
  if (step % 4 == 3) {
    TRY(vectors.remove(ids_of_step(step - 3), pool));
    return {};
  }
  Rng rng(static_cast<uint64_t>(step) + 1);
  std::vector<float> numbers;
  for (int64_t i = 0; i < kIdsOfStep * kPackedDims; ++i) {
    numbers.push_back(static_cast<float>(rng.uniform()));
  }
  return vectors.add(ids_of_step(step), numbers, pool);
}

std::set<int64_t> ids_after_steps(int64_t n) {
  std::set<int64_t> ids;
  for (int64_t step = 0; step < n; ++step) {
    if (step % 4 < 2) {
      for (const int64_t id : ids_of_step(step)) ids.insert(id);
    } else if (step % 4 == 3) {
      for (const int64_t id : ids_of_step(step - 3)) ids.erase(id);
    }
  }
  return ids;
}

int step_on(const std::string& folder, int64_t step, int acknowledged) {
  WorkerPool pool(1);
  auto vectors = DiskVectors::open(vectors_in(folder), pool);
  if (!vectors) return 1;
  for (;; ++step) {
    if (!take_step(**vectors, step, pool).ok()) return 2;
    acknowledge(acknowledged);
  }
}

TEST(DiskVectorsKill, LosesNothingThatWasAcknowledged) {
  const int n_kills = n_kills_wanted();
  const fs::path folder =
      fs::temp_directory_path() / ("ruv_disk_kill_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directory(folder);
  WorkerPool pool(1);
  Rng rng(11);
  int64_t step = 0, n_packed = 0;
  for (int kill = 0; kill < n_kills; ++kill) {
    const auto n_us = static_cast<uint32_t>(rng.below(30'000));
    step += n_steps_until_killed(
        n_us, [&](int acknowledged) { return step_on(folder / "vectors", step, acknowledged); });
    auto vectors = DiskVectors::open(vectors_in(folder / "vectors"), pool);
    ASSERT_TRUE(vectors) << vectors.error().message();
    const auto has = [&](const std::set<int64_t>& wanted) {
      const std::vector<int64_t> found = (*vectors)->ids();
      return std::set<int64_t>(found.begin(), found.end()) == wanted &&
             std::ssize(found) == std::ssize(wanted);
    };
    // A step may have been made and not been acknowledged yet.
    if (!has(ids_after_steps(step))) ++step;
    ASSERT_TRUE(has(ids_after_steps(step))) << kill;
    DiskVectors::Search memory;
    const auto found = (*vectors)->search(std::vector<float>(kPackedDims, 0.5F), {.k = 5}, memory);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->size(), 5U);
    n_packed += (*vectors)->n_packed() > 0 ? 1 : 0;
  }
  EXPECT_GE(step, n_kills);
  EXPECT_GT(n_packed, 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ruv::disk_vectors_kill_test
