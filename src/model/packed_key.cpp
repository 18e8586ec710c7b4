#include "model/packed_key.h"

#include <algorithm>

#include "base/hash.h"
#include "model/key_text.h"

namespace ruv {
namespace {

constexpr uint64_t kSamples = 64;
constexpr uint64_t kSampleBytes = 16384;

bool within(const std::byte* at, Bytes bytes) {
  return std::less_equal<>()(bytes.data(), at) && std::less<>()(at, bytes.data() + bytes.size());
}

// Everything before the first tensor: metadata, names, shapes, places.
Bytes head_of(const MappedFile& mapped, std::span<const TensorInfo> tensors) {
  size_t n = mapped.bytes().size();
  for (const TensorInfo& tensor : tensors) {
    if (!within(tensor.bytes.data(), mapped.bytes())) continue;
    n = std::min(n, static_cast<size_t>(tensor.bytes.data() - mapped.bytes().data()));
  }
  return mapped.bytes().first(n);
}

void add_file(KeyText& key, const MappedFile& mapped, std::span<const TensorInfo> tensors) {
  key.number(mapped.stamp().n_bytes);
  key.number(static_cast<uint64_t>(mapped.stamp().modified_ns));
  key.number(static_cast<uint64_t>(mapped.stamp().changed_ns));
  const Bytes head = head_of(mapped, tensors);
  key.number(hash_bytes(head));
  const Bytes rest = mapped.bytes().subspan(head.size());
  if (rest.empty()) return;
  const auto sample = [&](uint64_t i) {
    const uint64_t begin = (rest.size() - 1) / kSamples * i;
    return rest.subspan(begin, std::min<uint64_t>(kSampleBytes, rest.size() - begin));
  };
  for (uint64_t i = 0; i < kSamples; ++i) MappedFile::expect_read(sample(i));
  for (uint64_t i = 0; i < kSamples; ++i) key.number(hash_bytes(sample(i)));
}

}  // namespace

void add_packing(KeyText& key, const Packing& packing) {
  key.text(packing.name());
  for (const uint64_t number : packing.fingerprint()) key.number(number);
}

PackedKey packed_key(const ModelFile& file, const Packing& packing) {
  KeyText key;
  add_packing(key, packing);
  key.text(file.container());
  for (const MappedFile& mapped : file.files()) add_file(key, mapped, file.tensors());
  file.drop_pages();  // reading the samples loaded their neighbours too
  return {{key.hash(1), key.hash(2)}};
}

std::optional<uint64_t> hash_of_places(const ModelFile& file,
                                       std::span<const std::byte* const> rows) {
  if (rows.empty()) return std::nullopt;
  for (size_t i = 0; i < file.files().size(); ++i) {
    const Bytes bytes = file.files()[i].bytes();
    if (!within(rows[0], bytes)) continue;
    std::vector<uint64_t> places;
    places.reserve(rows.size());
    for (const std::byte* row : rows) {
      if (!within(row, bytes)) return std::nullopt;
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
