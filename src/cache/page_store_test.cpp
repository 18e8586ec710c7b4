// What is stored comes back with the same bytes, after any restart; what is damaged, foreign or
// over the bound is as if it had never been stored.
#include "cache/page_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/rng.h"
#include "cache/test_page_store.h"
#include "fault/damage.h"

namespace ruv {
namespace {

class PageStoreTest : public ::testing::Test {
 protected:
  PageStoreConfig config() {
    PageStoreConfig config;
    config.folder = folder_.path();
    config.model_hash[0] = 11;
    config.model_hash[1] = 12;
    config.layout = "plain f16";
    config.payload_bytes = kPayload;
    config.max_bytes = 1 << 20;
    config.note = [this](std::string_view line) { notes_.emplace_back(line); };
    return config;
  }
  std::unique_ptr<PageStore> open() { return open(config()); }
  std::unique_ptr<PageStore> open(const PageStoreConfig& config) {
    Result<std::unique_ptr<PageStore>> store = PageStore::open(config);
    EXPECT_TRUE(store.has_value()) << store.error().message();
    return store ? std::move(*store) : nullptr;
  }
  std::string segment(uint32_t number = 1) {
    return folder_.path() + "/" + PageSegment::file_name(number);
  }
  // A chain of n pages below `parent`, numbered from `first`.
  static std::vector<int64_t> append_chain(PageStore& store, int64_t parent, int first, int n) {
    std::vector<int64_t> ids;
    for (int i = first; i < first + n; ++i) {
      const Result<int64_t> id = append_page(store, parent, i);
      EXPECT_TRUE(id.has_value()) << id.error().message();
      ids.push_back(id ? *id : -1);
      parent = ids.back();
    }
    return ids;
  }

  StoreFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(PageStoreTest, PagesComeBack) {
  const auto store = open();
  const Result<int64_t> first = append_page(*store, -1, 1, "tenant");
  ASSERT_TRUE(first.has_value());
  const std::vector<int64_t> more = append_chain(*store, *first, 2, 3);
  EXPECT_TRUE(holds_page(*store, *first, 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(holds_page(*store, more[i], 2 + i));
  EXPECT_EQ(store->stats().n_records, 4);
  EXPECT_EQ(store->stats().n_read, 4);
  std::vector<std::byte> payload(kPayload);
  EXPECT_EQ(store->read(12345, payload).code(), Code::not_found);
  EXPECT_EQ(store->read(-1, payload).code(), Code::not_found);
  payload.pop_back();
  EXPECT_EQ(store->read(*first, payload).code(), Code::invalid);
}

TEST_F(PageStoreTest, RecordsComeParentsFirstAndSurviveRestarts) {
  std::map<int64_t, int> pages;
  std::map<int64_t, int64_t> parents;
  Rng rng(3);
  for (int restart = 0; restart < 6; ++restart) {
    const auto store = open();
    std::set<int64_t> seen = {-1};
    for (const PageStore::Record& record : store->records()) {
      ASSERT_TRUE(pages.contains(record.id));
      EXPECT_TRUE(seen.contains(record.parent));
      EXPECT_EQ(record.parent, parents[record.id]);
      EXPECT_EQ(record.cells, cells_of(pages[record.id]));
      EXPECT_EQ(record.scope, record.parent == -1 ? "s" : "");
      EXPECT_TRUE(holds_page(*store, record.id, pages[record.id]));
      EXPECT_TRUE(seen.insert(record.id).second);
    }
    ASSERT_EQ(seen.size(), pages.size() + 1);
    for (int i = 0; i < 20; ++i) {
      const int page = restart * 20 + i;
      auto at = pages.begin();
      std::advance(at, rng.below(pages.size() + 1));
      const int64_t parent = at == pages.end() ? -1 : at->first;
      const Result<int64_t> id = append_page(*store, parent, page, parent == -1 ? "s" : "");
      ASSERT_TRUE(id.has_value()) << id.error().message();
      ASSERT_TRUE(pages.emplace(*id, page).second) << "an id is given twice";
      parents[*id] = parent;
    }
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PageStoreTest, WrongArgumentsAreRefusedAndChangeNothing) {
  const auto store = open();
  const std::vector<std::byte> payload(kPayload);
  const std::vector<PrefixCell> cells(kPageTokens);
  const std::vector<PrefixCell> few(kPageTokens - 1);
  EXPECT_EQ(store->append(-1, "", few, payload).error().code(), Code::invalid);
  EXPECT_EQ(store->append(-1, "", cells, Bytes(payload).first(3)).error().code(), Code::invalid);
  EXPECT_EQ(store->append(77, "", cells, payload).error().code(), Code::not_found);
  EXPECT_EQ(store->append(-1, std::string(345, 'x'), cells, payload).error().code(), Code::invalid);
  EXPECT_EQ(store->append(-1, std::string(344, 'x'), cells, payload).has_value(), true);
  EXPECT_EQ(store->records().at(0).scope.size(), 344U);
  EXPECT_EQ(store->append(store->records()[0].id, "x", cells, payload).error().code(),
            Code::invalid);
  EXPECT_EQ(store->stats().n_records, 1);
}

TEST_F(PageStoreTest, WrongConfigurationsAreRefused) {
  PageStoreConfig wrong = config();
  wrong.payload_bytes = 0;
  EXPECT_EQ(PageStore::open(wrong).error().code(), Code::invalid);
  wrong = config();
  wrong.max_bytes = PageStore::min_bytes(kPayload) - 1;
  EXPECT_EQ(PageStore::open(wrong).error().code(), Code::invalid);
  wrong = config();
  wrong.layout = std::string(401, 'x');
  EXPECT_EQ(PageStore::open(wrong).error().code(), Code::invalid);
}

TEST_F(PageStoreTest, LeastBoundStillStores) {
  PageStoreConfig least = config();
  least.max_bytes = PageStore::min_bytes(kPayload);
  const auto store = open(least);
  for (int i = 0; i < 50; ++i) {
    const Result<int64_t> id = append_page(*store, -1, i);
    ASSERT_TRUE(id.has_value()) << id.error().message();
    EXPECT_TRUE(holds_page(*store, *id, i));
    EXPECT_LE(bytes_in(folder_.path()), least.max_bytes);
  }
}

TEST_F(PageStoreTest, TailTornAtAnyByteIsCutOff) {
  std::vector<int64_t> ids;
  {
    const auto store = open();
    ids = append_chain(*store, -1, 0, 3);
  }
  const std::string whole = read_file(segment());
  const auto stride = static_cast<size_t>((whole.size() - kSegmentHeaderBytes) / 3);
  for (size_t n = whole.size() - stride; n < whole.size(); ++n) {
    write_file(segment(), whole.substr(0, n));
    const auto store = open();
    ASSERT_EQ(store->stats().n_records, 2) << n;
    ASSERT_TRUE(holds_page(*store, ids[1], 1)) << n;
    const Result<int64_t> again = append_page(*store, ids[1], 9);
    ASSERT_TRUE(again.has_value());
    ASSERT_TRUE(holds_page(*store, *again, 9)) << n;
    ASSERT_EQ(read_file(segment()).size(), whole.size()) << n;
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PageStoreTest, SegmentTornWhileCreatedIsRemoved) {
  { open(); }
  const std::string header = [&] {
    const auto store = open();
    append_chain(*store, -1, 0, 1);
    return read_file(segment()).substr(0, kSegmentHeaderBytes);
  }();
  for (size_t n = 0; n < kSegmentHeaderBytes; ++n) {
    write_file(segment(), header.substr(0, n));
    const auto store = open();
    ASSERT_FALSE(std::filesystem::exists(segment())) << n;
    append_chain(*store, -1, 0, 1);
  }
}

// Any flipped bit of a record loses it and what hangs below it, and never changes what is read.
TEST_F(PageStoreTest, FlippedBitsLoseOnlyTheirRecord) {
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed);
    std::filesystem::remove_all(folder_.path());
    PageStoreConfig with = config();
    if (sealed) with.key.emplace().fill(7);
    std::vector<int64_t> ids;
    {
      const auto store = open(with);
      ids = append_chain(*store, -1, 0, 4);
    }
    const std::string whole = read_file(segment());
    const size_t stride = (whole.size() - kSegmentHeaderBytes) / 4;
    Rng rng(1);
    for (int round = 0; round < 1500; ++round) {
      const size_t in_records = rng.below(stride * 4);
      const size_t at = kSegmentHeaderBytes + in_records;
      const size_t hit = in_records / stride;
      // The bytes between a payload and the next record mean nothing.
      const bool counts = in_records % stride < kRecordHeaderBytes + kPayload;
      // A plain record has no nonce, and half of its tags is not used, but all bits are watched.
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng.below(8)));
      write_file(segment(), damaged);
      const auto store = open(with);
      const size_t n_whole = counts ? hit : 4;
      for (size_t i = 0; i < 4; ++i) {
        ASSERT_EQ(holds_page(*store, ids[i], static_cast<int>(i)), i < n_whole)
            << "byte " << at << ", record " << i;
      }
      ASSERT_EQ(store->stats().n_records, static_cast<int64_t>(n_whole)) << "byte " << at;
      ASSERT_EQ(store->records().size(), n_whole);
    }
  }
}

TEST_F(PageStoreTest, DamagedRecordIsDroppedWithItsDescendants) {
  const auto store = open();
  const std::vector<int64_t> ids = append_chain(*store, -1, 0, 5);
  const size_t stride = (read_file(segment()).size() - kSegmentHeaderBytes) / 5;
  flip_bits(segment(), kSegmentHeaderBytes + 2 * stride + kRecordHeaderBytes + 9, 0xFF);
  std::vector<std::byte> payload(kPayload);
  const Status status = store->read(ids[2], payload);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.message().find(segment()), std::string::npos) << status.message();
  EXPECT_EQ(store->take_dropped(), (std::vector<int64_t>{ids[2], ids[3], ids[4]}));
  EXPECT_TRUE(store->take_dropped().empty());
  EXPECT_EQ(store->read(ids[4], payload).code(), Code::not_found);
  EXPECT_TRUE(holds_page(*store, ids[1], 1));
  EXPECT_EQ(store->append(ids[4], "", cells_of(1), payload).error().code(), Code::not_found);
}

TEST_F(PageStoreTest, ForeignFilesAreIgnoredWithANoteAndLeftAlone) {
  std::vector<int64_t> ids;
  {
    const auto store = open();
    ids = append_chain(*store, -1, 0, 3);
  }
  const std::string ours = read_file(segment());
  std::string newer = ours;
  newer[8] = 3;
  std::string damaged = ours;
  damaged[40] ^= 1;
  const auto expect_ignored = [&](const PageStoreConfig& with, const std::string& reason) {
    const std::string before = read_file(segment());
    notes_.clear();
    {
      const auto store = open(with);
      EXPECT_EQ(store->stats().n_records, 0) << reason;
      EXPECT_EQ(store->stats().n_ignored, 1) << reason;
      EXPECT_TRUE(append_page(*store, -1, 5).has_value());
    }
    EXPECT_EQ(read_file(segment()), before) << reason;
    ASSERT_EQ(notes_.size(), 1U) << reason;
    EXPECT_EQ(notes_[0], segment() + ": " + reason + "; ignored");
    std::filesystem::remove(segment(2));
  };
  PageStoreConfig other = config();
  other.model_hash[1] = 13;
  expect_ignored(other, "of another model");
  other = config();
  other.layout = "plain int8";
  expect_ignored(other, "of another layout or precision");
  other.layout = "plain";
  expect_ignored(other, "of another layout or precision");
  other = config();
  other.payload_bytes = kPayload + 1;
  {
    notes_.clear();
    EXPECT_EQ(open(other)->stats().n_records, 0);
    EXPECT_EQ(notes_.at(0), segment() + ": of another page size; ignored");
  }
  other = config();
  other.key.emplace().fill(1);
  expect_ignored(other, "not encrypted, and a key is given");
  write_file(segment(), newer);
  expect_ignored(config(), "of format version 3, pages of this model have 2");
  write_file(segment(), damaged);
  expect_ignored(config(), "its header is damaged");
  write_file(segment(), std::string(5000, 'x'));
  expect_ignored(config(), "not a page segment");
  write_file(segment(), ours);
  EXPECT_EQ(open()->stats().n_records, 3);
}

TEST_F(PageStoreTest, StrangersInTheFolderAreNotedAndNeverOpenedOrRemoved) {
  { append_chain(*open(), -1, 0, 1); }
  const std::string outside = folder_.path() + ".outside";
  write_file(outside, read_file(segment()));
  std::filesystem::create_symlink(outside, segment(7));
  write_file(folder_.path() + "/notes.txt", "mine");
  write_file(folder_.path() + "/0000000A.ruvpages", "upper case is not ours");
  std::filesystem::create_directory(segment(9));
  std::filesystem::rename(segment(), segment(5));
  const auto store = open();
  EXPECT_EQ(store->stats().n_records, 0);
  ASSERT_EQ(notes_.size(), 4U);
  EXPECT_NE(notes_[0].find("renamed"), std::string::npos);
  EXPECT_NE(notes_[1].find("symbolic link"), std::string::npos);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(append_page(*store, -1, i).has_value());
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/notes.txt"));
  EXPECT_TRUE(std::filesystem::is_symlink(segment(7)));
  EXPECT_EQ(read_file(outside).size() > 0, true);
  EXPECT_FALSE(std::filesystem::exists(segment(5))) << "ours by its beginning, so it makes room";
  std::filesystem::remove(outside);
}

TEST_F(PageStoreTest, AKeyHidesCellsScopeAndPayload) {
  PageStoreConfig with = config();
  with.key.emplace().fill(42);
  int64_t id = -1;
  {
    const auto store = open(with);
    id = append_page(*store, -1, 3, "a secret scope").value();
    append_chain(*store, id, 4, 3);
    EXPECT_TRUE(holds_page(*store, id, 3));
  }
  const std::string file = read_file(segment());
  EXPECT_EQ(file.find("secret"), std::string::npos);
  for (int page = 3; page < 7; ++page) {
    for (const PrefixCell& cell : cells_of(page)) {
      EXPECT_EQ(file.find(std::string(reinterpret_cast<const char*>(&cell), sizeof(uint32_t))),
                std::string::npos);
    }
    const std::vector<std::byte> payload = payload_of(page);
    for (size_t at = 0; at + 8 <= payload.size(); at += 8) {
      ASSERT_EQ(file.find(as_text(Bytes(payload).subspan(at, 8))), std::string::npos);
    }
  }
  {
    const auto store = open(with);
    EXPECT_TRUE(holds_page(*store, id, 3));
    EXPECT_EQ(store->records().at(0).scope, "a secret scope");
    EXPECT_EQ(store->records().size(), 4U);
  }
  with.key.emplace().fill(43);
  EXPECT_EQ(open(with)->stats().n_records, 0);
  EXPECT_EQ(notes_.back(), segment() + ": encrypted with another key; ignored");
  with.key.reset();
  EXPECT_EQ(open(with)->stats().n_records, 0);
  EXPECT_EQ(notes_.back(), segment() + ": encrypted, and no key is given; ignored");
}

// The same record is written with other bytes each time, and none can take another's place.
TEST_F(PageStoreTest, SealedRecordsCannotBeSwapped) {
  PageStoreConfig with = config();
  with.key.emplace().fill(42);
  { append_chain(*open(with), -1, 0, 2); }
  std::string file = read_file(segment());
  const size_t stride = (file.size() - kSegmentHeaderBytes) / 2;
  const size_t first = kSegmentHeaderBytes + kRecordHeaderBytes;
  const std::string one = file.substr(first, kPayload);
  file.replace(first, kPayload, file.substr(first + stride, kPayload));
  file.replace(first + stride, kPayload, one);
  write_file(segment(), file);
  const auto store = open(with);
  std::vector<std::byte> payload(kPayload);
  EXPECT_EQ(store->read(store->records().at(0).id, payload).code(), Code::corrupt);
  EXPECT_EQ(store->stats().n_records, 0);
}

// Two stores give the same ids to the same cells in two scopes. What one of them wrote below its
// first page has no place in the other, whole as it is.
class PageStoreOfTwoScopes : public PageStoreTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    with_ = config();
    if (GetParam()) with_.key.emplace().fill(7);
    const std::string anns = write_chain("ann");
    stride_ = (anns.size() - kSegmentHeaderBytes) / 3;
    anns_second_ = anns.substr(kSegmentHeaderBytes + stride_, stride_);
    std::filesystem::remove(segment());
    write_chain("bob");
  }
  std::string write_chain(std::string_view scope) {
    {
      const auto store = open(with_);
      ids_ = {append_page(*store, -1, 0, scope).value()};
      for (const int64_t id : append_chain(*store, ids_[0], 1, 2)) ids_.push_back(id);
    }
    return read_file(segment());
  }
  // Ann's second page takes the place of Bob's.
  void swap_second() {
    std::fstream file(segment(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(kSegmentHeaderBytes + stride_));
    file.write(anns_second_.data(), static_cast<std::streamsize>(stride_));
  }

  PageStoreConfig with_;
  std::vector<int64_t> ids_;
  size_t stride_ = 0;
  std::string anns_second_;
};

TEST_P(PageStoreOfTwoScopes, ARecordIsNotLinkedBelowAnother) {
  swap_second();
  const auto store = open(with_);
  ASSERT_EQ(store->records().size(), 1U);
  EXPECT_EQ(store->records()[0].scope, "bob");
  std::vector<std::byte> payload(kPayload);
  EXPECT_EQ(store->read(ids_[1], payload).code(), Code::not_found);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("2 records lack the pages before them"), std::string::npos);
}

