// Checkpoints of running states on disk: they come back with their page or not at all, and a page
// without one takes no room for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/rng.h"
#include "cache/test_page_store.h"
#include "fault/damage.h"

namespace ruv {
namespace {

constexpr int64_t kState = 3000;  // two slots with its tag

// Every third page ends at a checkpoint.
bool has_state(int page) { return page % 3 == 2; }
std::vector<std::byte> state_of(int page) {
  return has_state(page) ? payload_of(page + 500'000, kState) : std::vector<std::byte>();
}

class PageStoreState : public testing::TestWithParam<bool> {
 protected:
  PageStoreState() {
    config_.folder = folder_.path();
    config_.layout = "state";
    config_.payload_bytes = kPayload;
    config_.state_bytes = kState;
    config_.max_bytes = 1 << 20;
    if (GetParam()) config_.key.emplace().fill(3);
    config_.note = [this](std::string_view line) { notes_.emplace_back(line); };
  }
  std::unique_ptr<PageStore> open() { return open(config_); }
  static std::unique_ptr<PageStore> open(const PageStoreConfig& config) {
    Result<std::unique_ptr<PageStore>> store = PageStore::open(config);
    EXPECT_TRUE(store.has_value()) << store.error().message();
    return std::move(*store);
  }
  static Result<int64_t> append(PageStore& store, int64_t parent, int page) {
    return store.append(parent, "", cells_of(page), payload_of(page), state_of(page));
  }
  static std::vector<int64_t> append_chain(PageStore& store, int first, int n) {
    std::vector<int64_t> ids;
    for (int i = first; i < first + n; ++i) {
      ids.push_back(append(store, ids.empty() ? -1 : ids.back(), i).value());
    }
    return ids;
  }
  // The page and, where it has one, its checkpoint.
  static bool holds(const PageStore& store, int64_t id, int page) {
    if (!holds_page(store, id, page) || store.has_state(id) != has_state(page)) return false;
    if (!has_state(page)) return true;
    std::vector<std::byte> payload(kPayload), state(kState);
    return store.read(id, payload, state).ok() && payload == payload_of(page) &&
           state == state_of(page);
  }
  std::string segment() const { return folder_.path() + "/" + PageSegment::file_name(1); }

  StoreFolder folder_;
  PageStoreConfig config_;
  std::vector<std::string> notes_;
};

TEST_P(PageStoreState, ComesBackAfterARestart) {
  std::vector<int64_t> ids = append_chain(*open(), 0, 7);
  const auto store = open();
  ids.push_back(append(*store, ids.back(), 7).value());
  ids.push_back(append(*store, ids.back(), 8).value());
  ASSERT_EQ(store->records().size(), 9U);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_TRUE(holds(*store, ids[i], static_cast<int>(i)));
  EXPECT_TRUE(notes_.empty());
}

TEST_P(PageStoreState, WrongSizesAreRefused) {
  const auto store = open();
  const int64_t id = append(*store, -1, 1).value();
  const std::vector<std::byte> payload = payload_of(1), few(kState - 1);
  EXPECT_EQ(store->append(-1, "", cells_of(2), payload, few).error().code(), Code::invalid);
  std::vector<std::byte> page(kPayload), state(kState), less(kState - 1);
  EXPECT_EQ(store->read(id, page, less).code(), Code::invalid);
  EXPECT_EQ(store->read(id, page, state).code(), Code::not_found) << "the page has none";
  EXPECT_FALSE(store->has_state(id) || store->has_state(-1) || store->has_state(77));
  EXPECT_TRUE(holds(*store, id, 1));
  PageStoreConfig wrong = config_;
  wrong.state_bytes = -1;
  EXPECT_EQ(PageStore::open(wrong).error().code(), Code::invalid);
  wrong.state_bytes = 1 << 20;
  EXPECT_EQ(PageStore::open(wrong).error().code(), Code::invalid) << "more than max_bytes";
}

// With a state in each record this file would have 64 MiB.
TEST_P(PageStoreState, APageWithoutCheckpointTakesNoRoomForIt) {
  config_.state_bytes = 1 << 20;
  config_.max_bytes = 64 << 20;
  const auto store = open();
  const std::vector<std::byte> state(1 << 20);
  int64_t parent = -1;
  for (int page = 0; page < 64; ++page) {
    const Bytes at_end = page == 63 ? Bytes(state) : Bytes();
    parent = store->append(parent, "", cells_of(page), payload_of(page), at_end).value();
  }
  EXPECT_EQ(store->stats().n_bytes, bytes_in(folder_.path()));
  EXPECT_GT(store->stats().n_bytes, (64 * 1600) + (1 << 20));
  EXPECT_LE(store->stats().n_bytes, 512 + (64 * 1600) + (1 << 20) + 16 + 1600);
}

TEST_P(PageStoreState, ATailTornAtAnyByteIsCutOff) {
  const std::vector<int64_t> ids = append_chain(*open(), 0, 3);
  const std::string whole = read_file(segment());
  const size_t before = kSegmentHeaderBytes + 2 * 1600;
  ASSERT_EQ(whole.size(), before + 3 * 1600);
  for (size_t n = before; n < whole.size(); n += n % 1600 < 40 ? 1 : 37) {
    write_file(segment(), whole.substr(0, n));
    {
      const auto store = open();
      ASSERT_EQ(store->stats().n_records, 2) << n;
      const Result<int64_t> again = append(*store, ids[1], 5);
      ASSERT_TRUE(again.has_value());
      ASSERT_TRUE(holds(*store, *again, 5)) << n;
      ASSERT_EQ(store->stats().n_bytes, bytes_in(folder_.path()));
    }
    ASSERT_EQ(open()->stats().n_records, 3) << n;
  }
  EXPECT_TRUE(notes_.empty());
}

// A bit of the state is noticed where the state is read, and the page is good without it.
TEST_P(PageStoreState, FlippedBitsAreNoticed) {
  const std::vector<int64_t> ids = append_chain(*open(), 2, 4);  // the first and last have states
  const std::string whole = read_file(segment());
  ASSERT_EQ(whole.size(), kSegmentHeaderBytes + (3 + 1 + 1 + 3) * 1600);
  Rng rng(1);
  for (int round = 0; round < 1500; ++round) {
    const size_t at = rng.below(3 * 1600);
    std::string damaged = whole;
    damaged[kSegmentHeaderBytes + at] ^= static_cast<char>(1 << rng.below(8));
    write_file(segment(), damaged);
    const auto store = open();
    const bool in_page = at < kRecordHeaderBytes + kPayload;
    const bool in_state = at >= 1600 && at < 1600 + 16 + kState;
    ASSERT_EQ(holds_page(*store, ids[0], 2), !in_page) << at;
    ASSERT_EQ(holds(*store, ids[0], 2), !in_page && !in_state) << at;
    ASSERT_EQ(store->stats().n_records, in_page || in_state ? 0 : 4) << at;
    ASSERT_EQ(holds(*store, ids[3], 5), !in_page && !in_state) << at;
  }
}

// A state under another record's label, or of another page, is none.
TEST_P(PageStoreState, AStateIsNotReadInPlaceOfAnother) {
  const std::vector<int64_t> ids = append_chain(*open(), 2, 4);
  std::string file = read_file(segment());
  const size_t first = kSegmentHeaderBytes + 1600, last = file.size() - 2 * 1600;
  const std::string state = file.substr(first, 2 * 1600);
  file.replace(first, state.size(), file.substr(last, state.size()));
  file.replace(last, state.size(), state);
  write_file(segment(), file);
  const auto store = open();
  std::vector<std::byte> payload(kPayload), bytes(kState);
  EXPECT_TRUE(holds_page(*store, ids[3], 5));
  EXPECT_EQ(store->read(ids[3], payload, bytes).code(), Code::corrupt);
  EXPECT_EQ(store->take_dropped(), std::vector{ids[3]});
  EXPECT_EQ(store->read(ids[0], payload, bytes).code(), Code::corrupt);
  EXPECT_EQ(store->stats().n_records, 0);
}

TEST_P(PageStoreState, FilesOfOtherStatesAreIgnoredByName) {
  PageStoreConfig other = config_;
  other.state_bytes = 0;
  { ASSERT_TRUE(open(other)->append(-1, "", cells_of(1), payload_of(1)).has_value()); }
  EXPECT_EQ(open()->stats().n_records, 0);
  EXPECT_EQ(notes_.back(),
            segment() + ": of format version 2, pages of this model have 3; ignored");
  std::filesystem::remove(segment());
  append_chain(*open(), 0, 3);
  EXPECT_EQ(open(other)->stats().n_records, 0);
  EXPECT_EQ(notes_.back(),
            segment() + ": of format version 3, pages of this model have 2; ignored");
  other.state_bytes = kState + 1;
  EXPECT_EQ(open(other)->stats().n_records, 0);
  EXPECT_EQ(notes_.back(), segment() + ": of running states of another size; ignored");
}

// What is moved may be larger than what is appended.
TEST_P(PageStoreState, SmallBoundsHold) {
  int64_t n_moved = 0;
  for (const int64_t times : {1, 2, 4, 8}) {
    std::filesystem::remove_all(folder_.path());
    config_.max_bytes = times * PageStore::min_bytes(kPayload, kState);
    const auto store = open();
    std::vector<int64_t> with_states;
    for (int page = 0; page < 600; ++page) {
      const Result<int64_t> id = append(*store, -1, page);
      ASSERT_TRUE(id.has_value()) << id.error().message();
      ASSERT_TRUE(holds(*store, *id, page));
      ASSERT_LE(bytes_in(folder_.path()), config_.max_bytes);
      if (has_state(page)) with_states.push_back(*id);
      for (size_t i = with_states.size(); i > 0 && i + 8 > with_states.size(); --i) {
        store->touch(with_states[i - 1]);
      }
    }
    n_moved += store->stats().n_moved;
  }
  EXPECT_GT(n_moved, 0);
}

// Segments go, records are moved, the store is opened again: what is there is as it was.
TEST_P(PageStoreState, RandomLivesKeepTheBound) {
  config_.max_bytes = 300'000;
  Rng rng(9);
  std::map<int64_t, int> pages;
  int64_t n_moved = 0;
  int page = 0;
  for (int life = 0; life < 12; ++life) {
    const auto store = open();
    std::map<int64_t, int> there;
    for (const PageStore::Record& record : store->records()) {
      ASSERT_TRUE(pages.contains(record.id));
      there[record.id] = pages[record.id];
    }
    pages = there;
    for (int i = 0; i < 300; ++i, ++page) {
      int64_t parent = -1;
      if (!pages.empty() && rng.below(3) != 0) {
        parent = std::next(pages.begin(), static_cast<int64_t>(rng.below(pages.size())))->first;
        store->touch(parent);
      }
      const Result<int64_t> id = append(*store, parent, page);
      if (id) pages[*id] = page;
      for (const int64_t gone : store->take_dropped()) pages.erase(gone);
      ASSERT_LE(bytes_in(folder_.path()), config_.max_bytes);
    }
    ASSERT_EQ(store->stats().n_bytes, bytes_in(folder_.path()));
    ASSERT_EQ(store->stats().n_records, std::ssize(pages));
    for (const auto& [id, number] : pages) ASSERT_TRUE(holds(*store, id, number)) << number;
    ASSERT_EQ(store->stats().n_damaged, 0);
    n_moved += store->stats().n_moved;
  }
  EXPECT_GT(n_moved, 100);
}

INSTANTIATE_TEST_SUITE_P(PlainAndSealed, PageStoreState, testing::Bool());

}  // namespace
}  // namespace ruv
