// PagePool: which pages of KvPages are free, who holds the others. Pages are taken in two phases:
// reserve gives all that a step needs or nothing; release gives back. Reference counts let several
// owners share a page.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/kv_pages.h"

namespace ruv {

class PagePool {
 public:
  explicit PagePool(int64_t n_pages);

  int64_t n_pages() const { return static_cast<int64_t>(references_.size()); }
  int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
  int32_t references(PageId page) const { return references_[static_cast<size_t>(page)]; }

  // Appends n pages, each with one reference, to `out`; false and nothing taken when fewer are
  // free. Never allocates beyond out's growth.
  bool reserve(int64_t n, std::vector<PageId>& out);
  // One more holder of a page that has one.
  void share(PageId page);
  // One holder less; a page without holders is free again.
  void release(PageId page);

  // Checks that free and held pages add up and that no page is free twice. For tests and
  // simulation; O(n_pages).
  bool consistent() const;

 private:
  std::vector<int32_t> references_;
  std::vector<PageId> free_;
};

}  // namespace ruv
