// The page store against the end of its process at any instant, a disk that is full at any byte,
// and a folder that may not be written.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <set>

#include "cache/test_page_store.h"

namespace ruv {
namespace {

// In memory where there is such a folder: the disk's speed would only make the kills miss.
std::string quick_folder() {
  const std::string shared = "/dev/shm";
  return std::filesystem::is_directory(shared) ? shared
                                               : std::filesystem::temp_directory_path().string();
}

constexpr int64_t kLargePayload = 100'000;  // long enough to be killed in the middle of

constexpr int64_t kLargeState = 150'000;  // two slots

// Some pages end at a checkpoint.
std::vector<std::byte> large_state_of(int page) {
  return page % 4 == 1 ? payload_of(page + 500'000, kLargeState) : std::vector<std::byte>();
}

constexpr int kBatches = 10;  // of a child, so that none fills the store when nobody kills it

// A page that a child says is stored and flushed, or (page < 0) that its record went.
struct Notice {
  int64_t id;
  int64_t parent;
  int64_t page;
};

class Killed : public testing::Test {
 protected:
  Killed() {
    std::string name = quick_folder() + "/ruv-killed-XXXXXX";
    config_.folder = ::mkdtemp(name.data());
    config_.layout = "kill test";
    config_.payload_bytes = kLargePayload;
    config_.state_bytes = kLargeState;
    config_.note = [this](std::string_view line) { notes_.emplace_back(line); };
  }
  ~Killed() override { std::filesystem::remove_all(config_.folder); }

  // The child: appends pages below pages it knows of, flushes, tells, until it is killed.
  void append_until_killed(int to, uint64_t seed) {
    Result<std::unique_ptr<PageStore>> store = PageStore::open(config_);
    if (!store) ::_exit(1);
    Rng rng(seed);
    std::vector<int64_t> known = {-1};
    for (const auto& [id, notice] : acknowledged_) known.push_back(id);
    int page = n_pages_;
    for (int batch = 0; batch < kBatches; ++batch) {
      std::vector<Notice> notices;
      for (uint64_t n = rng.below(4) + 1; n > 0; --n, ++page) {
        const int64_t parent = known[rng.below(known.size())];
        const Result<int64_t> id = (*store)->append(
            parent, "", cells_of(page), payload_of(page, kLargePayload), large_state_of(page));
        if (!id && id.error().code() != Code::not_found) ::_exit(2);
        if (!id) continue;
        known.push_back(*id);
        notices.push_back({*id, parent, page});
      }
      if (!(*store)->flush().ok()) ::_exit(3);
      for (const int64_t id : (*store)->take_dropped()) {
        std::erase(known, id);
        notices.push_back({id, 0, -1});
      }
      const size_t n_bytes = notices.size() * sizeof(Notice);
      if (::write(to, notices.data(), n_bytes) != static_cast<ssize_t>(n_bytes)) ::_exit(4);
    }
    while (true) ::pause();
  }

  // Kills a child after a random time and takes in what it said.
  void run_and_kill(uint64_t seed) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) append_until_killed(pipe[1], seed);
    ::close(pipe[1]);
    Rng rng(seed + 1000);
    ::usleep(static_cast<useconds_t>(rng.below(8000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended itself with " << WEXITSTATUS(status);
    Notice notice{};
    while (::read(pipe[0], &notice, sizeof notice) == ssize_t{sizeof notice}) {
      if (notice.page < 0) {
        acknowledged_.erase(notice.id);
      } else {
        acknowledged_[notice.id] = notice;
        n_pages_ = std::max(n_pages_, static_cast<int>(notice.page) + 1);
      }
    }
    ::close(pipe[0]);
  }

  // Every record of the store is a page some child appended, with its bytes. Returns their ids.
  std::set<int64_t> check_records() {
    std::set<int64_t> ids;
    const Result<std::unique_ptr<PageStore>> store = PageStore::open(config_);
    if (!store) {
      ADD_FAILURE() << store.error().message();
      return ids;
    }
    std::vector<std::byte> payload(kLargePayload), state;
    for (const PageStore::Record& record : (*store)->records()) {
      EXPECT_TRUE(record.parent == -1 || ids.contains(record.parent));
      ids.insert(record.id);
      const auto known = acknowledged_.find(record.id);
      int page = known == acknowledged_.end() ? -1 : static_cast<int>(known->second.page);
      // What was appended and not acknowledged may be there: at most a batch or two.
      for (int next = n_pages_; page < 0 && next < n_pages_ + 8; ++next) {
        if (cells_of(next) == record.cells) page = next;
      }
      EXPECT_GE(page, 0) << "a record nobody wrote";
      EXPECT_EQ(record.cells, cells_of(page));
      state.resize((*store)->has_state(record.id) ? kLargeState : 0);
      EXPECT_TRUE((*store)->read(record.id, payload, state).ok());
      EXPECT_EQ(state, large_state_of(page));
      EXPECT_EQ(payload, payload_of(page, kLargePayload));
      if (known == acknowledged_.end()) acknowledged_[record.id] = {record.id, record.parent, page};
    }
    for (const auto& [id, notice] : acknowledged_) {
      n_pages_ = std::max(n_pages_, static_cast<int>(notice.page) + 1);
    }
    return ids;
  }

  // Whether the newest segment ends within a record.
  bool is_torn() const {
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator(config_.folder)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".ruvpages")) newest = std::max(newest, path);
    }
    const size_t n_bytes = newest.empty() ? 0 : std::filesystem::file_size(newest);
    const size_t stride = (kRecordHeaderBytes + kLargePayload + 63) / 64 * 64;
    return n_bytes % stride != kSegmentHeaderBytes;
  }

