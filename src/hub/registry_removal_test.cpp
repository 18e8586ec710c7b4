#include "hub/registry_removal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/tree.h"
#include "hub/registry_hold.h"
#include "hub/test_killed.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

// Each layer is a letter: its digest is 64 of them, and it has 100 bytes.
class RegistryRemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(store_.folder());
    add_model("tiny:1b", "abc");
    add_model("tiny:2b", "dbc");
    add_model("other:1b", "ef");
  }
  void TearDown() override { fs::remove_all(store_.folder()); }

  static FileDigest digest_of(char c) { return {DigestKind::sha256, std::string(64, c)}; }
  static RegistryReference named(std::string_view text) { return *read_registry_reference(text); }

  void write(const std::string& path, const std::string& text) {
    const std::string whole = store_.folder() + "/" + path;
    fs::create_directories(fs::path(whole).parent_path());
    std::ofstream(whole) << text;
    fs::last_write_time(whole, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  void add_blob(char c, const std::string& text) {
    write("blobs/sha256-" + digest_of(c).hex, text);
  }

  // The first is the config, the second the model.
  static std::string manifest(std::string_view letters) {
    const auto layer = [](const char* kind, char c) {
      return fmt::format(R"({{"mediaType":"application/vnd.ollama.image.{}",)"
                         R"("digest":"sha256:{}","size":100}})",
                         kind, digest_of(c).hex);
    };
    std::string layers;
    for (const char c : letters.substr(1))
      layers += layers.empty() ? layer("model", c) : "," + layer("license", c);
    return R"({"config":)" + layer("config", letters.front()) + R"(,"layers":[)" + layers + "]}";
  }
  void add_model(std::string_view name, std::string_view letters) {
    for (const char c : letters) add_blob(c, std::string(100, c));
    const std::string path = store_.manifest_path(named(name));
    write(path.substr(store_.folder().size() + 1), manifest(letters));
  }

  // The letters of the layers that are there.
  std::string blobs() const {
    std::string letters;
    for (const TreeEntry& entry : files_below(store_.folder() + "/blobs"))
      letters += entry.path.substr(7, 1);
    return letters;
  }
  std::string leftovers() const {
    std::string letters;
    const auto layers = unreferenced_layers(store_);
    if (!layers) return "failed: " + layers.error().message();
    for (const FolderEntry& layer : *layers) letters += file_name_of(layer.path).substr(7, 1);
    return letters;
  }
  Status remove(std::string_view name) {
    const auto removed = remove_registry_model(store_, named(name), [] { return true; });
    return removed ? Status() : removed.error();
  }

  RegistryStore store_{testing::TempDir() + "ruv_registry_rm_" + std::to_string(getpid())};
};

TEST_F(RegistryRemovalTest, LayersThatOtherNamesHaveStay) {
  const auto plan = plan_registry_removal(store_, named("tiny:1b"));
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->layers, (std::vector{store_.blob_path(digest_of('a'))}));
  EXPECT_EQ(plan->n_shared, 2U);
  EXPECT_EQ(plan->n_bytes, static_cast<int64_t>(100 + manifest("abc").size()));
  EXPECT_EQ(blobs(), "abcdef");
  EXPECT_TRUE(remove("tiny:1b").ok());
  EXPECT_EQ(blobs(), "bcdef");
  EXPECT_FALSE(store_.find(named("tiny:1b")));
  EXPECT_TRUE(store_.find(named("tiny:2b")));
  EXPECT_EQ(remove("tiny:1b").code(), Code::not_found);
  EXPECT_TRUE(remove("tiny:2b").ok());
  EXPECT_EQ(blobs(), "ef");
  EXPECT_FALSE(fs::exists(store_.folder() + "/manifests/registry.ollama.ai/library/tiny"));
  EXPECT_TRUE(fs::exists(store_.folder() + "/manifests/registry.ollama.ai/library/other"));
}

