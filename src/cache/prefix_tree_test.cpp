// Rules of the prefix tree, one by one. Random use of them all: prefix_tree_property_test.cpp.
#include "cache/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cache/content_cells.h"

namespace ruv {
namespace {

using Text = std::vector<PrefixCell>;
using Miss = PrefixTree::Miss;

// Tokens first, first + 1, …
Text text(int n, Token first = 0) {
  Text tokens(static_cast<size_t>(n));
  for (PrefixCell& cell : tokens) cell = PrefixCell(first++);
  return tokens;
}
Text operator+(Text a, const Text& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Cache {
  explicit Cache(int64_t n_pages = 64, PrefixTree::Limits limits = {})
      : pool(n_pages), tree(pool, limits) {}
  ~Cache() { EXPECT_TRUE(tree.consistent() && pool.consistent()); }

  // Pages for these tokens, as a sequence holds them.
  std::vector<PageId> pages_for(const Text& tokens) {
    std::vector<PageId> pages;
    const auto n = static_cast<int64_t>(tokens.size() + kPageTokens - 1) / kPageTokens;
    EXPECT_TRUE(pool.reserve(n, pages));
    return pages;
  }
  void release(const std::vector<PageId>& pages) {
    for (PageId page : pages) pool.release(page);
  }
  // A sequence computes the tokens, keeps and leaves them.
  std::vector<PageId> keep(const Text& tokens, std::string_view scope = "", bool partial = true) {
    std::vector<PageId> pages = pages_for(tokens);
    tree.insert(scope, tokens, pages, partial);
    EXPECT_TRUE(tree.consistent());
    release(pages);
    return pages;
  }
  PrefixTree::Match find(const Text& tokens, std::string_view scope = "") const {
    PrefixTree::Match match;
    tree.match(scope, tokens, match);
    return match;
  }
  int64_t found(const Text& tokens, std::string_view scope = "") const {
    return find(tokens, scope).n_tokens;
  }

  PagePool pool;
  PrefixTree tree;
};

TEST(PrefixTree, FindsTheLongestBeginningAtAnyToken) {
  Cache cache;
  const auto pages = cache.keep(text(40));
  for (int n = 0; n <= 40; ++n) {
    const auto match = cache.find(text(n));
    EXPECT_EQ(match.n_tokens, n);
    EXPECT_EQ(match.entries.size(), static_cast<size_t>((n + 15) / 16));
    EXPECT_EQ(match.miss, Miss::none);
  }
  const auto match = cache.find(text(40) + text(100, 500));
  EXPECT_EQ(match.n_tokens, 40);
  ASSERT_EQ(match.entries.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(match.entries[i].page, pages[i]);
}

TEST(PrefixTree, TextsThatPartInsideAPageAreBothFound) {
  Cache cache;
  const Text left = text(20) + text(30, 100), right = text(20) + text(30, 200);
  cache.keep(left);
  cache.keep(right);
  EXPECT_EQ(cache.pool.n_cached(), 4 + 3) << "the first page is shared, the second is not";
  EXPECT_EQ(cache.found(left), 50);
  EXPECT_EQ(cache.found(right), 50);
  const auto match = cache.find(text(20) + text(9, 300));
  EXPECT_EQ(match.n_tokens, 20);
  EXPECT_EQ(match.miss, Miss::diverged);
}

TEST(PrefixTree, SaysWhyNoMoreWasFound) {
  Cache cache(4);
  EXPECT_EQ(cache.find(text(20)).miss, Miss::unknown);
  cache.keep(text(32));
  EXPECT_EQ(cache.find(text(20, 7)).miss, Miss::unknown) << "nothing begins so";
  EXPECT_EQ(cache.find(text(40)).miss, Miss::unknown) << "nothing goes on";
  EXPECT_EQ(cache.find(text(16) + text(20, 90)).miss, Miss::diverged);
  EXPECT_EQ(cache.find(text(20) + text(20, 90)).miss, Miss::diverged);
  EXPECT_EQ(cache.find({}).miss, Miss::none);
  cache.tree.evict(1);
  EXPECT_EQ(cache.find(text(32)).miss, Miss::evicted);
  EXPECT_EQ(cache.found(text(32)), 16);
  cache.tree.evict(1);
  EXPECT_EQ(cache.find(text(32)).miss, Miss::evicted) << "the scope itself is gone";
  EXPECT_EQ(cache.tree.stats().scopes, 0);
}

TEST(PrefixTree, NothingGoesOnBehindAPartialPage) {
  Cache cache;
  cache.keep(text(20));
  EXPECT_EQ(cache.find(text(30)).miss, Miss::unknown);
  EXPECT_EQ(cache.find(text(19) + text(9, 70)).miss, Miss::diverged);
}

TEST(PrefixTree, ScopesShareNothing) {
  Cache cache;
  cache.keep(text(32), "one");
  EXPECT_EQ(cache.found(text(32), "two"), 0);
  EXPECT_EQ(cache.found(text(32), std::string_view("one\0salt", 8)), 0);
  EXPECT_EQ(cache.found(text(32), "one"), 32);
}

TEST(PrefixTree, EqualPagesAreExchanged) {
  Cache cache;
  const auto kept = cache.keep(text(32));
  auto pages = cache.pages_for(text(48));
  const auto own = pages;
  cache.tree.insert("", text(48), pages, false);
  EXPECT_EQ(pages[0], kept[0]);
  EXPECT_EQ(pages[1], kept[1]);
  EXPECT_EQ(pages[2], own[2]);
  EXPECT_EQ(cache.pool.references(own[0]), 0);
  EXPECT_EQ(cache.pool.references(kept[0]), 2);
  EXPECT_EQ(cache.pool.n_cached(), 3);
  cache.release(pages);
}

TEST(PrefixTree, PartialPageIsKeptOnlyWhenAskedAndNeverExchanged) {
  Cache cache;
  cache.keep(text(20), "", false);
  EXPECT_EQ(cache.found(text(20)), 16);
  cache.keep(text(20), "", true);
  EXPECT_EQ(cache.found(text(20)), 20);
  auto pages = cache.pages_for(text(20));
  const PageId own = pages[1];
  cache.tree.insert("", text(20), pages, true);
  EXPECT_EQ(pages[1], own) << "its owner goes on writing there";
  EXPECT_FALSE(cache.pool.cached(own));
  cache.release(pages);
}

TEST(PrefixTree, PartialPageGrowsInPlace) {
  Cache cache;
  auto pages = cache.pages_for(text(32));
  for (int n = 17; n <= 32; ++n) {
    cache.tree.insert("", text(n), std::span(pages).first(2), true);
    EXPECT_EQ(cache.found(text(40)), n);
    EXPECT_EQ(cache.pool.n_cached(), 2);
    EXPECT_EQ(cache.tree.stats().memory_tokens, n);
  }
  cache.tree.insert("", text(20), pages, true);
  EXPECT_EQ(cache.found(text(40)), 32) << "less than is known changes nothing";
  cache.release(pages);
}

TEST(PrefixTree, LongerPageOfAnotherTakesAPartialPagesPlace) {
  Cache cache;
  const auto first = cache.keep(text(18));
  const auto second = cache.keep(text(25));
  EXPECT_EQ(cache.pool.references(first[1]), 0);
  EXPECT_EQ(cache.find(text(25)).entries[1].page, second[1]);
  cache.keep(text(18) + text(3, 70));
  EXPECT_EQ(cache.pool.n_cached(), 3);
  EXPECT_EQ(cache.found(text(25)), 25);
  EXPECT_EQ(cache.found(text(18) + text(3, 70)), 21);
}

TEST(PrefixTree, EvictsTailsFirstAndNothingThatIsHeld) {
  Cache cache;
  auto pages = cache.pages_for(text(48));
  cache.tree.insert("", text(48), pages, false);
  EXPECT_EQ(cache.tree.evict(3), 0);
  cache.pool.release(pages[2]);
  cache.pool.release(pages[1]);
  EXPECT_EQ(cache.pool.n_evictable(), 2);
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.found(text(48)), 32);
  EXPECT_EQ(cache.tree.evict(9), 1);
  EXPECT_EQ(cache.found(text(48)), 16);
  cache.pool.release(pages[0]);
  EXPECT_EQ(cache.tree.evict(9), 1);
  EXPECT_EQ(cache.pool.n_free(), 64);
  EXPECT_EQ(cache.tree.stats().evicted_pages, 3);
}

TEST(PrefixTree, EvictsWhatWasUsedLongestAgo) {
  Cache cache;
  for (Token i = 0; i < 4; ++i) cache.keep(text(16, i * 100));
  cache.keep(text(16));
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.found(text(16)), 16) << "just kept again";
  EXPECT_EQ(cache.found(text(16, 100)), 0);
}

TEST(PrefixTree, WhatIsFoundAgainStaysLonger) {
  Cache cache;
  cache.keep(text(16));
  cache.tree.touch("", text(16));
  for (Token i = 1; i < 4; ++i) cache.keep(text(16, i * 100));
  EXPECT_EQ(cache.tree.evict(3), 3);
  EXPECT_EQ(cache.found(text(16)), 16);
}

TEST(PrefixTree, WhatGoesOnAFavouriteIsOne) {
  Cache cache;
  cache.keep(text(16));
  cache.tree.touch("", text(16));
  cache.keep(text(32));
  cache.keep(text(32, 100));
  EXPECT_EQ(cache.tree.evict(2), 2);
  EXPECT_EQ(cache.found(text(32)), 32);
}

TEST(PrefixTree, OneOfManyBehindAFavouriteIsNoFavourite) {
  Cache cache;
  cache.keep(text(32));
  cache.tree.touch("", text(32));
  cache.keep(text(16) + text(16, 300));
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.found(text(32)), 32);
  EXPECT_EQ(cache.found(text(16) + text(16, 300)), 16);
}

TEST(PrefixTree, UnusedFavouritesFade) {
  Cache cache(8);
  cache.keep(text(16));
  for (int i = 0; i < 9; ++i) cache.tree.touch("", text(16));
  for (Token i = 1; i < 50; ++i) {
    if (cache.pool.n_free() == 0) cache.tree.evict(1);
    cache.keep(text(16, i * 100));
  }
  EXPECT_EQ(cache.found(text(16)), 0);
}

TEST(PrefixTree, DeepPagesCostMore) {
  Cache cache(1024);
  cache.keep(text(8192, 1000));
  cache.keep(text(16));
  cache.tree.evict(1);
  EXPECT_EQ(cache.found(text(16)), 0) << "kept later, but cheap to compute again";
  EXPECT_EQ(cache.found(text(8192, 1000)), 8192);
}

TEST(PrefixTree, TenantAboveItsQuotaGoesFirst) {
  Cache cache(64, {.max_pages_per_tenant = 3});
  cache.keep(text(16), "small");
  cache.keep(text(48), std::string_view("big\0a", 5));
  cache.keep(text(48), std::string_view("big\0b", 5));
  EXPECT_EQ(cache.tree.tenant_pages("big"), 6);
  EXPECT_EQ(cache.tree.evict(3), 3);
  EXPECT_EQ(cache.tree.tenant_pages("big"), 3);
  EXPECT_EQ(cache.tree.tenant_pages("small"), 1);
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.tree.tenant_pages("small"), 0) << "within its quota nobody is special";
  EXPECT_EQ(cache.tree.evict(9), 3);
  EXPECT_EQ(cache.tree.tenant_pages("big"), 0);
}