TEST_P(PageStoreOfTwoScopes, ARecordIsNotReadInPlaceOfAnother) {
  const auto store = open(with_);
  ASSERT_EQ(store->records().size(), 3U);
  swap_second();
  EXPECT_EQ(store->records().size(), 1U);
  std::vector<std::byte> payload(kPayload);
  EXPECT_EQ(store->read(ids_[1], payload).code(), Code::corrupt);
  EXPECT_EQ(store->stats().n_damaged, 1);
  EXPECT_EQ(store->stats().n_records, 1) << "what hung below it went too";
}

INSTANTIATE_TEST_SUITE_P(PlainAndSealed, PageStoreOfTwoScopes, ::testing::Bool());

// Such a file was not written by a store: a later record would get the same id.
TEST_F(PageStoreTest, AnIdThatIsStillToBeGivenIsNoRecords) {
  RecordCodec::Origin origin;
  origin.model_hash[0] = 11;
  origin.model_hash[1] = 12;
  origin.layout = config().layout;
  origin.payload_bytes = kPayload;
  const RecordCodec codec = RecordCodec::create(origin, std::nullopt).value();
  { append_chain(*open(), -1, 0, 2); }
  const std::string two = read_file(segment());
  const auto n_with_third = [&](int64_t segment_number, int64_t slot) {
    RecordLabel label;
    label.id = segment_number << 32 | slot;
    label.before = prefix_of_scope("");
    label.cells = cells_of(2);
    std::vector<std::byte> payload = payload_of(2);
    const RecordHeader header = codec.close(label, payload);
    std::string record(as_text(header));
    record += as_text(payload);
    record.resize(codec.stride());
    write_file(segment(), two + record);
    return open()->stats().n_records;
  };
  EXPECT_EQ(n_with_third(1, 2), 3) << "its own place";
  EXPECT_EQ(n_with_third(1, 7), 2) << "a later slot";
  EXPECT_EQ(n_with_third(2, 0), 2) << "a later segment";
  EXPECT_EQ(n_with_third(0, 2), 2) << "no segment";
}

