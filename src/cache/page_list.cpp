#include "cache/page_list.h"

#include <algorithm>

#include "base/check.h"

namespace ruv {
namespace {

int64_t group_begin(int64_t position) { return position / kGroupTokens * kGroupPages; }

}  // namespace

int64_t PageList::missing_for(int64_t n_tokens) const {
  return std::max<int64_t>(0, pages_for(n_tokens) - n_pages());
}

// Takes all missing pages or none.
bool PageList::grow(int64_t n_tokens, KvPages& memory) {
  const size_t before = pages_.size();
  if (!pool_->reserve(missing_for(n_tokens), pages_)) return false;
  for (size_t i = before; i < pages_.size(); ++i) memory.clear(pages_[i]);
  return true;
}

void PageList::share(PageId page) {
  pages_.push_back(page);
  pool_->share(page);
}

bool PageList::append_copy(PageId from, KvPages& memory) {
  if (!pool_->reserve(1, pages_)) return false;
  TailSlots* const tails = pool_->tails();
  const bool with_tail = tails != nullptr && tails->has(from);
  if (with_tail) {
    const int64_t last = n_pages() - 1;
    CHECK(n_pinned() == 0 || pinned_.end == last);
    pinned_ = {n_pinned() == 0 ? last : pinned_.begin, n_pages()};
    tails->pin(from);  // the copy's tail must not take its place
    tails->pin(pages_.back());
  }
  memory.copy(from, pages_.back());
  if (with_tail) tails->unpin(from, false);
  return true;
}

// Unpins the last page first: if tails are evicted, the beginning of a group is still useful
// without its end.
void PageList::unpin(int64_t i, bool passed) {
  pool_->tails()->unpin(pages_[static_cast<size_t>(i)], passed);
}

void PageList::pin(Range wanted) {
  const auto outside = [](int64_t i, Range range) { return i < range.begin || i >= range.end; };
  for (int64_t i = pinned_.end - 1; i >= pinned_.begin; --i) {
    if (outside(i, wanted)) unpin(i, true);
  }
  for (int64_t i = wanted.begin; i < wanted.end; ++i) {
    if (outside(i, pinned_)) pool_->tails()->pin(pages_[static_cast<size_t>(i)]);
  }
  pinned_ = wanted;
}

// Works on ranges: pages that stay pinned are not touched.
void PageList::pin_tails(int64_t first, int64_t end) {
  const TailSlots* const tails = pool_->tails();
  if (tails == nullptr) return;
  for (int64_t i = group_begin(first); i < pages_for(first); ++i) {
    CHECK(tails->has(pages_[static_cast<size_t>(i)]));
  }
  pin({group_begin(first), pages_for(end)});
}

void PageList::trim_tails(int64_t n_tokens) {
  if (n_pinned() == 0) return;
  pin({group_begin(n_tokens), std::min(pinned_.end, pages_for(n_tokens) + 1)});
}

void PageList::clear() {
  for (int64_t i = pinned_.end - 1; i >= pinned_.begin; --i) {
    unpin(i, i < (n_pages() - 1) / kGroupPages * kGroupPages);
  }
  pinned_ = {0, 0};
  for (PageId page : pages_) pool_->release(page);
  pages_.clear();
}

}  // namespace ruv