TEST(PrefixTree, NeverHoldsMoreThanItsLimit) {
  Cache cache(64, {.max_pages = 3});
  cache.keep(text(32));
  cache.keep(text(32, 100));
  EXPECT_EQ(cache.pool.n_cached(), 3);
  EXPECT_EQ(cache.found(text(32, 100)), 32);
  EXPECT_EQ(cache.found(text(32)), 16);
  cache.keep(text(160, 500));
  EXPECT_EQ(cache.pool.n_cached(), 3);
  EXPECT_EQ(cache.found(text(160, 500)), 48) << "the first ones: its own are held";
}

TEST(PrefixTree, LimitOfOnePageMovesOn) {
  Cache cache(64, {.max_pages = 1});
  cache.keep(text(16));
  cache.keep(text(16, 100));
  EXPECT_EQ(cache.found(text(16)), 0) << "its scope is empty for a moment";
  EXPECT_EQ(cache.found(text(16, 100)), 16);
  cache.tree.add_record("", -1, text(16, 200), 1);
  auto held = cache.pages_for(text(16, 100));
  cache.tree.insert("", text(16, 100), held, false);
  cache.keep(text(16, 200));
  EXPECT_EQ(cache.find(text(16, 200)).entries[0].page, -1) << "no room while another is held";
  cache.release(held);
  cache.keep(text(16, 200));
  EXPECT_GE(cache.find(text(16, 200)).entries[0].page, 0);
  EXPECT_EQ(cache.pool.n_cached(), 1);
}