// Neither a token nor a row of a medium.
TEST_F(PageStoreTest, ALabelWithACellOfNoKindIsDamaged) {
  const RecordCodec codec =
      RecordCodec::create({.layout = "plain", .payload_bytes = kPayload}, std::nullopt).value();
  const auto is_read = [&](uint64_t bits) {
    RecordLabel label;
    label.before = prefix_of_scope("");
    label.cells[9] = PrefixCell::of_bits(bits);
    std::vector<std::byte> payload = payload_of(0);
    return codec.open_label(codec.close(label, payload)).has_value();
  };
  EXPECT_TRUE(is_read(INT32_MAX));
  EXPECT_TRUE(is_read(uint64_t{1} << 63));
  EXPECT_FALSE(is_read(uint64_t{1} << 31));
  EXPECT_FALSE(is_read(~uint64_t{0} >> 1));
}

// A process that was killed while it moved a record leaves two copies: the older one is about to
// go.
TEST_F(PageStoreTest, OfTwoCopiesOfARecordTheNewerIsUsed) {
  std::vector<int64_t> ids;
  {
    const auto store = open();
    for (int i = 0; store->stats().n_segments < 2; ++i) ids.push_back(*append_page(*store, -1, i));
  }
  const std::string older = read_file(segment(1));
  const std::string newer = read_file(segment(2));
  const size_t stride = newer.size() - kSegmentHeaderBytes;
  write_file(segment(2), newer + older.substr(kSegmentHeaderBytes, stride));
  flip_bits(segment(1), kSegmentHeaderBytes + kRecordHeaderBytes, 1);
  const auto store = open();
  EXPECT_EQ(store->stats().n_records, static_cast<int64_t>(ids.size()));
  EXPECT_TRUE(holds_page(*store, ids[0], 0));
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(holds_page(*store, ids[i], static_cast<int>(i))) << i;
  }
  EXPECT_TRUE(notes_.empty());
}

