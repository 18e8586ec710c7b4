// Memory runs out at each allocation in turn: the tree stays consistent, loses nothing, and the
// same call succeeds later. What must not allocate does not.
#include <gtest/gtest.h>

#include <functional>

#include "cache/leaf_order.h"
#include "cache/prefix_tree.h"
#include "fault/allocations.h"

namespace ruv::prefix_tree_fault_test {
namespace {

using Text = std::vector<PrefixCell>;

Text text(int n, Token first) {
  Text tokens(static_cast<size_t>(n));
  for (PrefixCell& cell : tokens) cell = PrefixCell(first++);
  return tokens;
}

// A tree with branches, records and a scope of its own, built the same way each time.
struct Forest {
  Forest() : pool(64), tree(pool, {.max_pages_per_tenant = 60}) {
    for (const Token last : {100, 200, 300}) {
      Text tokens = text(40, 0);
      tokens.back() = PrefixCell(last);
      keep(tokens);
    }
    tree.add_record("", -1, text(16, 0), 1);
    tree.add_record("", 1, text(16, 16), 2);
    EXPECT_TRUE(pool.reserve(4, pages));
  }
  ~Forest() {
    for (PageId page : pages) pool.release(page);
    EXPECT_TRUE(pool.consistent() && tree.consistent());
    const int64_t n_left = pool.n_evictable();
    EXPECT_EQ(tree.evict(64), n_left);
    EXPECT_EQ(pool.n_free(), 64);
  }
  void keep(const Text& tokens) {
    std::vector<PageId> own;
    EXPECT_TRUE(pool.reserve(3, own));
    tree.insert("", tokens, own, true);
    for (PageId page : own) pool.release(page);
  }
  int64_t found(std::string_view scope, const Text& tokens) {
    PrefixTree::Match match;
    tree.match(scope, tokens, match);
    return match.n_tokens;
  }

  PagePool pool;
  PrefixTree tree;
  std::vector<PageId> pages;
};

// Runs `call` on new forests, failing its 1st, 2nd, … allocation until none is left to fail.
// Returns how many failed.
int64_t fail_each_allocation(const std::function<void(Forest&)>& call) {
  for (int64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    Forest forest;
    const int64_t before = forest.found("", text(39, 0));
    const int64_t n_records = forest.tree.stats().disk_pages;
    fail_allocations(n);
    bool failed = false;
    try {
      call(forest);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    let_allocations_succeed();
    EXPECT_TRUE(forest.tree.consistent());
    EXPECT_TRUE(forest.pool.consistent());
    if (!failed) return n - 1;
    EXPECT_EQ(forest.found("", text(39, 0)), before);
    EXPECT_EQ(forest.tree.stats().disk_pages, n_records);
    for (PageId page : forest.pages) EXPECT_GT(forest.pool.references(page), 0);
    call(forest);
    EXPECT_TRUE(forest.tree.consistent());
  }
}

TEST(PrefixTreeFault, Insert) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const std::string scope = "a scope whose name is not short enough for its string object";
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              forest.tree.insert(scope, text(60, 0), forest.pages, true);
              EXPECT_EQ(forest.found(scope, text(60, 0)), 60);
            }),
            5);
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              Text tokens = text(60, 0);
              tokens[20] = PrefixCell(7);
              forest.tree.insert("", tokens, forest.pages, true);
              EXPECT_EQ(forest.found("", tokens), 60);
            }),
            2);
  // Rows of media, which need memory of their own: after the page that is not full, and in it.
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              Text tokens = text(60, 0);
              std::fill(tokens.begin() + 39, tokens.end(), PrefixCell::of_hash(1));
              tokens[35] = PrefixCell::of_hash(2);
              forest.tree.insert("", tokens, forest.pages, true);
              EXPECT_EQ(forest.found("", tokens), 60);
            }),
            2);
}

TEST(PrefixTreeFault, GrowByRows) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  Text tokens = text(40, 0);
  tokens.back() = PrefixCell(100);
  tokens.resize(48, PrefixCell::of_hash(1));
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              forest.tree.insert("", tokens, forest.pages, true);
              EXPECT_EQ(forest.found("", tokens), 48);
            }),
            0);
}

TEST(PrefixTreeFault, AddRecord) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              EXPECT_TRUE(forest.tree.add_record("new", -1, text(16, 0), 7));
            }),
            3);
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              EXPECT_TRUE(forest.tree.add_record("", 2, text(16, 32), 7));
            }),
            1);
}

TEST(PrefixTreeFault, ForgetRecord) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_GT(fail_each_allocation([&](Forest& forest) { forest.tree.forget_record(1); }), 0);
}

TEST(PrefixTreeFault, NextUnwritten) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_GT(fail_each_allocation([&](Forest& forest) {
              forest.tree.insert("new", text(60, 0), forest.pages, false);
              PrefixTree::WriteBatch batch;
              forest.tree.next_unwritten(3, batch);
              EXPECT_EQ(batch.pages.size(), 3U);
            }),
            2);
}

TEST(PrefixTreeFault, FindingAndMakingRoomAllocateNothing) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  Forest forest;
  PrefixTree::Match match;
  match.entries.reserve(8);
  const Text tokens = text(40, 0);
  const int64_t before = n_allocations();
  forest.tree.match("", tokens, match);
  forest.tree.touch("", tokens);
  forest.tree.match("unknown", tokens, match);
  EXPECT_EQ(forest.tree.evict(64), 5);
  EXPECT_EQ(n_allocations(), before);
}

// The second order, by tenants, costs nothing where no tenant has a quota.
TEST(PrefixTreeFault, LeavesAreOrderedByTenantOnlyWhereAskedFor) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  const auto allocations_of = [](bool by_tenant) {
    LeafOrder order(by_tenant);
    const int64_t before = n_allocations();
    for (int32_t i = 0; i < 10; ++i) order.add({.value = i, .node = i});
    return n_allocations() - before;
  };
  EXPECT_EQ(allocations_of(false), 10);
  EXPECT_EQ(allocations_of(true), 20);
}

}  // namespace
}  // namespace ruv::prefix_tree_fault_test
