// A database whose files are encrypted has its rows and no word of them in clear; what was changed
// in a file is an error and never another row.
#include "memory/sealed_vfs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.h"
#include "base/rng.h"
#include "memory/database.h"

namespace ruv::sealed_vfs_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWord = "Quillfeather";
constexpr int64_t kPage = 4096;

std::string bytes_in(const std::string& path) { return *read_text_file(path); }
void put_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class SealedVfsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_sealed_vfs_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(start_sealing().ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return folder_ / name; }
  static SharedStoreKeys keys(uint8_t first = 1) {
    return std::make_shared<const StoreKeys>(SealKey{first, 2, 3});
  }
  // Rows first to last, each with a text of some pages, in a table and in an index of words.
  static void fill(Database& database, int64_t first, int64_t last) {
    ASSERT_TRUE(database
                    .run("BEGIN; CREATE TABLE IF NOT EXISTS texts(id INTEGER PRIMARY KEY, text);"
                         "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text)")
                    .ok());
    for (int64_t i = first; i <= last; ++i) {
      for (const char* const table : {"texts(id", "words(rowid"}) {
        auto row =
            *database.prepare("INSERT INTO " + std::string(table) + ", text) VALUES (?1, ?2)");
        std::string text = std::string(kWord) + " " + std::to_string(i);
        for (int64_t n = 0; n < i * 30; ++n) text += " word" + std::to_string((i * n) % 1000);
        row.bind(1, i);
        row.bind(2, std::string_view(text));
        ASSERT_TRUE(row.run().ok());
      }
    }
    ASSERT_TRUE(database.run("COMMIT").ok());
  }
  void make(const std::string& name, SharedStoreKeys keys, int64_t n) const {
    auto database = *Database::open(path(name), false, std::move(keys));
    fill(database, 1, n);
  }
  // All of the database in one text; an error where a part of it is damaged.
  static Result<std::string> all_of(const Database& database) {
    std::string all;
    for (const char* const query :
         {"SELECT id, text FROM texts ORDER BY id",
          "SELECT rowid, text FROM words WHERE words MATCH 'quillfeather' ORDER BY rowid"}) {
      DbStatement rows = TRY(database.prepare(query));
      while (TRY(rows.step())) {
        all += std::to_string(rows.integer(0)) + " " + std::string(rows.text(1)) + "\n";
      }
    }
    DbStatement check = TRY(database.prepare("PRAGMA integrity_check"));
    if (!TRY(check.step()) || check.text(0) != "ok") return fail(Code::corrupt, "not sound");
    return all;
  }
  Result<std::string> all_in(const std::string& name, SharedStoreKeys keys) const {
    const Database database = TRY(Database::open(path(name), false, std::move(keys)));
    return all_of(database);
  }
  void expect_all(const std::string& name, const std::string& wanted) const {
    const auto found = all_in(name, keys());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(*found == wanted) << found->size() << " bytes, not " << wanted.size();
  }
  // That no file has a word in clear. Returns the names of the files.
  std::set<std::string> expect_no_word() const {
    std::set<std::string> names;
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (!file.is_regular_file()) continue;
      names.insert(file.path().filename());
      const std::string bytes = bytes_in(file.path());
      for (const std::string_view word :
           {kWord, std::string_view("quillfeather"), std::string_view("word"),
            std::string_view("SQLite"), std::string_view("CREATE")}) {
        EXPECT_EQ(bytes.find(word), bytes.npos) << file.path() << ": " << word;
      }
    }
    return names;
  }

  fs::path folder_;
};

TEST_F(SealedVfsTest, KeepsRowsAndNoWordInClear) {
  std::string all;
  {
    auto database = Database::open(path("a.db"), false, keys());
    ASSERT_TRUE(database) << database.error().message();
    fill(*database, 1, 30);
    all = *all_of(*database);
    EXPECT_EQ(expect_no_word(), (std::set<std::string>{"a.db", "a.db-wal"}));
    ASSERT_TRUE(database->run("DELETE FROM texts WHERE id % 3 = 0; VACUUM").ok());
    EXPECT_EQ(expect_no_word(), (std::set<std::string>{"a.db", "a.db-wal"}));
    ASSERT_TRUE(database->run("DELETE FROM words WHERE rowid % 3 = 0").ok());
    all = *all_of(*database);
    const Status copied = database->copy_to(path("copy.db"));
    ASSERT_TRUE(copied.ok()) << copied.message();
  }
  EXPECT_EQ(expect_no_word(), (std::set<std::string>{"a.db", "copy.db"}));
  expect_all("a.db", all);
  expect_all("copy.db", all);
  EXPECT_GT(all.size(), 10000U);
}

