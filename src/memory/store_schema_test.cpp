// Stores that older versions made are opened, and have afterwards what they had and what new ones
// have.
#include "memory/store_schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "memory/store.h"

namespace ruv::store_schema_test {
namespace {

namespace fs = std::filesystem;

// The tables of each version, as it made them; written down here, so that they do not follow a
// change of what is made today.
constexpr const char* kVersion1 = R"(
CREATE TABLE about(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL,
  added_s INTEGER NOT NULL, n_bytes INTEGER NOT NULL);
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents(id),
  first INTEGER NOT NULL, end INTEGER NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL,
  hash INTEGER NOT NULL);
CREATE INDEX chunks_of_document ON chunks(document);
CREATE VIRTUAL TABLE words USING fts5(
  headings, text, content = 'chunks', content_rowid = 'id',
  tokenize = 'unicode61 remove_diacritics 2');
PRAGMA application_id = 1920300653; PRAGMA user_version = 1;
)";
constexpr const char* kVersion1Rows = R"(
INSERT INTO about SELECT * FROM new.about;
INSERT INTO documents SELECT * FROM new.documents;
INSERT INTO chunks SELECT id, document, first, end, headings, text, hash FROM new.chunks;
INSERT INTO words(words) VALUES ('rebuild');
)";

class StoreSchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_schema_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    options_.folder = folder_ / "store";
    options_.embedder = "four numbers";
    options_.n_dims = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<MemoryStore> open() {
    auto opened = MemoryStore::open(options_, pool_);
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? std::move(*opened) : nullptr;
  }
  std::string path() const { return options_.folder + "/store.db"; }

  // Puts tables of an older version in the place of the store's, with the same rows.
  void make_older(const char* tables, const char* rows) {
    const std::string newer = folder_ / "new.db";
    fs::rename(path(), newer);
    fs::remove(path() + "-wal");
    Database older = *Database::open(path(), false);
    ASSERT_TRUE(older.run(tables).ok());
    ASSERT_TRUE(older.run("ATTACH '" + newer + "' AS new").ok());
    const Status copied = older.run(rows);
    ASSERT_TRUE(copied.ok()) << copied.message();
  }

  WorkerPool pool_{1};
  fs::path folder_;
  MemoryStoreOptions options_;
};

// One document of three chunks, and one of one.
void add_two(MemoryStore& store, WorkerPool& pool) {
  const TextChunk chunks[] = {{0, 8, "Sea"}, {8, 18, "Sea"}, {18, 27, "Land"}};
  const std::vector<float> vectors = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  ASSERT_TRUE(store.add({"a", "the ship the harbour the town", chunks, vectors}, pool));
  ASSERT_TRUE(store.add({"b",
                         "the ship",
                         std::span(chunks).first(1),
                         std::span(vectors).subspan(4, 4),
                         {{"year", 2020}}},
                        pool));
}

std::vector<std::string> found_in(const MemoryStore& store) {
  const std::vector<float> vector = {0.1F, 0.9F, 0.2F, 0};
  std::vector<std::string> texts;
  for (const MemoryQuery& query :
       {MemoryQuery{.vector = vector}, MemoryQuery{.words = "ship sea"}}) {
    const auto found = store.search(query);
    EXPECT_TRUE(found) << found.error().message();
    if (!found) continue;
    for (const FoundChunk& one : *found) texts.push_back(one.document + ": " + one.text);
  }
  return texts;
}

// Version 2 is version 1 with pages.
constexpr const char* kPages =
    "ALTER TABLE chunks ADD COLUMN page INTEGER NOT NULL DEFAULT 0; PRAGMA user_version = 2;"
    "UPDATE chunks SET page = (SELECT page FROM new.chunks AS c WHERE c.id = chunks.id)";

// Edges that opening adds: those between chunks that follow each other, and to near vectors.
TEST_F(StoreSchemaTest, AStoreOfVersion2GetsEdges) {
  {
    auto store = open();
    add_two(*store, pool_);
    const TextChunk chunks[] = {{0, 4, "", 7}};
    const std::vector<float> vector = {0.5F, 0.5F, 0, 0};
    ASSERT_TRUE(store->add({"c.pdf", "whale", chunks, vector}, pool_));
  }
  make_older(kVersion1, (std::string(kVersion1Rows) + kPages).c_str());
  for (int turn = 0; turn < 2; ++turn) {
    auto store = open();
    const Database database = *Database::open(path(), false);
    const auto count = [&](const std::string& where) {
      return *database.number("SELECT count(*) FROM edges WHERE " + where);
    };
    EXPECT_EQ(count("kind = 1"), 2);
    EXPECT_EQ(count("kind = 1 AND source + 1 = target AND target <= 3"), 2);
    // Chunks 2 and 4 have the same vector, 5 lies between 1 and 2.
    EXPECT_EQ(count("kind = 2 AND source = 2 AND target = 4 AND weight > 0.99"), 1);
    EXPECT_EQ(count("kind = 2 AND target = 5 AND weight > 0.7 AND weight < 0.71"), 3);
    EXPECT_EQ(*database.number("SELECT count(*) FROM about WHERE key IN ('link_to', 'linked')"), 0);
    EXPECT_EQ(store->search({.words = "whal"})->front().page, 7);
    const auto found = *store->search({.words = "whal", .k = 1, .n_related = 9});
    EXPECT_EQ(found.size(), 5U);
  }
}

TEST_F(StoreSchemaTest, AStoreOfVersion1IsOpenedAndHasAll) {
  std::vector<std::string> before;
  {
    auto store = open();
    add_two(*store, pool_);
    before = found_in(*store);
  }
  make_older(kVersion1, kVersion1Rows);
  // Looking at it changes nothing.
  EXPECT_EQ(MemoryStore::kind_of(options_.folder)->embedder, "four numbers");
  EXPECT_EQ(*Database::open(path(), false)->number("PRAGMA user_version"), 1);
  {
    auto store = open();
    EXPECT_EQ(found_in(*store), before);
    EXPECT_EQ(before.size(), 7U);
    EXPECT_EQ(store->find("b").value()->metadata, (Json{{"year", 2020}}));
    const TextChunk chunks[] = {{0, 4, "", 7}};
    const std::vector<float> vector = {0, 0, 0, 1};
    ASSERT_TRUE(store->add({"c.pdf", "whale", chunks, vector}, pool_));
    EXPECT_EQ(store->search({.words = "whal"})->front().page, 7);
  }
  EXPECT_EQ(*Database::open(path(), false)->number("PRAGMA user_version"), kStoreVersion);
  EXPECT_EQ(open()->search({.words = "whal"})->front().page, 7);
}

}  // namespace
}  // namespace ruv::store_schema_test