// Records are worth moving when they were used later than most: at most half of them are.
TEST_F(PageStoreTest, WhatMostWereUsedAtIsNotRecent) {
  const auto store = open();
  std::vector<int64_t> ids;
  while (store->take_dropped().empty()) ids.push_back(*append_page(*store, -1, 0));
  const int64_t n_moved = store->stats().n_moved;
  const int64_t n_segments = store->stats().n_segments;
  // Three of five everywhere, at one time.
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % 5 < 3) store->touch(ids[i]);
  }
  for (int i = 0; store->take_dropped().empty(); ++i) {
    ASSERT_LT(i, 300);
    ASSERT_TRUE(append_page(*store, -1, 0).has_value());
  }
  EXPECT_EQ(store->stats().n_moved, n_moved);
  EXPECT_LE(store->stats().n_segments, n_segments);
}

TEST_F(PageStoreTest, TheBoundHoldsAndRecentUseDecides) {
  const auto store = open();
  const std::vector<int64_t> loved = append_chain(*store, -1, 0, 8);
  std::set<int64_t> live(loved.begin(), loved.end());
  int64_t n_most = 0;
  for (int i = 100; i < 6000; ++i) {
    if (i % 20 == 0) store->touch(loved.back());
    const Result<int64_t> id = append_page(*store, i % 3 == 0 ? -1 : *live.rbegin(), i);
    ASSERT_TRUE(id.has_value()) << id.error().message();
    live.insert(*id);
    for (const int64_t gone : store->take_dropped()) ASSERT_EQ(live.erase(gone), 1U);
    const int64_t n_bytes = store->stats().n_bytes;
    ASSERT_LE(n_bytes, config().max_bytes);
    n_most = std::max(n_most, n_bytes);
    if (i % 100 == 0) {
      ASSERT_EQ(bytes_in(folder_.path()), n_bytes);
      ASSERT_EQ(static_cast<size_t>(store->stats().n_records), live.size());
    }
  }
  EXPECT_GT(n_most, config().max_bytes * 17 / 20);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(holds_page(*store, loved[i], i)) << i;
  EXPECT_GT(store->stats().n_moved, 0);
  EXPECT_LT(store->stats().n_moved, store->stats().n_written);
  for (const PageStore::Record& record : store->records()) EXPECT_EQ(live.erase(record.id), 1U);
  EXPECT_TRUE(live.empty());
}

