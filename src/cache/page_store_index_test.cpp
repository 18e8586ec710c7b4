// The forest of records against a plain list of them.
#include "cache/page_store_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"

namespace ruv {
namespace {

struct PlainRecord {
  int64_t parent;
  uint64_t used;
};
using PlainRecords = std::map<int64_t, PlainRecord>;

void touch(PlainRecords& records, int64_t id, uint64_t tick) {
  for (; id != -1; id = records.at(id).parent) {
    records.at(id).used = std::max(records.at(id).used, tick);
  }
}

std::set<int64_t> remove(PlainRecords& records, int64_t id) {
  std::set<int64_t> gone = {id};
  for (size_t before = 0; before != gone.size();) {
    before = gone.size();
    for (const auto& [child, record] : records) {
      if (gone.contains(record.parent)) gone.insert(child);
    }
  }
  for (const int64_t each : gone) records.erase(each);
  return gone;
}

TEST(RecordIndex, AgreesWithAPlainList) {
  RecordIndex index;
  PlainRecords plain;
  Rng rng(5);
  const auto any = [&] {
    auto at = plain.begin();
    std::advance(at, rng.below(plain.size()));
    return at->first;
  };
  for (int64_t i = 0; i < 3000; ++i) {
    const uint64_t choice = plain.empty() ? 0 : rng.below(20);
    const auto tick = static_cast<uint64_t>(i / 10 + 1);
    if (choice < 12) {
      const int64_t parent = plain.empty() || rng.below(10) == 0 ? -1 : any();
      ASSERT_TRUE(index.insert(i, parent, {{uint64_t(i), 0}}, {7, uint32_t(i)}));
      ASSERT_FALSE(index.insert(i, -1, {}, {}));
      plain[i] = {parent, 0};
    } else if (choice < 19) {
      const int64_t id = any();
      index.touch(id, tick);
      touch(plain, id, tick);
    } else {
      const int64_t id = any();
      std::vector<int64_t> removed;
      index.remove(id, removed);
      ASSERT_EQ(removed.front(), id);
      ASSERT_EQ(std::set<int64_t>(removed.begin(), removed.end()), remove(plain, id));
      ASSERT_FALSE(index.insert(i, id, {}, {})) << "below a record that went";
    }
    ASSERT_EQ(index.n_records(), static_cast<int64_t>(plain.size()));
  }
  std::set<int64_t> seen = {-1};
  std::vector<uint64_t> ticks;
  for (const RecordIndex::Item& item : index.parents_first()) {
    EXPECT_TRUE(seen.contains(item.parent));
    EXPECT_TRUE(seen.insert(item.id).second);
    EXPECT_EQ(item.parent, plain.at(item.id).parent);
    EXPECT_EQ(item.prefix.words[0], static_cast<uint64_t>(item.id));
    EXPECT_EQ(index.find(item.id)->used, plain.at(item.id).used);
    ticks.push_back(plain.at(item.id).used);
  }
  EXPECT_EQ(seen.size(), plain.size() + 1);
  std::sort(ticks.begin(), ticks.end());
  EXPECT_EQ(index.uses().oldest, ticks.front());
  EXPECT_EQ(index.uses().median, ticks[ticks.size() / 2]);
}

TEST(RecordIndex, WhatIsNotThereIsNotRemoved) {
  RecordIndex index;
  ASSERT_TRUE(index.insert(3, -1, {}, {}));
  std::vector<int64_t> removed;
  for (const int64_t id : {RecordIndex::kNone, int64_t{7}}) index.remove(id, removed);
  EXPECT_TRUE(removed.empty());
  EXPECT_EQ(index.n_records(), 1);
  EXPECT_TRUE(index.insert(4, -1, {}, {})) << "first pages still have their place";
}

TEST(RecordIndex, ChainsOfAnyLengthNeedNoStack) {
  RecordIndex index;
  constexpr int64_t kLength = 1'000'000;
  for (int64_t i = 0; i < kLength; ++i) ASSERT_TRUE(index.insert(i, i - 1, {}, {}));
  index.touch(kLength - 1, 1);
  EXPECT_EQ(index.uses().oldest, 1U);
  std::vector<int64_t> removed;
  index.remove(0, removed);
  EXPECT_EQ(removed.size(), static_cast<size_t>(kLength));
  EXPECT_EQ(index.n_records(), 0);
  EXPECT_EQ(index.uses().median, 0U);
}

}  // namespace
}  // namespace ruv