  void start_anew(bool sealed) {
    std::filesystem::remove_all(config_.folder);
    acknowledged_.clear();
    n_pages_ = 0;
    config_.key.reset();
    if (sealed) config_.key.emplace().fill(5);
    std::filesystem::create_directory(config_.folder);
  }

  PageStoreConfig config_;
  std::vector<std::string> notes_;
  std::map<int64_t, Notice> acknowledged_;
  int n_pages_ = 0;
};

TEST_F(Killed, NothingAcknowledgedIsLostAndNothingElseAppears) {
  config_.max_bytes = 128 << 20;  // never reached
  int n_torn = 0;
  size_t n_checked = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    if (round % 20 == 0) start_anew(round % 40 != 0);
    run_and_kill(round);
    if (HasFatalFailure()) return;
    n_torn += is_torn() ? 1 : 0;
    const std::map<int64_t, Notice> promised = acknowledged_;
    const std::set<int64_t> there = check_records();
    for (const auto& [id, notice] : promised) ASSERT_TRUE(there.contains(id)) << notice.page;
    n_checked += promised.size();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_TRUE(notes_.empty()) << notes_[0];
  EXPECT_GT(n_checked, 200U) << "the children came to nothing";
  RecordProperty("torn_tails", n_torn);
}

// With segments going all the time, what is there is right and the bound holds.
TEST_F(Killed, WhatIsThereIsRightWhenSegmentsGo) {
  config_.max_bytes = 4 << 20;
  size_t n_checked = 0;
  for (uint64_t round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    if (round % 25 == 0) start_anew(round % 50 != 0);
    run_and_kill(round);
    if (HasFatalFailure()) return;
    EXPECT_LE(bytes_in(config_.folder), config_.max_bytes);
    const std::set<int64_t> there = check_records();
    n_checked += there.size();
    std::erase_if(acknowledged_, [&](const auto& each) { return !there.contains(each.first); });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(n_checked, 300U);
}

// The longest file that a write may leave, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t n_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{n_bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(FullDisk, AtAnyByteIsAnErrorAndTheStoreGoesOn) {
  for (rlim_t limit = 0; limit < 6000; limit += 53) {
    SCOPED_TRACE(limit);
    const StoreFolder folder;
    PageStoreConfig config;
    config.folder = folder.path();
    config.payload_bytes = kPayload;
    config.max_bytes = 1 << 20;
    std::map<int64_t, int> pages;
    {
      const auto store = std::move(*PageStore::open(config));
      int page = 0;
      {
        const FileSizeLimit full(limit);
        for (; page < 5; ++page) {
          const Result<int64_t> id = append_page(*store, -1, page);
          if (id) {
            pages[*id] = page;
          } else {
            ASSERT_EQ(id.error().code(), Code::out_of_memory) << id.error().message();
          }
        }
        ASSERT_LT(pages.size(), 4U);
      }
      for (const auto& [id, each] : pages) ASSERT_TRUE(holds_page(*store, id, each));
      const Result<int64_t> id = append_page(*store, -1, page);
      ASSERT_TRUE(id.has_value()) << id.error().message();
      pages[*id] = page;
      ASSERT_TRUE(store->flush().ok());
    }
    const auto store = std::move(*PageStore::open(config));
    ASSERT_EQ(store->stats().n_records, static_cast<int64_t>(pages.size()));
    ASSERT_EQ(store->stats().n_damaged, 0);
    ASSERT_EQ(store->stats().n_bytes, bytes_in(folder.path()));
    for (const auto& [id, each] : pages) ASSERT_TRUE(holds_page(*store, id, each));
  }
}

// Records that cannot be moved give their room all the same.
TEST(FullDisk, WhileSegmentsGo) {
  const StoreFolder folder;
  PageStoreConfig config;
  config.folder = folder.path();
  config.payload_bytes = kPayload;
  config.max_bytes = 1 << 20;
  const auto store = std::move(*PageStore::open(config));
  std::map<int64_t, int> pages;
  int n_failed = 0;
  for (int page = 0; page < 4000; ++page) {
    if (!pages.empty()) store->touch(pages.begin()->first);
    Result<int64_t> id = fail(Code::internal, "");
    if (page % 100 < 30) {
      const FileSizeLimit full(40'000);
      id = append_page(*store, -1, page);
    } else {
      id = append_page(*store, -1, page);
    }
    if (id) pages[*id] = page;
    n_failed += id ? 0 : 1;
    for (const int64_t gone : store->take_dropped()) pages.erase(gone);
    ASSERT_LE(store->stats().n_bytes, config.max_bytes);
    if (page % 200 == 0) {
      ASSERT_EQ(store->stats().n_bytes, bytes_in(folder.path()));
    }
  }
  EXPECT_GT(n_failed, 100);
  EXPECT_EQ(store->stats().n_records, static_cast<int64_t>(pages.size()));
  for (const auto& [id, page] : pages) ASSERT_TRUE(holds_page(*store, id, page));
}

TEST(UnwritableFolder, IsAnError) {
  const StoreFolder folder;
  PageStoreConfig config;
  config.payload_bytes = kPayload;
  config.max_bytes = 1 << 20;
  write_file(folder.path() + "/file", "");
  config.folder = folder.path() + "/file/pages";
  EXPECT_EQ(PageStore::open(config).error().code(), Code::invalid);

  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const pid_t child = ::fork();
  if (child == 0) {
    // Root may write anywhere, so it becomes somebody else.
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(9);
    config.folder = folder.path();
    const auto store = PageStore::open(config);
    ::_exit(!store && store.error().code() == Code::invalid ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0700));
}

}  // namespace
}  // namespace ruv
