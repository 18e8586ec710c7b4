#include "memory/sealed_pages.h"

#include <algorithm>

namespace ruv {
namespace {

constexpr size_t kTextBytes = SealedPages::kPageBytes - kSealedExtraBytes;
// In the first page: the size of pages, big-endian, and how many of their bytes are free.
constexpr size_t kSizeAt = 16;
constexpr size_t kReserveAt = 20;

using Bound = std::array<std::byte, 1 + sizeof(uint64_t) + SealedPages::kBoundBytes>;

Bound page_bound(uint64_t number) {
  Bound bound = {};
  bound[0] = std::byte{'D'};
  put(bound, 1, number);
  return bound;
}

Bound frame_bound(uint64_t frame, std::span<const std::byte, SealedPages::kBoundBytes> kind) {
  Bound bound = {};
  bound[0] = std::byte{'W'};
  put(bound, 1, frame);
  std::ranges::copy(kind, bound.begin() + 1 + sizeof frame);
  return bound;
}

void seal_into(SealedPages::Page& sealed, std::span<const std::byte, SealedPages::kPageBytes> page,
               const SealKey& key, const Bound& bound) {
  const std::span<std::byte> all(sealed);
  std::ranges::copy(page.first(kTextBytes), sealed.begin());
  const auto nonce = all.subspan(kTextBytes, kSealNonceBytes);
  fill_random(nonce);
  seal({key, nonce, bound}, all.first(kTextBytes), all.last(kSealTagBytes));
}

bool open_in_place(SealedPages::Page& page, const SealKey& key, const Bound& bound) {
  const std::span<std::byte> all(page);
  const Bytes nonce = all.subspan(kTextBytes, kSealNonceBytes);
  const bool is_open = unseal({key, nonce, bound}, all.first(kTextBytes), all.last(kSealTagBytes));
  std::ranges::fill(all.subspan(is_open ? kTextBytes : 0), std::byte{0});
  return is_open;
}

}  // namespace

bool SealedPages::may_be_sealed(std::span<const std::byte, kPageBytes> page, uint64_t number) {
  const auto is_zero = [](std::byte one) { return one == std::byte{0}; };
  if (!std::ranges::all_of(page.last(kSealedExtraBytes), is_zero)) return false;
  if (number != 1) return true;
  return page[kSizeAt] == std::byte{kPageBytes >> 8} && page[kSizeAt + 1] == std::byte{0} &&
         page[kReserveAt] == std::byte{kSealedExtraBytes};
}

void SealedPages::seal_page(std::span<const std::byte, kPageBytes> page, uint64_t number,
                            Page& sealed) const {
  seal_into(sealed, page, keys_.of(StorePart::database), page_bound(number));
}

bool SealedPages::open_page(Page& page, uint64_t number) const {
  return open_in_place(page, keys_.of(StorePart::database), page_bound(number));
}

void SealedPages::seal_frame(std::span<const std::byte, kPageBytes> page, uint64_t frame,
                             const FrameKind& kind, Page& sealed) const {
  seal_into(sealed, page, keys_.of(StorePart::database), frame_bound(frame, kind));
}

bool SealedPages::open_frame(Page& page, uint64_t frame, const FrameKind& kind) const {
  return open_in_place(page, keys_.of(StorePart::database), frame_bound(frame, kind));
}

// A header has salts, which are drawn anew whenever the log begins again, or zeros in their place
// and in that of the checksum until this is known. So a mask is used twice for checksums only where
// a frame is written twice in one change.
void SealedPages::mask(FrameHead& head, uint64_t frame) const {
  const Bound bound = frame_bound(frame, std::span(head).first<kBoundBytes>());
  const auto hash = keyed_hash(keys_.of(StorePart::wal), as_text(bound));
  for (size_t i = kBoundBytes; i < kFrameHeadBytes; ++i) head[i] ^= hash[i - kBoundBytes];
}

}  // namespace ruv
