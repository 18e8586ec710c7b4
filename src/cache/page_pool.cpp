#include "cache/page_pool.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace ruv {

PagePool::PagePool(int64_t n_pages, std::span<PageFrames> frames)
    : references_(static_cast<size_t>(n_pages), 0),
      cached_(static_cast<size_t>(n_pages), 0),
      free_(static_cast<size_t>(n_pages)),
      frames_(frames) {
  std::iota(free_.rbegin(), free_.rend(), PageId{0});  // page 0 goes first
}

// Room in `out` is reserved first, so that an exception leaves the pool unchanged.
bool PagePool::reserve(int64_t n, std::vector<PageId>& out) {
  CHECK(n >= 0);
  if (n > n_free()) return false;
  const auto count = static_cast<size_t>(n);
  const size_t left = free_.size() - count;
  out.insert(out.end(), free_.rbegin(), free_.rbegin() + n);  // the only step that may throw
  for (size_t i = left; i < free_.size(); ++i) references_[static_cast<size_t>(free_[i])] = 1;
  free_.resize(left);
  n_held_max_ = std::max(n_held_max_, n_held());
  return true;
}

// A page that only the tree held becomes held: one evictable page less.
void PagePool::share(PageId page) {
  const auto at = static_cast<size_t>(page);
  CHECK(references_[at] > 0);
  if (cached_[at] != 0 && references_[at] == 1) {
    --n_evictable_;
    n_held_max_ = std::max(n_held_max_, n_held());
  }
  ++references_[at];
}

// The last holder but the tree leaves an evictable page; the very last one frees it.
void PagePool::release(PageId page) {
  const auto at = static_cast<size_t>(page);
  CHECK(references_[at] > cached_[at]);
  if (--references_[at] == 0) {
    for (PageFrames& group : frames_) group.drop(page);
    free_.push_back(page);  // cannot allocate: free_ began with room for all
  } else if (cached_[at] != 0 && references_[at] == 1) {
    ++n_evictable_;
  }
}

// Moves frames and pins before the reference, while both pages are held.
void PagePool::exchange(PageId& held, PageId equal) {
  share(equal);
  for (PageFrames& group : frames_) {
    if (!group.has(held)) continue;
    CHECK(references(held) == 1);
    group.move(held, equal);
  }
  release(held);
  held = equal;
}

PageFrames* PagePool::states() const {
  const auto is_state = [](const PageFrames& group) { return group.reach().is_state(); };
  const auto found = std::ranges::find_if(frames_, is_state);
  return found == frames_.end() ? nullptr : &*found;
}

bool PagePool::readable(PageId page, int64_t i, int64_t position) const {
  return std::ranges::all_of(frames_, [&](const PageFrames& group) {
    return i < group.reach().first_page(position) || group.has(page);
  });
}

void PagePool::cache(PageId page) {
  CHECK(!cached(page));
  share(page);
  cached_[static_cast<size_t>(page)] = 1;
  ++n_cached_;
}

void PagePool::uncache(PageId page) {
  CHECK(cached(page));
  if (references(page) == 1) --n_evictable_;
  cached_[static_cast<size_t>(page)] = 0;
  --n_cached_;
  release(page);
}

// Recounts everything from the pages themselves.
bool PagePool::consistent() const {
  std::vector<bool> is_free(references_.size(), false);
  for (PageId page : free_) {
    const auto at = static_cast<size_t>(page);
    if (at >= is_free.size() || is_free[at] || references_[at] != 0) return false;
    for (const PageFrames& group : frames_) {
      if (group.has(page)) return false;
    }
    is_free[at] = true;
  }
  int64_t n_used = 0, n_cached_pages = 0, n_only_cached = 0;
  for (size_t at = 0; at < references_.size(); ++at) {
    if (references_[at] < cached_[at]) return false;
    n_used += references_[at] > 0;
    n_cached_pages += cached_[at];
    n_only_cached += cached_[at] != 0 && references_[at] == 1;
  }
  return n_used + n_free() == n_pages() && n_cached_pages == n_cached() &&
         n_only_cached == n_evictable_;
}

}  // namespace ruv
