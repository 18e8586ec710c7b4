// The file of a store's key opens with the key of its user alone, and only where there is nothing
// yet is it made.
#include "memory/store_key.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace ruv::store_key_test {
namespace {

namespace fs = std::filesystem;

constexpr SealKey kMine = {1}, kOther = {2}, kThird = {3};

class StoreKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("ruv_store_key_" + std::to_string(::getpid()));
    fs::remove(path_);
  }
  void TearDown() override { fs::remove(path_); }
  Code code_with(const std::optional<SealKey>& user, bool has_data = true) const {
    const auto keys = open_store_keys(path_, user, has_data);
    return keys ? Code::ok : keys.error().code();
  }

  std::string path_;
};

TEST_F(StoreKeyTest, IsMadeForWhatIsNewAndOpensWithItsKey) {
  EXPECT_EQ(open_store_keys(path_, std::nullopt, true).value(), nullptr);
  EXPECT_EQ(code_with(kMine, true), Code::invalid);  // plain
  EXPECT_FALSE(file_exists(path_));
  const auto keys = *open_store_keys(path_, kMine, false);
  const auto again = *open_store_keys(path_, kMine, true);
  for (const StorePart part :
       {StorePart::database, StorePart::wal, StorePart::vectors, StorePart::index}) {
    EXPECT_EQ(keys->of(part), again->of(part));
    EXPECT_NE(keys->of(part), SealKey{});
  }
  EXPECT_NE(keys->of(StorePart::database), keys->of(StorePart::index));
  EXPECT_EQ(code_with(std::nullopt), Code::invalid);
  EXPECT_EQ(code_with(kOther), Code::invalid);
  EXPECT_EQ(fs::file_size(path_), 88U);
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StoreKeyTest, ChangesItsUsersKeyAndStaysTheSame) {
  const auto keys = *open_store_keys(path_, kMine, false);
  EXPECT_EQ(rewrap_store_key(path_, kOther, kThird).code(), Code::invalid);
  ASSERT_TRUE(rewrap_store_key(path_, kMine, kOther).ok());
  EXPECT_EQ(code_with(kMine), Code::invalid);
  EXPECT_EQ((*open_store_keys(path_, kOther, true))->of(StorePart::wal), keys->of(StorePart::wal));
  // What was done already is done.
  EXPECT_TRUE(rewrap_store_key(path_, kMine, kOther).ok());
  EXPECT_EQ(rewrap_store_key(path_ + "none", kMine, kOther).code(), Code::not_found);
}

TEST_F(StoreKeyTest, RefusesEachChangedByte) {
  ASSERT_TRUE(open_store_keys(path_, kMine, false));
  const std::string file = *read_text_file(path_);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    std::ofstream(path_, std::ios::binary) << changed;
    const Code wanted = i < 8 ? Code::corrupt : i < 16 ? Code::unsupported : Code::invalid;
    EXPECT_EQ(code_with(kMine), wanted) << i;
  }
  std::ofstream(path_, std::ios::binary) << file.substr(0, 80);
  EXPECT_EQ(code_with(kMine), Code::corrupt);
}

}  // namespace
}  // namespace ruv::store_key_test
