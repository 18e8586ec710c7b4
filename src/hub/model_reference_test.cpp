#include "hub/model_reference.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(HubReference, HasARepositoryAWishAndARevision) {
  const auto plain = read_hub_reference("owner/name");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->repo + "|" + plain->want + "|" + plain->revision, "owner/name||main");
  const auto whole = read_hub_reference("hf:Owner/Name-1.5_x:sub/file.gguf@refs/pr/1");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->repo, "Owner/Name-1.5_x");
  EXPECT_EQ(whole->want, "sub/file.gguf");
  EXPECT_EQ(whole->revision, "refs/pr/1");
  EXPECT_EQ(text_of(*whole), "hf:Owner/Name-1.5_x:sub/file.gguf@refs/pr/1");
}

TEST(HubReference, RefusesWhatIsNoRepositoryFileOrRevision) {
  for (const char* text :
       {"", "name", "a/b/c", "../b", "a/..", "a/b:", "a/b:../c", "a/b:/etc", "a/b@", "a/b@../x",
        "a/b@x//y", "a/b@-x", "-a/b", "a/b c", "a/b\n", "a--b/c", "a/b?x", "a/b#x", "a/"}) {
    EXPECT_FALSE(read_hub_reference(text)) << text;
  }
  EXPECT_FALSE(read_hub_reference("a/" + std::string(97, 'b')));
}

TEST(FilePath, StaysBelowItsFolder) {
  for (const char* path : {"a", "a/b.c", "a b/ü", "...", ".git"})
    EXPECT_TRUE(check_file_path(path).ok()) << path;
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("a/."), std::string("a\\b"), std::string("a\0b", 3),
        std::string("a\nb"), std::string(1025, 'a')}) {
    EXPECT_FALSE(check_file_path(path).ok()) << path;
  }
  EXPECT_EQ(url_path("a b/ü?#%"), "a%20b/%C3%BC%3F%23%25");
}

}  // namespace
}  // namespace ruv
