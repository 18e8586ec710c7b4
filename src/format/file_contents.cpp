#include "format/file_contents.h"

#include <algorithm>

#include "base/hash.h"

namespace ruv {
namespace {

constexpr uint64_t kSamples = 64;
constexpr uint64_t kSampleBytes = 16384;

// Everything before the first tensor: metadata, names, shapes, places.
Bytes head_of(const MappedFile& mapped, std::span<const TensorInfo> tensors) {
  size_t n = mapped.bytes().size();
  for (const TensorInfo& tensor : tensors) {
    if (!lies_within(tensor.bytes.data(), mapped.bytes())) continue;
    n = std::min(n, static_cast<size_t>(tensor.bytes.data() - mapped.bytes().data()));
  }
  return mapped.bytes().first(n);
}

void add_file(KeyText& key, const MappedFile& mapped, std::span<const TensorInfo> tensors) {
  key.number(mapped.bytes().size());
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

void add_contents(KeyText& key, const ModelFile& file) {
  key.text(file.container());
  for (const MappedFile& mapped : file.files()) add_file(key, mapped, file.tensors());
  file.drop_pages();  // reading the samples loaded their neighbours too
}

bool lies_within(const std::byte* at, Bytes bytes) {
  return std::less_equal<>()(bytes.data(), at) && std::less<>()(at, bytes.data() + bytes.size());
}

}  // namespace ruv