// --- Media -------------------------------------------------------------------------------------

// Rows of one medium, the first of them being its row `first`.
Text rows(int n, std::string_view content, int64_t first = 0) {
  const ContentCells cells(as_bytes(content), {1, 2});
  Text all;
  for (int64_t row = first; row < first + n; ++row) all.push_back(cells.at(row));
  return all;
}

TEST(PrefixTree, TextsWithTheSameMediumShareIt) {
  Cache cache;
  const Text before = text(20) + rows(40, "heron");
  cache.keep(before + text(10, 100));
  EXPECT_EQ(cache.found(text(20) + rows(40, "heron") + text(10, 100)), 70);
  EXPECT_EQ(cache.found(before + text(10, 200)), 60);
  EXPECT_EQ(cache.found(text(20) + rows(30, "heron") + text(10, 100)), 50) << "cut after 30 rows";
}

TEST(PrefixTree, TextsThatDifferInOneRowShareNothingAfterIt) {
  Cache cache;
  const Text same = rows(30, "heron") + text(50);
  for (const int at : {0, 15, 16, 31}) {
    Text left = text(at) + rows(1, "wren") + same;
    Text right = text(at) + rows(1, "robin") + same;
    cache.keep(left, std::to_string(at));
    EXPECT_EQ(cache.found(right, std::to_string(at)), at);
    cache.keep(right, std::to_string(at));
    EXPECT_EQ(cache.found(left, std::to_string(at)), at + 81);
    EXPECT_EQ(cache.found(right, std::to_string(at)), at + 81);
  }
}

