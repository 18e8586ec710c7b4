// What a page of keys and values depends on beside its tokens, as one key: what the model says and
// how it is computed, not where its files lie or when they were written.
#pragma once

#include "device/packing.h"
#include "format/model_file.h"

namespace ruv {

struct ContentKey {
  uint64_t words[2] = {};
  bool operator==(const ContentKey&) const = default;
};

// Hash of all metadata, of every tensor's name, type, shape and kSampledPieces pieces of its bytes,
// and of the packing (add_packing). A tensor changed only between its pieces goes unseen. Some
// milliseconds for a file of 1 GB; the memory of what it read is given back.
ContentKey content_key(const ModelFile& file, const Packing& packing);

// The first and the last bytes of a tensor, and pieces at equal distances between.
inline constexpr uint64_t kSampledPieces = 4;
inline constexpr uint64_t kSampledPieceBytes = 4096;

}  // namespace ruv
