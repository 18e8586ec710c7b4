// Random use of tree and pool against brute force: every page found has the keys and values of the
// tokens it is found for, nothing that is kept is missed, and evict gives what it promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "cache/prefix_tree.h"

namespace ruv::prefix_tree_property_test {
namespace {

using Text = std::vector<PrefixCell>;

int64_t n_common(const Text& a, const Text& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

// What stands in for the keys and values of the last cell: it depends on all before.
uint64_t state_after(uint64_t before, PrefixCell cell) {
  return (before ^ (cell.bits() + 1)) * 0x9E3779B97F4A7C15ULL;
}

class Play {
 public:
  Play(uint64_t seed, bool short_of_pages)
      : rng_(seed),
        short_of_pages_(short_of_pages),
        pool_(short_of_pages ? 40 : 4000),
        limits_(short_of_pages ? limits(seed) : PrefixTree::Limits{}),
        tree_(pool_, limits_),
        slots_(static_cast<size_t>(pool_.n_pages())) {}

  void run(int n_steps) {
    for (int i = 0; i < n_steps && !::testing::Test::HasFailure(); ++i) {
      const uint64_t what = rng_.below(16);
      SCOPED_TRACE("step " + std::to_string(i) + " does " + std::to_string(what));
      step(what);
      ASSERT_TRUE(pool_.consistent());
      ASSERT_TRUE(tree_.consistent());
      check(some_text());
    }
    while (!sequences_.empty()) stop(sequences_.size() - 1);
    EXPECT_EQ(pool_.n_free() + pool_.n_evictable(), pool_.n_pages());
    const int64_t n_left = pool_.n_evictable();
    EXPECT_EQ(tree_.evict(n_left), n_left);
    EXPECT_EQ(pool_.n_free(), pool_.n_pages());
    EXPECT_TRUE(tree_.consistent());
  }

 private:
  struct Sequence {
    std::string scope;
    Text tokens;
    std::vector<PageId> pages;
  };
  struct Record {
    std::string scope;
    Text tokens;  // from the beginning
    std::vector<uint64_t> states;
  };

  static PrefixTree::Limits limits(uint64_t seed) {
    return {.max_pages = seed % 3 == 0 ? 12 : 0, .max_pages_per_tenant = seed % 2 == 0 ? 6 : 0};
  }

  void step(uint64_t what) {
    if (what < 4) return start();
    if (what < 7 && !sequences_.empty()) return go_on(pick());
    if (what < 10 && !sequences_.empty()) return keep(pick());
    if (what < 12 && !sequences_.empty()) return stop(pick());
    if (what == 12 && short_of_pages_) return evict(static_cast<int64_t>(rng_.below(8)));
    if (what == 13) return write_some();
    if (what == 14) return tell_of_records();
    if (what == 15 && short_of_pages_ && rng_.below(3) == 0) return forget();
  }
  size_t pick() { return rng_.below(sequences_.size()); }

  // Scopes of two tenants; texts of few tokens that mostly begin like one that was kept.
  std::string some_scope() {
    const std::string_view all[] = {"", std::string_view("\0salt", 5), "b",
                                    std::string_view("b\0x", 3)};
    return std::string(all[rng_.below(4)]);
  }
  // Two tokens, and rarely a row of a medium whose low half is a token's.
  PrefixCell some_cell() {
    const uint64_t word = rng_.below(2);
    const bool row = rng_.below(24) == 0;
    return row ? PrefixCell::of_hash(word << 32 | word) : PrefixCell(static_cast<Token>(word));
  }
  Text some_text() {
    Text text;
    if (!kept_.empty() && rng_.below(8) != 0) {
      text = kept_[rng_.below(kept_.size())].second;
      text.resize(rng_.below(text.size() + 1));
    }
    for (uint64_t n = rng_.below(40); n > 0; --n) text.push_back(some_cell());
    return text;
  }

  uint64_t& slot(PageId page, int64_t at) {
    return slots_[static_cast<size_t>(page)][static_cast<size_t>(at % kPageTokens)];
  }
  static std::vector<uint64_t> states_of(std::string_view scope, const Text& tokens) {
    std::vector<uint64_t> states;
    uint64_t state = std::hash<std::string_view>()(scope);
    for (PrefixCell cell : tokens) states.push_back(state = state_after(state, cell));
    return states;
  }

  // A free page, made if need be; -1: there is none.
  PageId free_page() {
    std::vector<PageId> page;
    if (pool_.n_free() == 0) evict(1);
    return pool_.reserve(1, page) ? page[0] : -1;
  }
  // Computes tokens [from, end) of a sequence, as far as there are pages.
  void compute(Sequence& sequence, size_t from) {
    const std::vector<uint64_t> states = states_of(sequence.scope, sequence.tokens);
    for (size_t i = from; i < states.size(); ++i) {
      if (i / kPageTokens == sequence.pages.size()) {
        const PageId page = free_page();
        if (page < 0) return sequence.tokens.resize(i);
        sequence.pages.push_back(page);
      }
      slot(sequence.pages[i / kPageTokens], static_cast<int64_t>(i)) = states[i];
    }
  }

  void start() {
    Sequence sequence = {some_scope(), some_text(), {}};
    PrefixTree::Match match;
    tree_.match(sequence.scope, sequence.tokens, match);
    if (rng_.below(2) == 0) tree_.touch(sequence.scope, sequence.tokens);
    size_t n_known = 0;
    for (const PrefixTree::Entry& entry : match.entries) {
      const auto n_left = static_cast<size_t>(match.n_tokens) - n_known;
      PageId page = entry.page;
      if (page >= 0 && n_left >= kPageTokens) {
        pool_.share(page);
      } else if (page >= 0) {
        pool_.share(page);  // it must stay while room for its copy is made
        const PageId copy = free_page();
        pool_.release(page);
        if (copy < 0) break;
        slots_[static_cast<size_t>(copy)] = slots_[static_cast<size_t>(page)];
        page = copy;
      } else {
        page = rng_.below(2) == 0 ? free_page() : -1;
        if (page < 0) break;
        restore(entry.record, page);
      }
      sequence.pages.push_back(page);
      n_known += std::min<size_t>(kPageTokens, n_left);
    }
    compute(sequence, n_known);
    sequences_.push_back(std::move(sequence));
  }
  void restore(int64_t record, PageId page) {
    const Record& from = disk_.at(record);
    for (size_t i = from.states.size() - kPageTokens; i < from.states.size(); ++i)
      slot(page, static_cast<int64_t>(i)) = from.states[i];
  }
  void go_on(size_t at) {
    Sequence& sequence = sequences_[at];
    const size_t n = sequence.tokens.size();
    for (uint64_t i = rng_.below(30); i > 0; --i) sequence.tokens.push_back(some_cell());
    compute(sequence, n);
  }
  void keep(size_t at) {
    Sequence& sequence = sequences_[at];
    const bool partial = rng_.below(2) == 0;
    tree_.insert(sequence.scope, sequence.tokens, sequence.pages, partial);
    Text kept = sequence.tokens;
    if (!partial) kept.resize(kept.size() / kPageTokens * kPageTokens);
    kept_.emplace_back(sequence.scope, std::move(kept));
    const std::vector<uint64_t> states = states_of(sequence.scope, sequence.tokens);
    for (size_t i = 0; i < states.size(); ++i)
      ASSERT_EQ(slot(sequence.pages[i / kPageTokens], static_cast<int64_t>(i)), states[i]);
    ASSERT_TRUE(limits_.max_pages == 0 || pool_.n_cached() <= limits_.max_pages);
  }
  void stop(size_t at) {
    std::vector<PageId>& pages = sequences_[at].pages;
    if (rng_.below(2) == 0) std::reverse(pages.begin(), pages.end());
    for (PageId page : pages) pool_.release(page);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // All pages that matches of what was ever kept lead to.
  std::set<PageId> reachable() {
    std::set<PageId> pages;
    PrefixTree::Match match;
    for (const auto& [scope, text] : kept_) {
      tree_.match(scope, text, match);
      for (const PrefixTree::Entry& entry : match.entries)
        if (entry.page >= 0) pages.insert(entry.page);
    }
    return pages;
  }
  void evict(int64_t n) {
    const std::set<PageId> before = reachable();
    const int64_t n_free = pool_.n_free(), n_promised = std::min(n, pool_.n_evictable());
    ASSERT_EQ(tree_.evict(n), n_promised);
    ASSERT_EQ(pool_.n_free(), n_free + n_promised);
    const std::set<PageId> after = reachable();
    ASSERT_EQ(static_cast<int64_t>(before.size() - after.size()), n_promised);
    ASSERT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end()));
  }

  // The disk: a batch is written, and told of in a later step, when its pages may be gone.
  void write_some() {
    PrefixTree::WriteBatch batch;
    tree_.next_unwritten(static_cast<int64_t>(rng_.below(6)), batch);
    for (const PageId page : batch.held) pool_.share(page);
    std::vector<int64_t> ids;
    for (const PrefixTree::Unwritten& page : batch.pages) {
      const int64_t parent =
          page.parent >= 0 ? ids[static_cast<size_t>(page.parent)] : page.parent_record;
      Record record = parent >= 0 ? disk_.at(parent) : Record{page.scope, {}, {}};
      ASSERT_TRUE(parent < 0 || page.scope.empty());
      record.tokens.insert(record.tokens.end(), page.cells.begin(), page.cells.end());
      record.states = states_of(record.scope, record.tokens);
      for (size_t i = record.states.size() - kPageTokens; i < record.states.size(); ++i)
        ASSERT_EQ(slot(page.page, static_cast<int64_t>(i)), record.states[i]);
      ids.push_back(n_records_++);
      disk_[ids.back()] = std::move(record);
      untold_.push_back({parent, ids.back()});
    }
    ASSERT_TRUE(pool_.consistent() && tree_.consistent());
    for (const PageId page : batch.held) pool_.release(page);
  }
  void tell_of_records() {
    for (const auto& [parent, id] : untold_) {
      const Record& record = disk_.at(id);
      const std::span<const PrefixCell> all(record.tokens);
      if (tree_.add_record(record.scope, parent, all.last(kPageTokens), id)) {
        told_.insert(id);
        ASSERT_FALSE(tree_.add_record(record.scope, parent, all.last(kPageTokens), n_records_));
      }
      kept_.emplace_back(record.scope, record.tokens);
    }
    untold_.clear();
  }
  void forget() {
    if (told_.empty()) return;
    auto at = told_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(told_.size())));
    const Record gone = disk_.at(*at);
    tree_.forget_record(*at);
    // With it go the records of all texts that begin so.
    std::erase_if(told_, [&](int64_t id) {
      const Record& other = disk_.at(id);
      return other.scope == gone.scope &&
             n_common(gone.tokens, other.tokens) == static_cast<int64_t>(gone.tokens.size());
    });
    ASSERT_EQ(tree_.stats().disk_pages, static_cast<int64_t>(told_.size()));
    PrefixTree::Match match;
    for (const auto& [scope, text] : kept_) {
      tree_.match(scope, text, match);
      for (const PrefixTree::Entry& entry : match.entries) {
        ASSERT_TRUE(entry.record < 0 || told_.contains(entry.record));
      }
    }
    const std::set<PageId> pages = reachable();
    ASSERT_EQ(static_cast<int64_t>(pages.size()), pool_.n_cached());
  }

