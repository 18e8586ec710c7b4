// An encrypted store finds what a plain one finds; nothing that was added is in clear in any of its
// files, whatever became of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/rng.h"
#include "memory/store.h"

namespace ruv::sealed_store_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 4;
constexpr SealKey kMine = {1, 2}, kOther = {3, 4};

class SealedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_sealed_store_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  MemoryStoreOptions options(const std::string& name, std::optional<SealKey> key) const {
    MemoryStoreOptions options;
    options.folder = folder_ / name;
    options.embedder = "drawn numbers";
    options.n_dims = kDims;
    options.key = key;
    return options;
  }
  std::unique_ptr<MemoryStore> open(const std::string& name, std::optional<SealKey> key) {
    auto store = MemoryStore::open(options(name, key), pool_);
    EXPECT_TRUE(store) << store.error().message();
    return store ? std::move(*store) : nullptr;
  }
  Code code_with(const std::string& name, std::optional<SealKey> key) {
    const auto store = MemoryStore::open(options(name, key), pool_);
    const auto kind = MemoryStore::kind_of(folder_ / name, key);
    EXPECT_EQ(store.has_value(), kind.has_value());
    return store ? Code::ok : store.error().code();
  }
  // Documents that come, are replaced and go.
  void fill(MemoryStore& store) {
    Rng rng(4);
    for (int64_t i = 0; i < 40; ++i) {
      const std::string text = "The cook Quillfeather bakes loaf" + std::to_string(i % 17);
      const TextChunk chunk{0, std::ssize(text), "Crew", 0};
      std::vector<float> vector;
      for (int64_t d = 0; d < kDims; ++d) vector.push_back(static_cast<float>(rng.uniform()));
      const std::string name = "ship" + std::to_string(i % 25) + ".md";
      ASSERT_TRUE(store.add({name, text, {&chunk, 1}, vector, {{"captain", "Marrow"}}}, pool_));
      if (i % 5 != 4) continue;
      ASSERT_TRUE(store.remove(name, pool_));
    }
  }
  // What searches by words and vectors find, with scores and places.
  static std::string answers(const MemoryStore& store) {
    std::string all;
    Rng rng(9);
    for (int i = 0; i < 17; ++i) {
      std::vector<float> vector;
      for (int64_t d = 0; d < kDims; ++d) vector.push_back(static_cast<float>(rng.uniform()));
      const std::string words = "loaf" + std::to_string(i) + " cook";
      const auto found =
          *store.search({.vector = vector, .words = words, .k = 6, .n_related = 2, .now_s = 7});
      for (const FoundChunk& one : found) {
        Json line{{"id", one.id},       {"text", one.text},         {"document", one.document},
                  {"score", one.score}, {"distance", one.distance}, {"related", one.related}};
        all += line.dump() + one.metadata.dump() + "\n";
      }
    }
    return all;
  }
  void expect_nothing_in_clear() const {
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (!file.is_regular_file()) continue;
      const std::string bytes = *read_text_file(file.path());
      for (const std::string_view word :
           {"Quillfeather", "quillfeather", "loaf", "Marrow", "captain", "Crew", "ship", "drawn",
            "SQLite", "memory store", "cosine"}) {
        EXPECT_EQ(bytes.find(word), bytes.npos) << file.path() << ": " << word;
      }
    }
  }

  fs::path folder_;
  WorkerPool pool_{1};
};

TEST_F(SealedStoreTest, FindsWhatAPlainOneFinds) {
  std::string wanted;
  {
    const auto plain = open("plain", std::nullopt);
    fill(*plain);
    wanted = answers(*plain);
  }
  fs::remove_all(folder_ / "plain");
  auto sealed = open("sealed", kMine);
  fill(*sealed);
  expect_nothing_in_clear();  // with its log
  EXPECT_EQ(answers(*sealed), wanted);
  ASSERT_TRUE(sealed->backup(folder_ / "copy").ok());
  sealed.reset();
  expect_nothing_in_clear();
  for (const char* const name : {"sealed", "copy"}) {
    EXPECT_EQ(code_with(name, std::nullopt), Code::invalid);
    EXPECT_EQ(code_with(name, kOther), Code::invalid);
    const auto opened = open(name, kMine);
    EXPECT_EQ(answers(*opened), wanted);
  }
  expect_nothing_in_clear();
}

TEST_F(SealedStoreTest, KeepsToBeingPlainOrEncrypted) {
  fill(*open("plain", std::nullopt));
  EXPECT_EQ(code_with("plain", kMine), Code::invalid);
  EXPECT_FALSE(file_exists(folder_ / "plain" / "store.key"));
  EXPECT_EQ(code_with("plain", std::nullopt), Code::ok);
  // Without its key's file an encrypted store is nothing.
  fill(*open("sealed", kMine));
  fs::rename(folder_ / "sealed" / "store.key", folder_ / "away");
  EXPECT_EQ(code_with("sealed", std::nullopt), Code::corrupt);
  EXPECT_EQ(code_with("sealed", kMine), Code::invalid);
}

TEST_F(SealedStoreTest, ChangesItsKeyWhileItIsOpen) {
  auto store = open("sealed", kMine);
  fill(*store);
  const std::string wanted = answers(*store);
  EXPECT_EQ(MemoryStore::change_key(folder_ / "sealed", kOther, {9}).code(), Code::invalid);
  ASSERT_TRUE(MemoryStore::change_key(folder_ / "sealed", kMine, kOther).ok());
  EXPECT_EQ(answers(*store), wanted);
  store.reset();
  EXPECT_EQ(code_with("sealed", kMine), Code::invalid);
  EXPECT_EQ(answers(*open("sealed", kOther)), wanted);
}

// Files of another store of the same user are no part of this one.
TEST_F(SealedStoreTest, TakesNoFilesOfAnotherStore) {
  fill(*open("a", kMine));
  fill(*open("b", kMine));
  fs::copy_file(folder_ / "b" / "store.db", folder_ / "a" / "store.db",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(code_with("a", kMine), Code::corrupt);
}

}  // namespace
}  // namespace ruv::sealed_store_test
