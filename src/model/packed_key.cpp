#include "model/packed_key.h"

#include <algorithm>

#include "base/hash.h"
#include "base/key_text.h"
#include "format/file_contents.h"

namespace ruv {

void add_packing(KeyText& key, const Packing& packing) {
  key.text(packing.name());
  for (const uint64_t number : packing.fingerprint()) key.number(number);
}

PackedKey packed_key(const ModelFile& file, const Packing& packing) {
  KeyText key;
  add_packing(key, packing);
  for (const MappedFile& mapped : file.files()) {
    key.number(static_cast<uint64_t>(mapped.stamp().modified_ns));
    key.number(static_cast<uint64_t>(mapped.stamp().changed_ns));
  }
  add_contents(key, file);
  key.text(file.weight_type());
  return {{key.hash(1), key.hash(2)}};
}

std::optional<uint64_t> hash_of_places(const ModelFile& file,
                                       std::span<const std::byte* const> rows) {
  if (rows.empty()) return std::nullopt;
  for (size_t i = 0; i < file.files().size(); ++i) {
    const Bytes bytes = file.files()[i].bytes();
    if (!lies_within(rows[0], bytes)) continue;
    std::vector<uint64_t> places;
    places.reserve(rows.size());
    for (const std::byte* row : rows) {
      if (!lies_within(row, bytes)) return std::nullopt;
      places.push_back(static_cast<uint64_t>(row - bytes.data()));
    }
    return hash_bytes(std::as_bytes(std::span(places)), i);
  }
  return std::nullopt;
}

bool is_unchanged(const ModelFile& file) {
  return std::all_of(file.files().begin(), file.files().end(), [](const MappedFile& mapped) {
    const Result<FileStamp> now = stamp_of(mapped.path());
    return now && *now == mapped.stamp() && !mapped.is_damaged();
  });
}

}  // namespace ruv
