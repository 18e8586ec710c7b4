#include "memory/word_query.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace ruv {
namespace {

// A hundred chunks: all have "sea", every second "ship", every tenth "mast", one "kraken".
class WordQueryTest : public testing::Test {
 protected:
  WordQueryTest()
      : path_((std::filesystem::temp_directory_path() /
               ("ruv_words_" + std::to_string(::getpid()) + ".db"))
                  .string()) {
    std::filesystem::remove(path_);
    database_ = std::make_unique<Database>(*Database::open(path_, false));
    EXPECT_TRUE(database_->run("CREATE VIRTUAL TABLE words USING fts5(text)").ok());
    for (int i = 0; i < kChunks; ++i) {
      DbStatement row = *database_->prepare("INSERT INTO words(text) VALUES (?1)");
      const std::string text = std::string("sea") + (i % 2 == 0 ? " ship" : "") +
                               (i % 10 == 0 ? " mast" : "") + (i == 7 ? " kraken" : "");
      row.bind(1, std::string_view(text));
      EXPECT_TRUE(row.run().ok());
    }
  }
  ~WordQueryTest() override {
    database_.reset();
    std::filesystem::remove(path_);
  }
  std::string query(std::string_view text, int64_t most_read) const {
    return word_query(*database_, text, kChunks, most_read).value_or("fails");
  }

  static constexpr int64_t kChunks = 100;
  std::string path_;
  std::unique_ptr<Database> database_;
};

TEST_F(WordQueryTest, SmallStoresAreReadAsTheyAre) {
  EXPECT_EQ(query("the sea\tand \"a\" ship", 100),
            R"("the" OR "sea" OR "and" OR """a""" OR "ship")");
  EXPECT_EQ(query(" \n", 1), "");
}

TEST_F(WordQueryTest, CommonWordsAreLeftOutBesideRarerOnes) {
  EXPECT_EQ(query("sea ship mast kraken", 11), R"("mast" OR "kraken")");
  EXPECT_EQ(query("sea kraken mast ship", 10), R"("kraken")");
  EXPECT_EQ(query("sea ship mast kraken", 61), R"("ship" OR "mast" OR "kraken")");
  // The rarest word is read however many chunks have it.
  EXPECT_EQ(query("sea ship", 3), R"("ship")");
  EXPECT_EQ(query("sea", 3), R"("sea")");
  // Words of no chunk cost nothing, and are not the rarest.
  EXPECT_EQ(query("unknown sea ship", 3), R"("ship")");
  EXPECT_EQ(query("unknown kraken sea", 3), R"("kraken")");
  EXPECT_EQ(query("unknown", 3), R"("unknown")");
  EXPECT_EQ(query("- kraken", 3), R"("-" OR "kraken")");
}

}  // namespace
}  // namespace ruv