TEST(PrefixTree, ARowMatchesNeitherATokenNorAnotherRow) {
  Cache cache;
  cache.keep(rows(32, "heron"));
  EXPECT_EQ(cache.found(rows(32, "heron", 1)), 0) << "the same medium, cut at its beginning";
  const auto low_half = static_cast<Token>(rows(1, "heron")[0].bits() & INT32_MAX);
  EXPECT_EQ(cache.found(text(1, low_half)), 0);
  cache.keep(text(16, low_half));
  EXPECT_EQ(cache.found(text(16, low_half)), 16);
  EXPECT_EQ(cache.found(rows(32, "heron")), 32);
}

TEST(PrefixTree, APartialPageGrowsByRows) {
  Cache cache;
  const Text all = text(18) + rows(20, "heron") + text(10, 100);
  auto pages = cache.pages_for(all);
  for (size_t n = 17; n <= all.size(); ++n) {
    const auto part = std::span(all).first(n);
    cache.tree.insert("", part, pages, true);
    EXPECT_TRUE(cache.tree.consistent());
    EXPECT_EQ(cache.found(all), static_cast<int64_t>(n));
  }
  cache.release(pages);
}

// --- Disk --------------------------------------------------------------------------------------

Text part(const Text& tokens, int page) {
  return {tokens.begin() + page * kPageTokens, tokens.begin() + (page + 1) * kPageTokens};
}

