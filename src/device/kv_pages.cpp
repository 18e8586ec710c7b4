#include "device/kv_pages.h"

#include <cstring>

namespace ruv {

Result<KvPages> KvPages::create(const KvShape& shape, int64_t n_pages) {
  Buffer memory = TRY(Buffer::allocate(shape.page_bytes() * n_pages));
  return KvPages(shape, n_pages, std::move(memory));
}

uint16_t* KvPages::keys(PageId page, int64_t layer, int64_t head) const {
  return memory_.as<uint16_t>() + (page * shape_.n_layers + layer) * shape_.layer_numbers() +
         head * shape_.head_numbers();
}

uint16_t* KvPages::values(PageId page, int64_t layer, int64_t head) const {
  return keys(page, layer, head + shape_.n_kv_heads);
}

void KvPages::clear(PageId page) const {
  std::memset(memory_.get() + page * shape_.page_bytes(), 0,
              static_cast<size_t>(shape_.page_bytes()));
}

}  // namespace ruv
