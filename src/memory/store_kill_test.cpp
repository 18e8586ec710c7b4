// A process that changes a store and is killed at any moment: the documents that it had
// acknowledged are there, each as a whole, and edges are between chunks that are there.
//
// RUV_KILLS sets how many processes are killed; a few by default.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "base/test_kill.h"
#include "memory/store.h"

namespace ruv::store_kill_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 4;

MemoryStoreOptions options_in(const std::string& folder, std::optional<SealKey> key) {
  MemoryStoreOptions options;
  options.key = key;
  options.folder = folder;
  options.embedder = "four numbers";
  options.n_dims = kDims;
  return options;
}

// Chunks of the document that step `step` adds.
int64_t n_chunks_of(int64_t step) { return 1 + step % 5; }
std::string name_of(int64_t step) { return "document " + std::to_string(step % 12); }

// Step `step` is the same in all processes: a document is put in the place of another or removed,
// or a search strengthens edges.
Status change_store(MemoryStore& store, int64_t step, WorkerPool& pool) {
  if (step % 7 == 6) {
    TRY(store.remove(name_of(step - 3), pool));
    return {};
  }
  if (step % 7 == 3) {
    TRY(store.search({.words = "part0 part1", .k = 6, .remembers = true, .now_s = 1000 + step}));
    return {};
  }
  Rng rng(static_cast<uint64_t>(step));
  std::string text;
  std::vector<TextChunk> chunks;
  std::vector<float> vectors;
  for (int64_t i = 0; i < n_chunks_of(step); ++i) {
    const auto first = std::ssize(text);
    text += "part" + std::to_string(i) + " of step" + std::to_string(step) + " ";
    chunks.push_back({first, std::ssize(text), "", 0});
    for (int64_t j = 0; j < kDims; ++j) vectors.push_back(static_cast<float>(rng.uniform()) + 0.1F);
  }
  TRY(store.add({name_of(step), text, chunks, vectors, {{"step", step}}}, pool));
  return {};
}

// Makes steps from `step` on, until it is killed.
int change_until_killed(const MemoryStoreOptions& options, int64_t step, int acknowledged) {
  WorkerPool pool(1);
  auto store = MemoryStore::open(options, pool);
  if (!store) return 1;
  for (;; ++step) {
    if (!change_store(**store, step, pool).ok()) return 2;
    acknowledge(acknowledged);
  }
}

// Kills such a process after some microseconds; returns how many steps it acknowledged.
int64_t n_steps_of_killed(const MemoryStoreOptions& options, int64_t step, uint32_t n_us) {
  return n_steps_until_killed(
      n_us, [&](int acknowledged) { return change_until_killed(options, step, acknowledged); });
}

// The step that each document is of, after the first n steps; -1: it is not there.
std::vector<int64_t> documents_after(int64_t n) {
  std::vector<int64_t> steps(12, -1);
  for (int64_t step = 0; step < n; ++step) {
    if (step % 7 == 6) steps[static_cast<size_t>((step - 3) % 12)] = -1;
    if (step % 7 != 6 && step % 7 != 3) steps[static_cast<size_t>(step % 12)] = step;
  }
  return steps;
}

bool has_documents(const MemoryStore& store, const std::vector<int64_t>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto found = *store.find(name_of(static_cast<int64_t>(i)));
    if (found.has_value() != (steps[i] >= 0)) return false;
    if (!found) continue;
    if (found->metadata != Json{{"step", steps[i]}}) return false;
    if (found->n_chunks != n_chunks_of(steps[i])) return false;
  }
  return true;
}

// Closes the store, as an encrypted database has one connection at a time.
void expect_sound(std::unique_ptr<MemoryStore> store, const MemoryStoreOptions& options) {
  const auto stats = *store->stats();
  EXPECT_EQ(stats.n_vectors, stats.n_chunks);
  store.reset();
  const auto keys = *open_store_keys(options.folder + "/store.key", options.key, true);
  const Database database = *Database::open(options.folder + "/store.db", false, keys);
  EXPECT_EQ(*database.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  EXPECT_EQ(*database.number("SELECT count(*) FROM pragma_integrity_check WHERE "
                             "integrity_check <> 'ok'"),
            0);
  // Each chunk but a document's last has its next one.
  EXPECT_EQ(*database.number("SELECT count(*) FROM edges WHERE kind = 1"),
            stats.n_chunks - stats.n_documents);
  EXPECT_EQ(*database.number("SELECT count(*) FROM edges JOIN chunks AS a ON a.id = source JOIN "
                             "chunks AS b ON b.id = target WHERE kind = 1 AND a.document <> "
                             "b.document"),
            0);
}

// No file has a word of a document.
void expect_no_words(const std::string& folder) {
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    const std::string bytes = *read_text_file(file.path());
    for (const std::string_view word : {"part0", "of step", "document", "SQLite"}) {
      EXPECT_EQ(bytes.find(word), bytes.npos) << file.path() << ": " << word;
    }
  }
}

class StoreKill : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PlainAndEncrypted, StoreKill, ::testing::Bool());

TEST_P(StoreKill, LeavesWholeDocumentsAndTheirEdges) {
  const char* const wanted = std::getenv("RUV_KILLS");
  const int64_t n_kills = wanted != nullptr ? std::atoll(wanted) : 8;
  const std::string folder =
      fs::temp_directory_path() / ("ruv_store_kill_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  const MemoryStoreOptions options =
      options_in(folder, GetParam() ? std::optional(SealKey{7}) : std::nullopt);
  Rng rng(9);
  WorkerPool pool(1);
  int64_t step = 0;
  for (int64_t kill = 0; kill < n_kills; ++kill) {
    step += n_steps_of_killed(options, step, static_cast<uint32_t>(rng.below(60'000)));
    if (options.key) expect_no_words(folder);
    auto store = MemoryStore::open(options, pool);
    ASSERT_TRUE(store) << store.error().message();
    // The step that was being made may have been committed.
    const bool is_before = has_documents(**store, documents_after(step));
    const bool is_after = has_documents(**store, documents_after(step + 1));
    EXPECT_TRUE(is_before || is_after) << "after step " << step;
    if (!is_before && is_after) ++step;
    expect_sound(std::move(*store), options);
  }
  EXPECT_GE(step, n_kills);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ruv::store_kill_test
