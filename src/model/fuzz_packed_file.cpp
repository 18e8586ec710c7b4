// Any bytes as a packed-weights file: an error, or matrices that lie inside the payload. Hashes are
// compared elsewhere, so that the fuzzer gets past them.
#include <cstdlib>

#include "model/packed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  // The payload is not read here, so a small input stands for a large file: the first 64 bytes are
  // the header, the rest is the directory behind a payload of as many blocks as the next says.
  constexpr size_t kHeader = 64;
  if (size < kHeader + 1) return 0;
  const size_t n_payload = (bytes[kHeader] % 2 + 1) * ruv::kPackedBlock;
  const size_t n_file = n_payload + size - kHeader - 1;
  const std::unique_ptr<std::byte[]> memory(new std::byte[n_file]);  // not zeroed: speed
  const ruv::Bytes file(memory.get(), n_file);
  std::memcpy(memory.get(), bytes, kHeader);
  std::memcpy(memory.get() + n_payload, bytes + kHeader + 1, size - kHeader - 1);
  const auto directory = ruv::read_packed_directory(file, "fuzz.ruvpack");
  if (!directory)
    return directory.error().message().starts_with("fuzz.ruvpack: ") ? 0 : (std::abort(), 0);
  if (directory->payload_end > file.size()) std::abort();
  for (const auto& [name, matrix] : directory->matrices) {
    const bool inside = matrix.offset >= ruv::kPackedBlock &&
                        matrix.offset + matrix.n_bytes <= directory->payload_end &&
                        matrix.offset + matrix.n_bytes >= matrix.offset;
    if (!inside || name != matrix.name) std::abort();
  }
  return 0;
}