// Dropping whole segments keeps nearly what dropping single records by last use would.
TEST_F(PageStoreTest, HitsAreNearlyThoseOfLeastRecentlyUsed) {
  const auto store = open();
  const auto n_fitting = static_cast<size_t>(config().max_bytes / 1600);
  std::map<int, int64_t> ids;
  std::map<int64_t, int> pages;
  std::vector<int> recent;  // least recently used first, at most n_fitting
  int64_t n_hits = 0;
  int64_t n_recent_hits = 0;
  Rng rng(9);
  for (int i = 0; i < 12000; ++i) {
    // Page p is asked for about as often as 1/p.
    const int page = static_cast<int>(std::pow(3000.0, rng.uniform()));
    if (const auto known = ids.find(page); known != ids.end()) {
      ++n_hits;
      store->touch(known->second);
    } else {
      const Result<int64_t> id = append_page(*store, -1, page);
      ASSERT_TRUE(id.has_value());
      ids[page] = *id;
      pages[*id] = page;
    }
    for (const int64_t gone : store->take_dropped()) ids.erase(pages.at(gone));
    n_recent_hits += static_cast<int64_t>(std::erase(recent, page));
    recent.push_back(page);
    if (recent.size() > n_fitting) recent.erase(recent.begin());
  }
  EXPECT_GT(n_hits, n_recent_hits * 93 / 100) << n_recent_hits;
  RecordProperty("hits", static_cast<int>(n_hits));
  RecordProperty("lru_hits", static_cast<int>(n_recent_hits));
}

