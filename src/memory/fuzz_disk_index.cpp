// Any bytes as an index on disk: opened, searched, read and removed from. The first byte says how
// the rest becomes a file: as it is; as bytes of a sound file from an offset on, which follows in
// two bytes; its hashes made right, so that the fuzzer gets past them; a log of removals beside a
// sound file.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/hash.h"
#include "memory/disk_index.h"
#include "memory/disk_writer.h"

namespace {

constexpr int64_t kDims = 4;
constexpr uint8_t kHasOffset = 1, kRightHashes = 2, kIsLog = 4, kHalves = 8, kLeavesOut = 16;

void write(const std::string& path, const std::string& bytes) {
  auto file = ruv::FileWriter::create(path, {.replace = true});
  if (!file || !file->write(ruv::as_bytes(bytes)).ok() || !file->commit().ok()) std::abort();
}

// A sound file of 20 vectors.
std::string sound_file(const std::string& path, bool has_halves) {
  ruv::WorkerPool pool(1);
  std::vector<int64_t> ids;
  std::vector<float> numbers;
  for (int64_t i = 0; i < 20; ++i) {
    ids.push_back(i * i - 5);
    for (int64_t d = 0; d < kDims; ++d) numbers.push_back(static_cast<float>((i * 7 + d) % 13));
  }
  const ruv::DiskWriteOptions options{
      .n_dims = kDims, .has_halves = has_halves, .graph = {.degree = 4}};
  std::filesystem::remove(path);
  if (!ruv::write_disk_index(path, options, ids, numbers, pool).ok()) std::abort();
  auto bytes = ruv::read_text_file(path);
  if (!bytes) std::abort();
  return *bytes;
}

std::span<std::byte> part_of(std::string& file, int64_t at, int64_t n) {
  return std::span(reinterpret_cast<std::byte*>(file.data()), file.size())
      .subspan(static_cast<size_t>(at), static_cast<size_t>(n));
}

void put(std::string& file, size_t at, uint64_t number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}

// Where the header is one, its hash and those of all parts and blocks become right.
void make_hashes_right(std::string& file) {
  constexpr size_t kPage = ruv::DiskShape::kPageBytes, kHashes = 72;
  if (file.size() < kPage) return;
  const auto seal = [&] {
    put(file, kPage - sizeof(uint64_t), ruv::hash_of_disk_header(part_of(file, 0, kPage)));
  };
  seal();
  const auto header = ruv::DiskHeader::of(part_of(file, 0, kPage), "");
  if (!header || header->shape.file_bytes() != std::ssize(file)) return;
  const ruv::DiskShape& shape = header->shape;
  const auto hash = [&](int64_t at, int64_t n) {
    return ruv::hash_of_disk_part(part_of(file, at, n));
  };
  put(file, kHashes, hash(shape.centres_at(), shape.centres_bytes()));
  put(file, kHashes + 8, hash(shape.ids_at(), shape.ids_bytes()));
  put(file, kHashes + 16, hash(shape.codes_at(), shape.codes_bytes()));
  seal();
  const uint64_t file_hash = ruv::hash_of_disk_header(part_of(file, 0, kPage));
  for (int64_t number = 0; number < shape.n_blocks(); ++number) {
    const int64_t at = shape.blocks_at() + number * shape.block_bytes;
    ruv::DiskBlock(shape, file_hash, number, part_of(file, at, shape.block_bytes)).seal();
  }
}

void use(const ruv::DiskIndexOptions& options) {
  static ruv::WorkerPool pool(1);
  auto index = ruv::DiskIndex::open(options, pool);
  if (!index) return;
  ruv::DiskSearch memory;
  const std::vector<float> query(static_cast<size_t>((*index)->shape().n_dims), 0.5F);
  const std::vector<int64_t> ids = (*index)->ids();
  const ruv::NodeSet among = (*index)->nodes_of(std::span(ids).first(ids.size() / 2));
  for (const ruv::NodeSet* const some : {static_cast<const ruv::NodeSet*>(nullptr), &among}) {
    const auto found = (*index)->search(query, {.k = 30, .among = some}, memory);
    if (found && std::ssize(*found) > (*index)->size()) std::abort();
    if (!found && options.removes_damaged) std::abort();
  }
  if (!ids.empty()) (void)(*index)->vector(ids[0]);
  const int64_t size = (*index)->size();
  const auto n = (*index)->remove(std::span(ids).first(ids.size() / 2));
  if (!n || (*index)->size() != size - *n) std::abort();
  index->reset();
  auto again = ruv::DiskIndex::open(options, pool);
  if (!again || (*again)->size() != size - *n) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3 || size > (1 << 16)) return 0;
  static const std::string folder = [] {
    const auto made = std::filesystem::temp_directory_path() /
                      ("ruv_fuzz_disk_" + std::to_string(std::random_device()()));
    std::filesystem::create_directories(made);
    return made.string();
  }();
  static const std::string sound[] = {sound_file(folder + "/sound", false),
                                      sound_file(folder + "/sound", true)};
  const uint8_t kind = data[0];
  std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string file = sound[(kind & kHalves) != 0 ? 1 : 0];
  ruv::DiskIndexOptions options;
  options.path = folder + "/disk";
  options.removes_damaged = (kind & kLeavesOut) != 0;
  const std::string removed = ruv::DiskIndex::path_of_removed(options.path);
  std::filesystem::remove(removed);
  if ((kind & kIsLog) != 0) {
    write(removed, content);
  } else if ((kind & kHasOffset) != 0) {
    const size_t at = (size_t{data[1]} * 256 + data[2]) % file.size();
    const std::string bytes = content.substr(2, file.size() - at);
    file.replace(at, bytes.size(), bytes);
  } else {
    file = content;
  }
  if ((kind & kRightHashes) != 0) make_hashes_right(file);
  write(options.path, file);
  use(options);
  return 0;
}