TEST(PrefixTreeDisk, WholePagesAreWrittenParentsFirst) {
  Cache cache;
  const auto pages = cache.keep(text(56), "scope");
  PrefixTree::WriteBatch batch;
  cache.tree.next_unwritten(2, batch);
  ASSERT_EQ(batch.pages.size(), 2U);
  EXPECT_EQ(batch.pages[0].page, pages[0]);
  EXPECT_EQ(batch.pages[0].scope, "scope");
  EXPECT_EQ(batch.pages[0].parent_record, -1);
  EXPECT_EQ(batch.pages[0].parent, -1);
  EXPECT_EQ(batch.pages[1].page, pages[1]);
  EXPECT_EQ(batch.pages[1].scope, "");
  EXPECT_EQ(batch.pages[1].parent, 0);
  EXPECT_TRUE(cache.tree.add_record("scope", -1, part(text(56), 0), 10));
  EXPECT_TRUE(cache.tree.add_record("scope", 10, part(text(56), 1), 11));
  cache.tree.next_unwritten(9, batch);
  ASSERT_EQ(batch.pages.size(), 1U) << "the partial page is not written";
  EXPECT_EQ(batch.pages[0].page, pages[2]);
  EXPECT_EQ(batch.pages[0].parent_record, 11);
  EXPECT_TRUE(std::ranges::equal(batch.pages[0].cells, text(16, 32)));
  EXPECT_EQ(std::set<PageId>(batch.held.begin(), batch.held.end()),
            std::set<PageId>(pages.begin(), pages.begin() + 3));
  EXPECT_TRUE(cache.tree.add_record("scope", 11, part(text(56), 2), 12));
  EXPECT_FALSE(cache.tree.has_unwritten());
}

TEST(PrefixTreeDisk, RowsOfMediaAreWrittenAndLoaded) {
  Cache cache;
  const Text all = text(8) + rows(32, "heron");
  cache.keep(all);
  PrefixTree::WriteBatch batch;
  cache.tree.next_unwritten(9, batch);
  ASSERT_EQ(batch.pages.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(batch.pages[0].cells, part(all, 0)));
  Cache later;
  EXPECT_TRUE(later.tree.add_record("", -1, batch.pages[0].cells, 1));
  EXPECT_TRUE(later.tree.add_record("", 1, batch.pages[1].cells, 2));
  EXPECT_EQ(later.found(all), 32);
  EXPECT_EQ(later.found(text(8) + rows(32, "wren")), 8);
}

TEST(PrefixTreeDisk, HeldBatchKeepsTheBooksExact) {
  Cache cache;
  cache.keep(text(64));
  cache.tree.add_record("", -1, part(text(64), 0), 1);
  cache.tree.add_record("", 1, part(text(64), 1), 2);
  PrefixTree::WriteBatch batch;
  cache.tree.next_unwritten(1, batch);
  for (PageId page : batch.held) cache.pool.share(page);
  EXPECT_EQ(cache.pool.n_evictable(), 1);
  EXPECT_EQ(cache.tree.evict(9), 1);
  cache.release(batch.held);
  EXPECT_EQ(cache.tree.evict(9), 3);
}

