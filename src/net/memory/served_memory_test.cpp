// What a server keeps with a key is encrypted, uploaded files and all stores, and gets another key
// as a whole.
#include "net/memory/served_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "memory/chunks.h"

namespace ruv::served_memory_test {
namespace {

namespace fs = std::filesystem;

constexpr SealKey kMine = {1}, kOther = {2};

class ServedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_served_memory_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return folder_ / name; }
  ServedMemoryOptions options(std::optional<SealKey> key) const {
    ServedMemoryOptions options;
    options.folder = folder_;
    options.shelf.key = key;
    return options;
  }
  Code code_with(std::optional<SealKey> key) const {
    const auto memory = ServedMemory::open(options(key));
    return memory ? Code::ok : memory.error().code();
  }
  void fill(ServedMemory& memory) {
    CatalogFile file;
    file.id = "file-1";
    file.name = "crew.md";
    EXPECT_TRUE(memory.catalog().add_file(1, file, "The cook is called Quillfeather.", 1000));
    for (const char* const tenant : {"", "ann"}) {
      const auto store = *memory.shelf().make(*memory.tenant_folder(tenant), kind_);
      const std::string text = "Captain Marrow sails on Tuesday.";
      const auto chunks = *chunks_of(text);
      const std::vector<float> vector = {1, 2};
      WorkerPool pool(1);
      EXPECT_TRUE(store->add({"ship.md", text, chunks, vector}, pool));
    }
  }
  void expect_all(ServedMemory& memory) {
    EXPECT_EQ(*memory.catalog().content(1, "file-1"), "The cook is called Quillfeather.");
    for (const char* const tenant : {"", "ann"}) {
      const auto store = *memory.shelf().find(*memory.tenant_folder(tenant));
      ASSERT_NE(store, nullptr);
      EXPECT_EQ(store->search({.words = "tuesday"})->size(), 1U);
    }
  }
  void expect_nothing_in_clear() const {
    int n_files = 0;
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (!file.is_regular_file()) continue;
      ++n_files;
      const std::string bytes = *read_text_file(file.path());
      for (const std::string_view word :
           {"Quillfeather", "crew", "Marrow", "tuesday", "ship", "SQLite", "a model"}) {
        EXPECT_EQ(bytes.find(word), bytes.npos) << file.path() << ": " << word;
      }
    }
    EXPECT_GT(n_files, 8);
  }

  fs::path folder_;
  const MemoryStore::Kind kind_{"a model", 2, {1, 0}};
};

TEST_F(ServedMemoryTest, EncryptsFilesAndStores) {
  {
    const auto memory = *ServedMemory::open(options(kMine));
    fill(*memory);
    expect_nothing_in_clear();
    expect_all(*memory);
  }
  expect_nothing_in_clear();
  EXPECT_EQ(code_with(std::nullopt), Code::invalid);
  EXPECT_EQ(code_with(kOther), Code::invalid);
  expect_all(**ServedMemory::open(options(kMine)));
  EXPECT_NE(*read_text_file(path("memory/store.key")), *read_text_file(path("memory-1/store.key")));
}

TEST_F(ServedMemoryTest, StaysPlainWithoutAKey) {
  fill(**ServedMemory::open(options(std::nullopt)));
  EXPECT_FALSE(ServedMemory::has_key(folder_));
  EXPECT_EQ(code_with(kMine), Code::invalid);
  EXPECT_EQ(ServedMemory::change_key(folder_, kMine, kOther).code(), Code::not_found);
  expect_all(**ServedMemory::open(options(std::nullopt)));
}

TEST_F(ServedMemoryTest, ChangesAllKeysAsAWhole) {
  fill(**ServedMemory::open(options(kMine)));
  EXPECT_EQ(ServedMemory::change_key(folder_, {9}, kOther).code(), Code::invalid);
  // As an interrupted call leaves it.
  ASSERT_TRUE(MemoryStore::change_key(path("memory-1"), kMine, kOther).ok());
  ASSERT_TRUE(ServedMemory::change_key(folder_, kMine, kOther).ok());
  EXPECT_TRUE(ServedMemory::change_key(folder_, kMine, kOther).ok());
  EXPECT_EQ(code_with(kMine), Code::invalid);
  expect_all(**ServedMemory::open(options(kOther)));
}

}  // namespace
}  // namespace ruv::served_memory_test
