#include "base/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace ruv {
namespace {

class Folder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  const std::string root_ = testing::TempDir() + "ruv_folder_" + std::to_string(getpid());
};

TEST_F(Folder, IsMadeWithThoseAboveIt) {
  EXPECT_TRUE(make_folder(root_ + "/a/b/c").ok());
  EXPECT_TRUE(make_folder(root_ + "/a/b/c").ok());
  for (const char* made : {"/a", "/a/b", "/a/b/c"}) {
    EXPECT_EQ(std::filesystem::status(root_ + made).permissions(),
              std::filesystem::perms::owner_all);
  }
  EXPECT_TRUE(is_directory(root_ + "/a/b/c"));
  std::ofstream(root_ + "/file") << "x";
  const Status status = make_folder(root_ + "/file/under");
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find(root_ + "/file/under"), std::string::npos);
  EXPECT_EQ(make_folder(root_ + "/file").code(), Code::invalid);
}

TEST_F(Folder, ThatIsSharedHasThePermissionsOfTheUmask) {
  const mode_t before = umask(027);
  const Status made = make_shared_folder(root_ + "/a/b");
  umask(before);
  EXPECT_TRUE(made.ok());
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(root_ + "/a/b").permissions(),
            perms::owner_all | perms::group_read | perms::group_exec);
}

TEST_F(Folder, ListsRegularFilesWithSizeAndTime) {
  EXPECT_TRUE(files_in(root_).empty());
  ASSERT_TRUE(make_folder(root_ + "/sub").ok());
  std::ofstream(root_ + "/one") << "1";
  std::ofstream(root_ + "/three") << "333";
  auto files = files_in(root_);
  std::ranges::sort(files, {}, &FolderEntry::path);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, root_ + "/one");
  EXPECT_EQ(files[0].n_bytes, 1);
  EXPECT_EQ(files[1].n_bytes, 3);
  EXPECT_TRUE(remove_file(files[0].path));
  EXPECT_TRUE(remove_file(files[0].path)) << "already gone is gone";
  EXPECT_FALSE(remove_file(root_ + "/sub"));
  EXPECT_EQ(files_in(root_).size(), 1U);
}

TEST_F(Folder, TouchingMovesTheTimeOfChange) {
  ASSERT_TRUE(make_folder(root_).ok());
  const std::string path = root_ + "/file";
  std::ofstream(path) << "x";
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(100));
  const int64_t before = files_in(root_).at(0).modified_ns;
  touch_file(path);
  EXPECT_GT(files_in(root_).at(0).modified_ns, before);
  touch_file(root_ + "/none");
}

TEST_F(Folder, DiskRoomIsThatOfTheFileSystem) {
  ASSERT_TRUE(make_folder(root_).ok());
  const auto room = disk_room(root_);
  ASSERT_TRUE(room.has_value());
  EXPECT_GT(room->n_bytes, 0);
  EXPECT_LE(room->n_free, room->n_bytes);
  EXPECT_EQ(disk_room(root_ + "/none").error().code(), Code::not_found);
}

}  // namespace
}  // namespace ruv