TEST(PrefixTreeDisk, EvictedPageWithARecordIsStillFound) {
  Cache cache;
  const Text tokens = text(32);
  cache.keep(tokens);
  cache.tree.add_record("", -1, part(tokens, 0), 5);
  cache.tree.add_record("", 5, part(tokens, 1), 6);
  EXPECT_EQ(cache.tree.evict(2), 2);
  const auto match = cache.find(text(30));
  EXPECT_EQ(match.n_tokens, 30);
  ASSERT_EQ(match.entries.size(), 2U);
  EXPECT_EQ(match.entries[0].page, -1);
  EXPECT_EQ(match.entries[0].record, 5);
  EXPECT_EQ(match.entries[1].record, 6);
  const auto restored = cache.keep(tokens);
  EXPECT_EQ(cache.find(tokens).entries[1].page, restored[1]);
  EXPECT_EQ(cache.find(tokens).entries[1].record, 6);
  EXPECT_FALSE(cache.tree.has_unwritten());
  EXPECT_EQ(cache.tree.stats().known_tokens, 32);
}

TEST(PrefixTreeDisk, RecordsAreLoadedAtStart) {
  Cache cache;
  const Text tokens = text(48);
  EXPECT_FALSE(cache.tree.add_record("s", 1, part(tokens, 1), 2)) << "its parent is not known";
  EXPECT_EQ(cache.tree.stats().scopes, 0);
  EXPECT_TRUE(cache.tree.add_record("s", -1, part(tokens, 0), 1));
  EXPECT_FALSE(cache.tree.add_record("s", -1, part(tokens, 0), 7)) << "these tokens are on disk";
  EXPECT_FALSE(cache.tree.add_record("s", -1, part(tokens, 1), 1)) << "the record is known";
  EXPECT_TRUE(cache.tree.add_record("s", 1, part(tokens, 1), 2));
  EXPECT_EQ(cache.found(tokens, "s"), 32);
  EXPECT_EQ(cache.tree.stats().disk_pages, 2);
  EXPECT_EQ(cache.tree.stats().known_tokens, 32);
  EXPECT_EQ(cache.tree.evict(5), 0);
}

TEST(PrefixTreeDisk, PageEvictedWhileItIsWrittenIsKnownFromDisk) {
  Cache cache;
  cache.keep(text(16));
  PrefixTree::WriteBatch batch;
  cache.tree.next_unwritten(1, batch);
  cache.tree.evict(1);
  EXPECT_EQ(cache.found(text(16)), 0);
  EXPECT_TRUE(cache.tree.add_record(batch.pages[0].scope, -1, batch.pages[0].cells, 3));
  EXPECT_EQ(cache.find(text(16)).entries.at(0).record, 3);
}

TEST(PrefixTreeDisk, RecordTakesThePlaceOfAPartialPage) {
  Cache cache;
  const auto pages = cache.keep(text(9));
  EXPECT_TRUE(cache.tree.add_record("", -1, text(16), 3));
  EXPECT_EQ(cache.pool.references(pages[0]), 0);
  EXPECT_EQ(cache.found(text(16)), 16);
}

TEST(PrefixTreeDisk, ForgottenRecordTakesThoseBehindItAlong) {
  Cache cache;
  const Text tokens = text(64);
  auto pages = cache.pages_for(tokens);
  cache.tree.insert("", tokens, pages, false);
  for (int i = 0; i < 4; ++i) cache.tree.add_record("", i == 0 ? -1 : i, part(tokens, i), i + 1);
  cache.pool.release(pages[3]);
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.found(tokens), 64);
  cache.tree.forget_record(99);
  cache.tree.forget_record(2);
  EXPECT_TRUE(cache.tree.consistent());
  EXPECT_EQ(cache.tree.stats().disk_pages, 1);
  EXPECT_EQ(cache.found(tokens), 48) << "the page that was only on disk is gone";
  PrefixTree::WriteBatch batch;
  cache.tree.next_unwritten(9, batch);
  ASSERT_EQ(batch.pages.size(), 2U);
  EXPECT_EQ(batch.pages[0].page, pages[1]);
  EXPECT_EQ(batch.pages[0].parent_record, 1);
  cache.pool.release(pages[0]);
  cache.pool.release(pages[1]);
  cache.pool.release(pages[2]);
}

}  // namespace
}  // namespace ruv