  // A text is found as far as brute force finds it, and what is found is what it should be.
  void check(const Text& text) {
    const std::string scope = some_scope();
    PrefixTree::Match match;
    tree_.match(scope, text, match);
    int64_t longest = 0;
    for (const auto& [kept_scope, kept] : kept_)
      if (kept_scope == scope) longest = std::max(longest, n_common(kept, text));
    if (short_of_pages_) {
      ASSERT_LE(match.n_tokens, longest);
    } else {
      ASSERT_EQ(match.n_tokens, longest);
      ASSERT_NE(match.miss, PrefixTree::Miss::evicted);
    }
    ASSERT_EQ(match.miss == PrefixTree::Miss::none,
              match.n_tokens == static_cast<int64_t>(text.size()));
    ASSERT_EQ(static_cast<int64_t>(match.entries.size()), pages_for(match.n_tokens));
    const std::vector<uint64_t> states = states_of(scope, text);
    bool in_memory = true;
    for (int64_t i = 0; i < match.n_tokens; ++i) {
      const PrefixTree::Entry& entry = match.entries[static_cast<size_t>(i / kPageTokens)];
      ASSERT_TRUE(entry.page >= 0 || entry.record >= 0);
      ASSERT_TRUE(in_memory || entry.page < 0) << "memory has all before what it has";
      in_memory = entry.page >= 0;
      const uint64_t expected = states[static_cast<size_t>(i)];
      if (entry.page >= 0) {
        ASSERT_EQ(slot(entry.page, i), expected);
      }
      if (entry.record >= 0) {
        ASSERT_EQ(disk_.at(entry.record).states[static_cast<size_t>(i)], expected);
      }
    }
  }

  Rng rng_;
  bool short_of_pages_;
  PagePool pool_;
  PrefixTree::Limits limits_;
  PrefixTree tree_;
  std::vector<std::array<uint64_t, kPageTokens>> slots_;
  std::vector<Sequence> sequences_;
  std::vector<std::pair<std::string, Text>> kept_;  // all that was ever kept
  std::map<int64_t, Record> disk_;
  std::set<int64_t> told_;
  std::vector<std::pair<int64_t, int64_t>> untold_;  // parent, record
  int64_t n_records_ = 0;
};

TEST(PrefixTreeProperty, FindsExactlyWhatIsKept) {
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play(seed, false).run(50);
  }
}

TEST(PrefixTreeProperty, ShortOfPagesItGivesWhatItPromises) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play(seed, true).run(60);
  }
}

}  // namespace
}  // namespace ruv::prefix_tree_property_test
