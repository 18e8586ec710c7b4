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

int64_t PageList::missing_for(int64_t n_tokens) const {
  const int64_t needed = (n_tokens + kPageTokens - 1) / kPageTokens;
  return std::max<int64_t>(0, needed - static_cast<int64_t>(pages_.size()));
}

bool PageList::grow(int64_t n_tokens, const KvPages& memory) {
  const size_t before = pages_.size();
  if (!pool_->reserve(missing_for(n_tokens), pages_)) return false;
  for (size_t i = before; i < pages_.size(); ++i) memory.clear(pages_[i]);
  return true;
}

void PageList::clear() {
  for (PageId page : pages_) pool_->release(page);
  pages_.clear();
}

}  // namespace ruv