TEST_F(SealedVfsTest, IsNoDatabaseWithoutItsKey) {
  make("a.db", keys(), 3);
  EXPECT_EQ(all_in("a.db", nullptr).error().code(), Code::corrupt);
  EXPECT_EQ(all_in("a.db", keys(2)).error().code(), Code::corrupt);
  make("plain.db", nullptr, 3);
  EXPECT_EQ(all_in("plain.db", keys()).error().code(), Code::corrupt);
  EXPECT_TRUE(all_in("a.db", keys()));
}

// What is in the log alone, as a process leaves it that ends at any moment.
TEST_F(SealedVfsTest, RecoversItsLog) {
  auto database = *Database::open(path("a.db"), false, keys());
  fill(database, 1, 10);
  ASSERT_TRUE(database.run("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  fill(database, 11, 20);
  fs::copy(path("a.db"), path("b.db"));
  fs::copy(path("a.db-wal"), path("b.db-wal"));
  expect_all("b.db", *all_of(database));
}

// With little memory SQLite writes pages of a change into the log before its end, some of them
// twice, and then computes the checksums of all frames after those anew, from what it reads.
TEST_F(SealedVfsTest, RewritesFramesOfItsLog) {
  auto database = *Database::open(path("a.db"), false, keys());
  fill(database, 1, 6);
  ASSERT_TRUE(database.run("PRAGMA cache_size = 4; BEGIN").ok());
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(database.run("UPDATE texts SET text = text || ' more' || id").ok());
    ASSERT_TRUE(database
                    .run("INSERT INTO words(rowid, text) SELECT max(rowid) + 1, 'Quillfeather "
                         "round' FROM words")
                    .ok());
  }
  ASSERT_TRUE(database.run("COMMIT").ok());
  expect_no_word();
  const std::string all = *all_of(database);
  fs::copy(path("a.db"), path("b.db"));
  fs::copy(path("a.db-wal"), path("b.db-wal"));
  expect_all("b.db", all);
  const Status undone = database.run("BEGIN; DELETE FROM texts; DELETE FROM words; ROLLBACK");
  ASSERT_TRUE(undone.ok()) << undone.message();
  EXPECT_EQ(*all_of(database), all);
}

// Changes drawn at random, which are kept or taken back in part or as a whole, with little memory.
TEST_F(SealedVfsTest, IsAsAPlainDatabaseAfterAnyChanges) {
  auto plain = *Database::open(path("plain.db"), false);
  auto sealed = *Database::open(path("a.db"), false, keys());
  Rng rng(6);
  for (Database* const one : {&plain, &sealed}) {
    fill(*one, 1, 6);
    ASSERT_TRUE(one->run("PRAGMA cache_size = 4; PRAGMA wal_autocheckpoint = 60").ok());
  }
  for (int change = 0; change < 120; ++change) {
    std::string statements = "BEGIN;";
    for (uint64_t i = 0; i < 1 + rng.below(4); ++i) {
      const std::string id = std::to_string(1 + rng.below(40));
      const std::string n = std::to_string(1 + rng.below(3000));
      const uint64_t kind = rng.below(6);
      if (kind == 0) statements += "SAVEPOINT a;";
      statements += "INSERT OR REPLACE INTO texts VALUES (" + id + ", hex(zeroblob(" + n + ")));";
      statements += "INSERT INTO words(text) VALUES ('quillfeather n" + n + "');";
      if (kind == 0) statements += "UPDATE texts SET text = text || id; ROLLBACK TO a; RELEASE a;";
      if (kind == 1) statements += "DELETE FROM texts WHERE id > " + id + ";";
      if (kind == 2) statements += "UPDATE texts SET text = text || 'more' WHERE id < " + id + ";";
      if (kind == 3) statements += "DELETE FROM words WHERE rowid % 7 = " + id + " % 7;";
    }
    statements += rng.below(4) == 0 ? "ROLLBACK;" : "COMMIT;";
    if (rng.below(30) == 0) statements += "VACUUM;";
    for (Database* const one : {&plain, &sealed}) {
      const Status status = one->run(statements);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    if (change % 10 != 0) continue;
    const auto found = all_of(sealed);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_TRUE(*found == *all_of(plain)) << change;
    // As the end of the process leaves it.
    fs::copy_file(path("a.db"), path("b.db"), fs::copy_options::overwrite_existing);
    fs::copy_file(path("a.db-wal"), path("b.db-wal"), fs::copy_options::overwrite_existing);
    expect_all("b.db", *found);
  }
}

// A change of the log loses what came after it, as that of a plain log does, or is an error. It
// gives no other rows.
TEST_F(SealedVfsTest, ReadsNoOtherRowsFromAChangedLog) {
  auto database = *Database::open(path("a.db"), false, keys());
  std::set<std::string> states;
  for (int64_t i = 1; i <= 6; ++i) {
    fill(database, i, i);
    states.insert(*all_of(database));
  }
  const std::string page = bytes_in(path("a.db")), log = bytes_in(path("a.db-wal"));
  ASSERT_GT(std::ssize(log), 8 * kPage);
  int64_t n_refused = 0, n_shorter = 0;
  for (int64_t at = 0; at < std::ssize(log); at += 1009) {
    std::string changed = log;
    changed[static_cast<size_t>(at)] ^= 4;
    put_bytes(path("b.db"), page);
    put_bytes(path("b.db-wal"), changed);
    const auto found = all_in("b.db", keys());
    if (found) {
      EXPECT_TRUE(states.contains(*found)) << at;
      ++n_shorter;
      continue;
    }
    // A log of one change alone has no table yet.
    const Code code = found.error().code();
    EXPECT_TRUE(code == Code::corrupt || code == Code::internal) << found.error().message();
    ++n_refused;
  }
  EXPECT_GT(n_shorter, 0);
  EXPECT_GT(n_refused, 0);
}

TEST_F(SealedVfsTest, NamesEachChangedPage) {
  make("a.db", keys(), 12);
  const std::string file = bytes_in(path("a.db"));
  const std::string all = *all_in("a.db", keys());
  ASSERT_EQ(std::ssize(file) % kPage, 0);
  for (int64_t page = 0; page * kPage < std::ssize(file); ++page) {
    for (const int64_t within : {page % 4096, int64_t{4060}, int64_t{4095}}) {
      std::string changed = file;
      changed[static_cast<size_t>(page * kPage + within)] ^= 1;
      put_bytes(path("b.db"), changed);
      const auto found = all_in("b.db", keys());
      ASSERT_FALSE(found) << page;
      EXPECT_EQ(found.error().code(), Code::corrupt) << found.error().message();
    }
  }
  // Pages that change places, and one of zeros.
  std::string moved = file;
  moved.replace(kPage, kPage, file, 2 * kPage, kPage);
  moved.replace(2 * kPage, kPage, file, kPage, kPage);
  put_bytes(path("b.db"), moved);
  EXPECT_EQ(all_in("b.db", keys()).error().code(), Code::corrupt);
  std::string empty = file;
  empty.replace(3 * kPage, kPage, std::string(kPage, '\0'));
  put_bytes(path("b.db"), empty);
  EXPECT_EQ(all_in("b.db", keys()).error().code(), Code::corrupt);
  put_bytes(path("b.db"), std::string_view(file).substr(0, file.size() - 100));
  EXPECT_EQ(all_in("b.db", keys()).error().code(), Code::corrupt);
  put_bytes(path("b.db"), file);
  expect_all("b.db", all);
}

// SQLite plays a journal back when it finds one: pages in clear would become content.
TEST_F(SealedVfsTest, TakesNothingFromAJournal) {
  make("a.db", keys(), 3);
  const std::string file = bytes_in(path("a.db"));
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  const auto put_number = [&](uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) journal += static_cast<char>(number >> shift);
  };
  // One record, no salt, the size of the database, of a sector and of a page.
  for (const uint32_t number : {1U, 0U, static_cast<uint32_t>(file.size() / kPage), 512U, 4096U}) {
    put_number(number);
  }
  journal.resize(512, '\0');
  put_number(2);
  journal += std::string(kPage, '\0');
  put_number(0);  // its checksum: of zeros
  put_bytes(path("a.db-journal"), journal);
  const auto found = all_in("a.db", keys());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::corrupt) << found.error().message();
  EXPECT_EQ(bytes_in(path("a.db")), file);
}

}  // namespace
}  // namespace ruv::sealed_vfs_test
