#include "base/path_inside.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ruv {
namespace {

namespace fs = std::filesystem;

class PathInside : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ruv_inside_XXXXXX").string();
    root_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(root_ / "in/deep");
    fs::create_directories(root_ / "inside");
    std::ofstream(root_ / "in/deep/file") << "x";
    std::ofstream(root_ / "secret") << "x";
    fs::create_symlink(root_ / "secret", root_ / "in/link");
    fs::create_symlink(root_ / "in/deep", root_ / "in/own");
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path(const std::string& path) const {
    const Result<std::string> inside = path_inside(root_ / "in", path);
    return inside ? fs::path(*inside).lexically_relative(root_).string()
                  : std::string(code_name(inside.error().code()));
  }

  fs::path root_;
};

TEST_F(PathInside, GivesTheRealPath) {
  EXPECT_EQ(path("deep/file"), "in/deep/file");
  EXPECT_EQ(path("./deep/../deep/file"), "in/deep/file");
  EXPECT_EQ(path((root_ / "in/deep").string()), "in/deep");
  EXPECT_EQ(path("own/file"), "in/deep/file");
  EXPECT_EQ(path("."), "in");
}

TEST_F(PathInside, RefusesWhatLeadsOut) {
  EXPECT_EQ(path("../secret"), "invalid");
  EXPECT_EQ(path((root_ / "secret").string()), "invalid");
  EXPECT_EQ(path("link"), "invalid");
  EXPECT_EQ(path("../inside"), "invalid") << "a name that begins like the folder's";
  EXPECT_EQ(path(".."), "invalid");
  EXPECT_EQ(path("nothing"), "not_found");
  EXPECT_EQ(path("../nothing"), "not_found");
}

}  // namespace
}  // namespace ruv