TEST_F(PageStoreTest, MovedRecordsAndDropsSurviveARestart) {
  std::vector<int64_t> loved;
  std::vector<PageStore::Record> before;
  {
    const auto store = open();
    loved = append_chain(*store, -1, 0, 8);
    for (int i = 100; i < 3000; ++i) {
      if (i % 20 == 0) store->touch(loved.back());
      ASSERT_TRUE(append_page(*store, loved[i % 8], i).has_value());
    }
    before = store->records();
    EXPECT_GT(store->stats().n_moved, 0);
  }
  const auto store = open();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(holds_page(*store, loved[i], i)) << i;
  std::set<int64_t> ids;
  for (const PageStore::Record& record : before) ids.insert(record.id);
  for (const PageStore::Record& record : store->records()) EXPECT_EQ(ids.erase(record.id), 1U);
  EXPECT_TRUE(ids.empty());
}

TEST_F(PageStoreTest, LowerBoundIsKeptFromTheStart) {
  {
    const auto store = open();
    for (int i = 0; i < 400; ++i) append_page(*store, -1, i).value();
  }
  PageStoreConfig smaller = config();
  smaller.max_bytes = 256 << 10;
  const auto store = open(smaller);
  EXPECT_LE(bytes_in(folder_.path()), smaller.max_bytes);
  EXPECT_GT(store->stats().n_records, 0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(append_page(*store, -1, i).has_value());
    ASSERT_LE(bytes_in(folder_.path()), smaller.max_bytes);
  }
}

TEST_F(PageStoreTest, FilesOfAnotherModelCountAndGoFirst) {
  PageStoreConfig other = config();
  other.model_hash[0] = 99;
  {
    const auto store = open(other);
    for (int i = 0; i < 500; ++i) append_page(*store, -1, i).value();
  }
  const auto store = open();
  const int64_t n_other = store->stats().n_bytes;
  EXPECT_GT(n_other, 500 * kPayload);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(append_page(*store, -1, i).has_value());
    ASSERT_LE(bytes_in(folder_.path()), config().max_bytes);
  }
}

TEST_F(PageStoreTest, OneStoreHasTheFolder) {
  auto store = open();
  const auto second = PageStore::open(config());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::unavailable);
  store.reset();
  EXPECT_TRUE(PageStore::open(config()).has_value());
}

