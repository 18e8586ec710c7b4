// Any bytes as the graph and the log of an index: opened, searched, added to, removed from and
// repaired. The first byte says which of the files the rest is, and whether its hashes are made
// right first, so that the fuzzer gets past them; its highest bit, whether the index has codes
// that are learnt; the next one, whether it is encrypted: then the rest may be rows or the key,
// too.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/hash.h"
#include "base/sealing.h"
#include "memory/store_key.h"
#include "memory/vector_index.h"

namespace {

constexpr int64_t kDims = 4;

ruv::VectorIndexOptions options_in(const std::string& folder, bool learns) {
  ruv::VectorIndexOptions options;
  options.folder = folder;
  options.graph = {.n_dims = kDims, .m = 2, .n_looked_at = 8};
  if (learns) options.graph.codes = ruv::VectorCodes::product;
  options.removes_damaged = true;
  return options;
}

template <class T>
void put(std::string& bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

const ruv::SealKey& user_key() {
  static const ruv::SealKey key = {1, 2, 3};
  return key;
}

// The content as the one piece of a snapshot.
std::string as_pieces(const std::string& content) {
  std::string file;
  uint64_t hash = 0;
  for (const std::string& piece : {content, std::string()}) {
    hash = ruv::hash_bytes(ruv::as_bytes(piece), hash + piece.size());
    const size_t at = file.size();
    file.resize(at + sizeof(uint32_t));
    put(file, at, static_cast<uint32_t>(piece.size()));
    file += piece;
    file.resize(file.size() + sizeof hash);
    put(file, file.size() - sizeof hash, hash);
  }
  return file;
}

void write(const std::string& path, const std::string& bytes) {
  auto file = ruv::FileWriter::create(path, {.replace = true});
  if (!file || !file->write(ruv::as_bytes(bytes)).ok() || !file->commit().ok()) std::abort();
}

void use(const ruv::VectorIndexOptions& options, ruv::WorkerPool& pool) {
  auto index = ruv::VectorIndex::open(options, pool);
  if (!index) return;
  ruv::HnswSearch memory;
  const std::vector<float> query = {0.5F, 0, 1, -1};
  const auto found = (*index)->search(query, {.k = 20}, memory);
  if (!found || std::ssize(*found) > (*index)->size()) std::abort();
  std::vector<int64_t> ids;
  for (const auto& one : *found) ids.push_back(one.id);
  ids.resize(ids.size() / 2);
  if (!(*index)->add(std::vector<int64_t>{INT64_MAX}, query, pool).ok()) return;
  if (!(*index)->remove(ids, pool)) std::abort();
  if (!(*index)->checkpoint().ok()) std::abort();
  const int64_t size = (*index)->size();
  index->reset();
  auto again = ruv::VectorIndex::open(options, pool);
  if (!again || (*again)->size() != size) std::abort();
}

// Content in the place of a file of an encrypted index. False: it is that of the key.
bool damage_sealed(const std::string& folder, int which, const std::string& content) {
  constexpr const char* kFiles[] = {"graph-1", "log-1", "rows-00000", "store.key"};
  write(folder + "/" + kFiles[which], content);
  return which < 3;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > (1 << 16)) return 0;
  static ruv::WorkerPool pool(1);
  static const std::string folder = [] {
    const auto made = std::filesystem::temp_directory_path() /
                      ("ruv_fuzz_index_" + std::to_string(std::random_device()()));
    std::filesystem::create_directories(made);
    return made.string();
  }();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  constexpr uint8_t kLearns = 0x80, kSealed = 0x40;
  ruv::VectorIndexOptions options = options_in(folder, (data[0] & kLearns) != 0);
  const std::string key_path = folder + "/store.key";
  const bool is_sealed = (data[0] & kSealed) != 0;
  if (is_sealed) {
    auto keys = ruv::open_store_keys(key_path, user_key(), false);
    if (!keys) std::abort();
    options.keys = std::move(*keys);
  }
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  {
    // An index with a graph and an empty log after it.
    auto index = ruv::VectorIndex::open(options, pool);
    const std::vector<float> numbers = {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0};
    if (!index || !(*index)->add(std::vector<int64_t>{1, 2, 3}, numbers, pool).ok()) std::abort();
    if (!(*index)->checkpoint().ok()) std::abort();
  }
  if (is_sealed) {
    if (damage_sealed(folder, data[0] % 4, content)) {
      use(options, pool);
    } else if (ruv::open_store_keys(key_path, user_key(), true)) {
      std::abort();  // no bytes but its own are the key's
    }
    return 0;
  }
  switch (data[0] % 4) {
    case 0:
      write(folder + "/graph-1", content);
      break;
    case 1:
      write(folder + "/graph-1", as_pieces(content));
      break;
    case 2:
      write(folder + "/log-1", content);
      break;
    default: {  // a record with right hashes
      auto log =
          ruv::IndexLog::open(folder + "/log-1", [](auto, ruv::Bytes) { return ruv::Status(); });
      const auto kind = static_cast<ruv::IndexLog::Kind>(data[0] % kSealed / 4);
      if (!log || !log->add(kind, ruv::as_bytes(content)).ok()) std::abort();
    }
  }
  use(options, pool);
  return 0;
}
