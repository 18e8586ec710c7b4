#include "device/kv_pages.h"

#include <cstring>

namespace ruv {

Result<KvPages> KvPages::create(const KvShape& shape, int64_t n_pages) {
  const int64_t n_runs = (n_pages + kRunPages - 1) / kRunPages;
  Buffer memory = TRY(Buffer::allocate(n_runs * kRunPages * shape.page_bytes()));
  return KvPages(shape, n_pages, std::move(memory));
}

void KvPages::clear(PageId page) const {
  for (int64_t layer = 0; layer < shape_.n_layers; ++layer) {
    for (int64_t stream = 0; stream < 2 * shape_.n_kv_heads; ++stream) {
      std::memset(at(page, layer, stream), 0, static_cast<size_t>(shape_.head_bytes()));
    }
  }
}

}  // namespace ruv
