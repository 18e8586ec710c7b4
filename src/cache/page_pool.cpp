#include "cache/page_pool.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace ruv {

PagePool::PagePool(int64_t n_pages)
    : references_(static_cast<size_t>(n_pages), 0), free_(static_cast<size_t>(n_pages)) {
  std::iota(free_.rbegin(), free_.rend(), PageId{0});  // page 0 goes first
}

bool PagePool::reserve(int64_t n, std::vector<PageId>& out) {
  if (n > n_free()) return false;
  for (int64_t i = 0; i < n; ++i) {
    const PageId page = free_.back();
    free_.pop_back();
    references_[static_cast<size_t>(page)] = 1;
    out.push_back(page);
  }
  return true;
}

void PagePool::share(PageId page) {
  CHECK(references(page) > 0);
  ++references_[static_cast<size_t>(page)];
}

void PagePool::release(PageId page) {
  CHECK(references(page) > 0);
  if (--references_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

bool PagePool::consistent() const {
  std::vector<bool> is_free(references_.size(), false);
  for (PageId page : free_) {
    const auto at = static_cast<size_t>(page);
    if (at >= is_free.size() || is_free[at] || references_[at] != 0) return false;
    is_free[at] = true;
  }
  const auto held =
      std::count_if(references_.begin(), references_.end(), [](int32_t n) { return n > 0; });
  return static_cast<size_t>(held) + free_.size() == references_.size();
}

}  // namespace ruv