TEST_F(PageStoreTest, FolderAndFilesAreForTheUserAlone) {
  namespace fs = std::filesystem;
  fs::remove_all(folder_.path());
  const auto store = open();
  append_chain(*store, -1, 0, 1);
  EXPECT_EQ(fs::status(folder_.path()).permissions(), fs::perms::owner_all);
  const fs::perms read_write = fs::perms::owner_read | fs::perms::owner_write;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.status().permissions(), read_write) << entry.path();
  }
}

TEST_F(PageStoreTest, NamesOfSegmentsAreReadAsTheyAreWritten) {
  for (const uint32_t number : {1U, 0xABCDEFU, uint32_t{INT32_MAX}}) {
    EXPECT_EQ(PageSegment::number_in(PageSegment::file_name(number)), number);
  }
  EXPECT_EQ(PageSegment::number_in(PageSegment::file_name(uint32_t{INT32_MAX} + 1)), 0U);
  EXPECT_EQ(PageSegment::number_in("0000000A.ruvpages"), 0U);
  EXPECT_EQ(PageSegment::number_in("1.ruvpages"), 0U);
}

// Chains reach back across segments and restarts: a parent may lie in any older file.
TEST_F(PageStoreTest, ParentsMayBeInOlderSegments) {
  int64_t parent = -1;
  for (int restart = 0; restart < 4; ++restart) {
    const auto store = open();
    parent = append_chain(*store, parent, restart * 60, 60).back();
  }
  const auto store = open();
  EXPECT_GT(store->stats().n_segments, 2);
  EXPECT_EQ(store->records().size(), 240U);
  EXPECT_EQ(store->records().back().id, parent);
}

TEST_F(PageStoreTest, LostSegmentTakesDescendantsAlong) {
  { append_chain(*open(), -1, 0, 240); }
  std::filesystem::remove(segment(2));
  const auto store = open();
  EXPECT_GT(store->stats().n_records, 10);
  EXPECT_LT(store->stats().n_records, 120);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("lack the pages before them"), std::string::npos);
  for (const PageStore::Record& record : store->records()) {
    std::vector<std::byte> payload(kPayload);
    EXPECT_TRUE(store->read(record.id, payload).ok());
  }
}

// Readers beside the writer, while records are moved and dropped (for the thread sanitizer).
TEST_F(PageStoreTest, ManyReadersBesideTheWriter) {
  const auto store = open();
  std::mutex mutex;
  std::map<int64_t, int> pages;
  std::atomic<bool> done{false};
  std::atomic<int64_t> n_read{0};
  const auto read_some = [&](uint64_t seed) {
    Rng rng(seed);
    while (!done) {
      std::pair<int64_t, int> page;
      {
        const std::lock_guard lock(mutex);
        if (pages.empty()) continue;
        auto at = pages.begin();
        std::advance(at, rng.below(std::min<size_t>(pages.size(), 64)));
        page = *at;
      }
      store->touch(page.first);
      std::vector<std::byte> payload(kPayload);
      const Status status = store->read(page.first, payload);
      ASSERT_TRUE(status.ok() || status.code() == Code::not_found) << status.message();
      if (status.ok()) {
        ASSERT_EQ(payload, payload_of(page.second));
        ++n_read;
      }
    }
  };
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 3; ++i) readers.emplace_back(read_some, i);
  int64_t parent = -1;
  for (int i = 0; i < 3000 || n_read < 100; ++i) {
    Result<int64_t> id = append_page(*store, i % 7 == 0 ? -1 : parent, i);
    if (!id) id = append_page(*store, -1, i);
    ASSERT_TRUE(id.has_value()) << id.error().message();
    parent = *id;
    const std::lock_guard lock(mutex);
    pages[*id] = i;
    for (const int64_t gone : store->take_dropped()) pages.erase(gone);
    if (i % 500 == 0) {
      EXPECT_TRUE(store->flush().ok());
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace ruv
