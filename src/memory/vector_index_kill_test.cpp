// A process that changes an index and is killed at any moment: all that it had acknowledged is
// there afterwards, and nothing else but the change that was being made.
//
// RUV_KILLS sets how many processes are killed; a few by default.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/rng.h"
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

// Makes changes from `step` on and writes a byte for each to `acknowledged`, until it is killed.
[[noreturn]] void change_on(const std::string& folder, int64_t step, int acknowledged) {
  WorkerPool pool(1);
  auto index = VectorIndex::open(options_in(folder), pool);
  if (!index) ::_exit(1);
  for (;; ++step) {
    if (!change(**index, step, pool).ok()) ::_exit(2);
    if (::write(acknowledged, "x", 1) != 1) ::_exit(3);
  }
}

// Kills such a process after some microseconds; returns how many changes it acknowledged.
int64_t n_acknowledged(const std::string& folder, int64_t step, uint32_t n_us) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) change_on(folder, step, ends[1]);
  ::close(ends[1]);
  // The first change may take long on a busy machine, and is waited for.
  pollfd first{ends[0], POLLIN, 0};
  ::poll(&first, 1, 60'000);
  ::usleep(n_us);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
  int64_t n = 0;
  for (char byte; ::read(ends[0], &byte, 1) == 1;) ++n;
  ::close(ends[0]);
  return n;
}

TEST(VectorIndexKill, LosesNothingThatWasAcknowledged) {
  const char* const wanted = std::getenv("RUV_KILLS");
  const int n_kills = wanted != nullptr ? std::atoi(wanted) : 12;
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
