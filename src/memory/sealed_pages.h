// A page of SQLite and its sealed form, of the same size: the text, then the nonce and the tag in
// the bytes that SQLite leaves free, which are zeros in clear.
#pragma once

#include <array>

#include "memory/store_key.h"

namespace ruv {

class SealedPages {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kFrameHeadBytes = 24;
  static constexpr size_t kFrameBytes = kFrameHeadBytes + kPageBytes;
  static constexpr size_t kBoundBytes = 16;
  using Page = std::array<std::byte, kPageBytes>;
  using FrameHead = std::array<std::byte, kFrameHeadBytes>;
  // What a frame is besides its place: the number of its page and the size of the database, which
  // begin its header, and the two salts in the header of the log. The salts in the frame's own
  // header may be written later than the page.
  using FrameKind = std::array<std::byte, kBoundBytes>;

  // Requires: `keys` lives as long.
  explicit SealedPages(const StoreKeys& keys) : keys_(keys) {}

  // Whether SQLite keeps the free bytes free: they are zeros, and the first page says how many
  // there are. Anything else would be lost.
  static bool may_be_sealed(std::span<const std::byte, kPageBytes> page, uint64_t number);

  // A page of the database; pages count from 1.
  void seal_page(std::span<const std::byte, kPageBytes> page, uint64_t number, Page& sealed) const;
  bool open_page(Page& page, uint64_t number) const;
  // A page of the log, in the frame of this number, from 0.
  void seal_frame(std::span<const std::byte, kPageBytes> page, uint64_t frame,
                  const FrameKind& kind, Page& sealed) const;
  bool open_frame(Page& page, uint64_t frame, const FrameKind& kind) const;
  // Masks or unmasks the checksum in a frame's header: it is of the content, and would confirm a
  // guess of it.
  void mask(FrameHead& head, uint64_t frame) const;

 private:
  const StoreKeys& keys_;
};

}  // namespace ruv