TEST_F(RegistryRemovalTest, WhatNewerManifestsLeadToStays) {
  add_blob('9', manifest("ab"));
  write("manifests-v2/ollama.com/library/new/1b",
        R"({"manifests":[{"runner":"mlx","digest":"sha256:)" + digest_of('9').hex + R"("}]})");
  EXPECT_TRUE(remove("tiny:1b").ok());
  EXPECT_EQ(blobs(), "9abcdef");
  EXPECT_EQ(leftovers(), "");
  EXPECT_EQ(remove("new:1b").code(), Code::unsupported);
  fs::remove_all(store_.folder() + "/manifests-v2");
  EXPECT_EQ(leftovers(), "9a");
}

TEST_F(RegistryRemovalTest, WhatCannotBeReadKeepsEverything) {
  const std::string odd = store_.folder() + "/manifests/registry.ollama.ai/library/odd";
  for (const char* text : {"", "{", "7", "{\"a\":"}) {
    write("manifests/registry.ollama.ai/library/odd/1b", text);
    EXPECT_FALSE(remove("tiny:1b").ok()) << text;
    EXPECT_EQ(leftovers().substr(0, 6), "failed") << text;
  }
  fs::remove_all(odd);
  fs::create_directory_symlink(store_.folder() + "/blobs", odd);
  EXPECT_NE(remove("tiny:1b").message().find("a link to a folder"), std::string::npos);
  fs::remove(odd);
  EXPECT_EQ(blobs(), "abcdef");
  // What file managers leave is no manifest.
  write("manifests/registry.ollama.ai/.DS_Store", "x");
  EXPECT_TRUE(remove("tiny:1b").ok());
}

TEST_F(RegistryRemovalTest, NothingIsRemovedWhileSomethingIsFetched) {
  const std::function<bool()> goes_on = [] { return false; };
  {
    const auto pull = hold_for_pull(store_, digest_of('9'), goes_on);
    ASSERT_TRUE(pull);
    EXPECT_EQ(remove("tiny:1b").code(), Code::unavailable);
    EXPECT_EQ(hold_for_pull(store_, digest_of('9'), goes_on).error().code(), Code::cancelled);
    EXPECT_TRUE(hold_for_pull(store_, digest_of('8'), goes_on));
  }
  {
    const auto removal = hold_for_removal(store_, goes_on);
    ASSERT_TRUE(removal);
    EXPECT_EQ(hold_for_pull(store_, digest_of('9'), goes_on).error().code(), Code::cancelled);
  }
  // Of Ollama; one that was given up long ago keeps nothing.
  const std::string partial = "blobs/sha256-" + digest_of('7').hex + "-partial";
  write(partial, "x");
  fs::last_write_time(store_.folder() + "/" + partial, fs::file_time_type::clock::now());
  EXPECT_EQ(remove("tiny:1b").code(), Code::unavailable);
  EXPECT_EQ(blobs(), "7abcdef");
  write(partial, "x");
  EXPECT_TRUE(remove("tiny:1b").ok());
}

TEST_F(RegistryRemovalTest, YoungLayersMayBeNamedSoon) {
  add_blob('8', "x");
  EXPECT_EQ(leftovers(), "8");
  fs::last_write_time(store_.blob_path(digest_of('8')), fs::file_time_type::clock::now());
  EXPECT_EQ(leftovers(), "");
  write("blobs/sha256-" + digest_of('8').hex + "-partial", "x");
  write("blobs/notes.txt", "x");
  EXPECT_EQ(leftovers(), "");
}

TEST_F(RegistryRemovalTest, KilledAnywhereItLeavesNoNameWithoutItsLayers) {
  const RegistryReference name = named("tiny:1b");
  const StepJob job = [&](const std::function<bool()>& goes_on) {
    const auto removed = remove_registry_model(store_, name, goes_on);
    return removed ? Status() : removed.error();
  };
  add_model("tiny:1b", "0123");
  int n = 0;
  for (; killed_at(n, job); ++n) {
    // Before the first step nothing is gone, after it the name is, and n - 1 layers.
    EXPECT_EQ(file_exists(store_.manifest_path(name)), n == 0);
    EXPECT_EQ(leftovers().size(), n == 0 ? 1U : 6U - static_cast<size_t>(n)) << n;
    EXPECT_TRUE(store_.find(named("tiny:2b")));
    add_model("tiny:1b", "0123");
  }
  EXPECT_EQ(n, 5);
  EXPECT_EQ(leftovers(), "a");
}

}  // namespace
}  // namespace ruv
