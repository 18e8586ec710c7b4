#include "cache/page_list.h"

#include <algorithm>

namespace ruv {

int64_t PageList::missing_for(int64_t n_tokens) const {
  const int64_t needed = (n_tokens + kPageTokens - 1) / kPageTokens;
  return std::max<int64_t>(0, needed - n_pages());
}

bool PageList::grow(int64_t n_tokens, const KvPages& memory) {
  const size_t before = pages_.size();
  if (!pool_->reserve(missing_for(n_tokens), pages_)) return false;
  for (size_t i = before; i < pages_.size(); ++i) memory.clear(pages_[i]);
  return true;
}

void PageList::share(PageId page) {
  pages_.push_back(page);
  pool_->share(page);
}

bool PageList::append_copy(PageId from, const KvPages& memory) {
  if (!pool_->reserve(1, pages_)) return false;
  memory.copy(from, pages_.back());
  return true;
}

void PageList::clear() {
  for (PageId page : pages_) pool_->release(page);
  pages_.clear();
}

}  // namespace ruv
