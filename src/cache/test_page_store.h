// Pages that tests store: every page has a number from which its cells and bytes follow.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cache/page_store.h"

namespace ruv {

inline constexpr int64_t kPayload = 1000;  // no multiple of the records' alignment

class StoreFolder {
 public:
  StoreFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-pages-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  ~StoreFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Tokens, and some rows of media.
inline PageCells cells_of(int page) {
  Rng rng(static_cast<uint64_t>(page));
  PageCells cells;
  for (PrefixCell& cell : cells) {
    const uint64_t word = rng.next();
    cell = word % 4 == 0 ? PrefixCell::of_hash(word) : PrefixCell(static_cast<Token>(word >> 33));
  }
  return cells;
}

inline std::vector<std::byte> payload_of(int page, int64_t n_bytes = kPayload) {
  Rng rng(static_cast<uint64_t>(page) + 1'000'000);
  std::vector<std::byte> payload(static_cast<size_t>(n_bytes));
  for (size_t at = 0; at < payload.size(); at += sizeof(uint64_t)) {
    const uint64_t word = rng.next();
    std::memcpy(payload.data() + at, &word, std::min(sizeof word, payload.size() - at));
  }
  return payload;
}

inline Result<int64_t> append_page(PageStore& store, int64_t parent, int page,
                                   std::string_view scope = "") {
  return store.append(parent, scope, cells_of(page), payload_of(page));
}

inline bool holds_page(const PageStore& store, int64_t id, int page) {
  std::vector<std::byte> payload(static_cast<size_t>(kPayload));
  return store.read(id, payload).ok() && payload == payload_of(page);
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::filesystem::remove(path);  // some file systems sync what is overwritten
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline int64_t bytes_in(const std::string& folder) {
  int64_t n_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    n_bytes += static_cast<int64_t>(entry.file_size());
  }
  return n_bytes;
}

}  // namespace ruv
