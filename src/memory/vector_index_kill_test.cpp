// A process that changes an index and is killed at any moment: all that it had acknowledged is
// there afterwards, and nothing else but the change that was being made.
//
// RUV_KILLS sets how many processes are killed; a few by default.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/rng.h"
#include "base/test_kill.h"
#include "memory/vector_index.h"

namespace ruv::vector_index_kill_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 8;

VectorIndexOptions options_in(const std::string& folder) {
  VectorIndexOptions options;
  options.folder = folder;
  options.graph = {.n_dims = kDims, .m = 4, .n_looked_at = 16};
  return options;
}

// Change `step` is the same in all processes: some ids come, or some of those of long ago go.
bool adds(int64_t step) { return step % 4 != 3; }
std::vector<int64_t> ids_of(int64_t step) {
  const int64_t first = (adds(step) ? step : step - 3) * 100;
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 17 + step % 11; ++i) ids.push_back(first + i);
  return ids;
}
std::vector<float> vectors_of(int64_t step) {
  Rng rng(static_cast<uint64_t>(step) + 1);
  std::vector<float> numbers;
  for (size_t i = 0; i < ids_of(step).size() * kDims; ++i) {
    numbers.push_back(static_cast<float>(rng.uniform()));
  }
  return numbers;
}
Status change(VectorIndex& index, int64_t step, WorkerPool& pool) {
  if (adds(step)) return index.add(ids_of(step), vectors_of(step), pool);
  TRY(index.remove(ids_of(step), pool));
  return step % 32 == 31 ? index.checkpoint() : Status();
}

// The ids after the first n changes.
std::set<int64_t> ids_after(int64_t n) {
  std::set<int64_t> ids;
  for (int64_t step = 0; step < n; ++step) {
    for (const int64_t id : ids_of(step)) {
      if (adds(step)) ids.insert(id);
      if (!adds(step)) ids.erase(id);
    }
  }
  return ids;
}
bool has_exactly(const VectorIndex& index, const std::set<int64_t>& ids) {
  if (index.size() != std::ssize(ids)) return false;
  return std::ranges::all_of(ids, [&](int64_t id) { return index.has(id); });
}

// Makes changes from `step` on, until it is killed.
int change_on(const std::string& folder, int64_t step, int acknowledged) {
  WorkerPool pool(1);
  auto index = VectorIndex::open(options_in(folder), pool);
  if (!index) return 1;
  for (;; ++step) {
    if (!change(**index, step, pool).ok()) return 2;
    acknowledge(acknowledged);
  }
}

// Kills such a process after some microseconds; returns how many changes it acknowledged.
int64_t n_acknowledged(const std::string& folder, int64_t step, uint32_t n_us) {
  return n_steps_until_killed(
      n_us, [&](int acknowledged) { return change_on(folder, step, acknowledged); });
}

TEST(VectorIndexKill, LosesNothingThatWasAcknowledged) {
  const int n_kills = n_kills_wanted();
  const fs::path folder =
      fs::temp_directory_path() / ("ruv_index_kill_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directory(folder);
  WorkerPool pool(1);
  Rng rng(9);
  int64_t step = 0;
  for (int kill = 0; kill < n_kills; ++kill) {
    step += n_acknowledged(folder / "index", step, static_cast<uint32_t>(rng.below(20000)));
    auto index = VectorIndex::open(options_in(folder / "index"), pool);
    ASSERT_TRUE(index) << index.error().message();
    // A change may have been made and not been acknowledged yet.
    if (!has_exactly(**index, ids_after(step))) ++step;
    ASSERT_TRUE(has_exactly(**index, ids_after(step))) << kill;
    HnswSearch memory;
    const auto found = (*index)->search(std::vector<float>(kDims, 0.5F), {.k = 5}, memory);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), 5U);
  }
  EXPECT_GE(step, n_kills);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ruv::vector_index_kill_test
