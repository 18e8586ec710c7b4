#include "hub/hub_removal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/append_file.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"
#include "hub/cached_models.h"
#include "hub/range_journal.h"
#include "hub/test_killed.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

const std::string kA(40, 'a');
const std::string kB(40, 'b');

std::string digest_of(char c) { return std::string(64, c); }

// A cache with one repository: commit A has three files, B, which main leads to, two of them.
class HubRemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(cache_.folder());
    for (const char* name : {"m-Q8_0.gguf", "m-Q4_K_M.gguf", "README.md"}) add(kA, name, name[2]);
    for (const char* name : {"m-Q8_0.gguf", "README.md"}) add(kB, name, name[2]);
    ASSERT_TRUE(cache_.set_ref("o/m", "main", kB).ok());
    ASSERT_TRUE(cache_.set_ref("o/m", "refs/pr/1", kA).ok());
  }
  void TearDown() override { fs::remove_all(cache_.folder()); }

  // Q, Q and A make the digests; each content has 100 bytes.
  void add(const std::string& commit, const std::string& name, char) {
    const char c = name.find("Q8") != name.npos ? '8' : name.find("Q4") != name.npos ? '4' : 'e';
    const std::string blob = cache_.blob_path("o/m", digest_of(c));
    ASSERT_TRUE(make_folder(fs::path(blob).parent_path().string()).ok());
    std::ofstream(blob) << std::string(100, c);
    ASSERT_TRUE(
        cache_.link("o/m", commit, {name, 100, FileDigest{DigestKind::sha256, digest_of(c)}}).ok());
  }

  HubRemoval plan(std::string_view text, bool all_revisions) {
    const auto planned = plan_removal(cache_, *read_hub_reference(text), all_revisions);
    EXPECT_TRUE(planned) << planned.error().message();
    return planned.value_or(HubRemoval{});
  }
  bool has_blob(char c) { return file_exists(cache_.blob_path("o/m", digest_of(c))); }

  HubCache cache_{testing::TempDir() + "ruv_removal_" + std::to_string(getpid())};
};

TEST_F(HubRemovalTest, ContentsThatAnotherSnapshotHasStay) {
  const HubRemoval removal = plan("o/m@" + kA, false);
  EXPECT_EQ(removal.commits, (std::vector{kA}));
  EXPECT_EQ(removal.refs, (std::vector<std::string>{"refs/pr/1"}));
  EXPECT_EQ(removal.blobs, (std::vector{digest_of('4')}));
  EXPECT_EQ(removal.n_bytes, 100);
  ASSERT_TRUE(remove_planned(cache_, removal).ok());
  EXPECT_FALSE(has_blob('4'));
  EXPECT_TRUE(has_blob('8'));
  EXPECT_FALSE(fs::exists(cache_.snapshot_folder("o/m", kA)));
  EXPECT_EQ(cache_.snapshots_of("o/m").size(), 1U);
  // The last one takes the folder along.
  ASSERT_TRUE(remove_planned(cache_, plan("o/m@main", false)).ok());
  EXPECT_FALSE(fs::exists(cache_.repo_folder("o/m")));
}

TEST_F(HubRemovalTest, ATypeGoesFromEverySnapshot) {
  const HubRemoval removal = plan("o/m:q8_0", true);
  EXPECT_EQ(removal.links.size(), 2U);
  EXPECT_TRUE(removal.commits.empty());
  ASSERT_TRUE(remove_planned(cache_, removal).ok());
  EXPECT_FALSE(has_blob('8'));
  EXPECT_TRUE(has_blob('e'));
  EXPECT_FALSE(plan_removal(cache_, {"o/m", "Q8_0", "main"}, true));
  EXPECT_FALSE(plan_removal(cache_, {"o/m", "", "other"}, false));
  EXPECT_FALSE(plan_removal(cache_, {"o/absent", "", "main"}, true));
}

TEST_F(HubRemovalTest, WhatIsBeingFetchedStays) {
  ASSERT_TRUE(make_folder(cache_.lock_folder("o/m")).ok());
  {
    const auto lock = FileLock::take(cache_.lock_path("o/m", digest_of('8')));
    ASSERT_TRUE(lock);
    for (const HubRemoval& removal : {plan("o/m", true), plan("o/m:Q8_0", true)}) {
      EXPECT_EQ(remove_planned(cache_, removal).code(), Code::unavailable);
    }
    EXPECT_EQ(cache_.files_of("o/m", kA).size(), 3U);
  }
  const HubRemoval whole = plan("o/m", true);
  EXPECT_TRUE(whole.is_whole);
  EXPECT_EQ(whole.n_bytes, 300 + 2 * 40) << "with the two refs";
  EXPECT_TRUE(remove_planned(cache_, whole).ok());
  EXPECT_TRUE(cache_.repos().empty());
}

