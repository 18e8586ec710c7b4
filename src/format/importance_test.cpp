// Files of importance: what is written is read back, in both forms, and what is wrong is refused by
// name. The bytes of the older form are spelled out: llama.cpp reads them.
#include "format/importance.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/test_folder.h"

namespace ruv::importance_test {
namespace {

Importance small_importance() {
  Importance importance;
  importance.entries["blk.0.ffn_up.weight"] = {{2.0F, 4.0F, 0.0F, 8.0F}, {4.0F}};
  importance.entries["blk.0.ffn_up_exps.weight"] = {{3.0F, 6.0F, 0.0F, 0.0F}, {3.0F, 0.0F}};
  importance.datasets = {"a.txt", "b.txt"};
  importance.n_chunks = 2;
  importance.chunk_size = 2;
  return importance;
}

Bytes bytes_of(const std::string& text) { return as_bytes(std::string_view(text)); }

void put(std::string& out, int32_t x) { out.append(reinterpret_cast<const char*>(&x), sizeof(x)); }
void put(std::string& out, float x) { out.append(reinterpret_cast<const char*>(&x), sizeof(x)); }
void put(std::string& out, std::string_view text) {
  put(out, static_cast<int32_t>(text.size()));
  out += text;
}

std::string small_dat() {
  std::string out;
  put(out, 2);
  put(out, "blk.0.ffn_up.weight");
  put(out, 2);  // calls: four rows in chunks of two
  put(out, 4);
  for (const float x : {1.0F, 2.0F, 0.0F, 4.0F}) put(out, x);
  put(out, "blk.0.ffn_up_exps.weight");
  put(out, 2);
  put(out, 4);
  for (const float x : {2.0F, 4.0F, 2.0F, 2.0F}) put(out, x);
  put(out, 2);
  put(out, "b.txt");
  return out;
}

TEST(ImportanceFile, GgufComesBack) {
  const TestFolder folder;
  const std::string path = folder.path() + "/i.gguf";
  const Importance written = small_importance();
  ASSERT_TRUE(write_importance(written, path, ImportanceForm::gguf).ok());
  const auto read = read_importance(path);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_EQ(read->entries.size(), 2U);
  for (const auto& [name, entry] : written.entries) {
    EXPECT_EQ(read->entries.at(name).sums, entry.sums) << name;
    EXPECT_EQ(read->entries.at(name).counts, entry.counts) << name;
  }
  EXPECT_EQ(read->datasets, written.datasets);
  EXPECT_EQ(read->n_chunks, 2);
  EXPECT_EQ(read->chunk_size, 2);
}

TEST(ImportanceFile, OlderFormHasTheBytesOfItsFirstWriter) {
  const TestFolder folder;
  const std::string path = folder.path() + "/i.dat";
  ASSERT_TRUE(write_importance(small_importance(), path, ImportanceForm::dat).ok());
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value());
  const std::string dat = small_dat();
  EXPECT_EQ(as_text(file->bytes()).size(), dat.size());
  const auto read = read_importance(path);
  const auto by_hand = parse_importance(bytes_of(dat), "hand.dat");
  ASSERT_TRUE(read.has_value() && by_hand.has_value());
  for (const auto& [name, entry] : by_hand->entries) {
    EXPECT_EQ(read->entries.at(name).sums, entry.sums) << name;
    EXPECT_EQ(read->entries.at(name).counts, entry.counts) << name;
  }
  EXPECT_EQ(read->datasets, std::vector<std::string>{"b.txt"});
  EXPECT_EQ(read->n_chunks, 2);
}

TEST(ImportanceFile, MeansAreThoseOfEachMatrix) {
  const Importance importance = small_importance();
  EXPECT_EQ(mean_squares(importance.entries.at("blk.0.ffn_up.weight"), 4, 1),
            (std::vector<float>{0.5F, 1.0F, 0.0F, 2.0F}));
  // An expert without rows: nothing is known of it.
  const ImportanceEntry& experts = importance.entries.at("blk.0.ffn_up_exps.weight");
  EXPECT_EQ(mean_squares(experts, 2, 2), (std::vector<float>{1.0F, 2.0F, 1.0F, 1.0F}));
  EXPECT_TRUE(mean_squares(experts, 3, 2).empty());
  EXPECT_TRUE(mean_squares(experts, 1, 4).empty());
  // The older form has one count for all experts.
  const auto dat = parse_importance(bytes_of(small_dat()), "hand.dat");
  ASSERT_TRUE(dat.has_value());
  EXPECT_EQ(mean_squares(dat->entries.at("blk.0.ffn_up_exps.weight"), 2, 2),
            (std::vector<float>{1.0F, 2.0F, 1.0F, 1.0F}));
}

TEST(ImportanceFile, OldFilesEndAfterTheirEntries) {
  const std::string whole = small_dat();
  const std::string old = whole.substr(0, whole.size() - 4 - 4 - 5);
  const auto read = parse_importance(bytes_of(old), "old.dat");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->entries.size(), 2U);
  EXPECT_EQ(read->n_chunks, 0);
}

TEST(ImportanceFile, EveryCutIsRefusedOrOld) {
  const std::string whole = small_dat();
  const size_t old = whole.size() - 4 - 4 - 5;
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto read = parse_importance(bytes_of(whole.substr(0, n)), "cut.dat");
    EXPECT_EQ(read.has_value(), n == old) << n;
    if (!read) {
      EXPECT_TRUE(read.error().message().starts_with("cut.dat: ")) << n;
    }
  }
}

TEST(ImportanceFile, WrongNumbersAreRefusedByName) {
  const auto refusal = [](float sum, float count) {
    const TestFolder folder;
    const std::string path = folder.path() + "/i.gguf";
    Importance importance = small_importance();
    ImportanceEntry& entry = importance.entries["blk.0.ffn_up.weight"];
    entry.sums[1] = sum;
    entry.counts[0] = count;
    EXPECT_TRUE(write_importance(importance, path, ImportanceForm::gguf).ok());
    const auto read = read_importance(path);
    EXPECT_FALSE(read.has_value());
    return read ? std::string() : std::string(read.error().message());
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [sum, count] : {std::pair{-1.0F, 4.0F}, std::pair{kInfinity, 4.0F},
                                   std::pair{1.0F, 0.5F}, std::pair{1.0F, -kInfinity}}) {
    EXPECT_NE(refusal(sum, count).find("'blk.0.ffn_up.weight'"), std::string::npos) << sum;
  }
}

TEST(ImportanceFile, OtherFilesAreRefused) {
  const auto model = parse_importance(bytes_of("GGUF"), "m.gguf");
  EXPECT_FALSE(model.has_value());
  const auto text = parse_importance(bytes_of("not an imatrix at all"), "t.txt");
  EXPECT_FALSE(text.has_value());
  const auto twice = [] {
    std::string out;
    put(out, 2);
    for (int i = 0; i < 2; ++i) {
      put(out, "a");
      put(out, 1);
      put(out, 1);
      put(out, 1.0F);
    }
    return out;
  }();
  const auto read = parse_importance(bytes_of(twice), "twice.dat");
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message().find("'a' is there twice"), std::string::npos);
}

}  // namespace
}  // namespace ruv::importance_test