TEST_F(HubRemovalTest, KilledAnywhereItLeavesContentsAndNoLinkToNothing) {
  for (const char* const name : {"o/m", "o/m:Q8_0"}) {
    const StepJob job = [&](const std::function<bool()>& goes_on) {
      const auto planned = plan_removal(cache_, *read_hub_reference(name), true);
      return planned ? remove_planned(cache_, *planned, goes_on) : planned.error();
    };
    int n = 0;
    for (; killed_at(n, job); ++n) {
      for (const CachedSnapshot& snapshot : cache_.snapshots_of("o/m")) {
        for (const CachedFile& file : snapshot.files)
          EXPECT_EQ(file.n_bytes, 100) << name << " " << n << " " << file.path;
      }
      const auto left = unlinked_files(cache_);
      ASSERT_TRUE(left);
      for (const UnlinkedFile& file : *left) EXPECT_TRUE(remove_unlinked(cache_, file).ok());
      EXPECT_TRUE(unlinked_files(cache_)->empty());
      if (!left->empty()) {
        EXPECT_EQ(fs::exists(cache_.repo_folder("o/m")), !cache_.snapshots_of("o/m").empty());
      }
      SetUp();
    }
    EXPECT_GE(n, 3) << name;
    SetUp();
  }
}

TEST_F(HubRemovalTest, AContentThatIsLinkedMeanwhileOrBeingFetchedStays) {
  const std::string digest = digest_of('7');
  std::ofstream(cache_.blob_path("o/m", digest)) << "x";
  const auto left = unlinked_files(cache_);
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1U);
  EXPECT_EQ(left->front().digest, digest);
  EXPECT_EQ(left->front().n_bytes, 1);
  {
    ASSERT_TRUE(make_folder(cache_.lock_folder("o/m")).ok());
    const auto lock = FileLock::take(cache_.lock_path("o/m", digest));
    EXPECT_EQ(remove_unlinked(cache_, left->front()).code(), Code::unavailable);
  }
  ASSERT_TRUE(cache_.link("o/m", kA, {"x", 1, FileDigest{DigestKind::sha256, digest}}).ok());
  EXPECT_TRUE(remove_unlinked(cache_, left->front()).ok());
  EXPECT_TRUE(has_blob('7'));
}

TEST_F(HubRemovalTest, UnfinishedFilesAreFoundByTheirDigests) {
  const std::string blob = cache_.blob_path("o/m", digest_of('9'));
  std::ofstream(blob + ".ruvllm.incomplete") << std::string(500, 'x');
  ASSERT_TRUE(
      RangeJournal::open(blob + ".ruvllm.ranges", 500, machine_start_id())->note({0, 50}).ok());
  std::ofstream(blob + ".incomplete") << std::string(7, 'x');
  std::ofstream(cache_.blob_path("o/m", "strange.incomplete")) << "x";
  const std::vector<UnfinishedFile> files = unfinished_files(cache_);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].n_bytes, 57);
  {
    ASSERT_TRUE(make_folder(cache_.lock_folder("o/m")).ok());
    const auto lock = FileLock::take(cache_.lock_path("o/m", digest_of('9')));
    EXPECT_EQ(remove_unfinished(cache_, files[0]).code(), Code::unavailable);
  }
  EXPECT_TRUE(remove_unfinished(cache_, files[0]).ok());
  EXPECT_TRUE(unfinished_files(cache_).empty());
  EXPECT_TRUE(has_blob('8'));
}

TEST_F(HubRemovalTest, ModelsHaveTheNamesThatMeanThem) {
  std::vector<std::string> names;
  for (const CachedModel& model : cached_models(cache_)) names.push_back(model.name);
  EXPECT_EQ(names, (std::vector<std::string>{"hf:o/m:Q4_K_M@refs/pr/1", "hf:o/m:Q8_0@refs/pr/1",
                                             "hf:o/m:Q8_0"}));
}

}  // namespace
}  // namespace ruv
