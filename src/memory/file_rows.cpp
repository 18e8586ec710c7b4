#include "memory/file_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace ruv {

std::string FileRows::path_of_block(const std::string& folder, int64_t index) {
  return fmt::format("{}/rows-{:05}", folder, index);
}

// A file of another size is what a crash left, before any row of it was recorded.
Result<const float*> FileRows::new_block(int64_t index) {
  const std::string path = path_of_block(folder_, index);
  PatchFile file = TRY(PatchFile::open(path));
  const auto n_bytes = static_cast<uint64_t>(n_block_bytes());
  if (TRY(file.size()) != n_bytes) TRY(file.resize(n_bytes));
  MappedFile mapping = TRY(MappedFile::open(path));
  mapping.expect_parts();
  const auto* const rows = reinterpret_cast<const float*>(mapping.bytes().data());
  blocks_.push_back({std::move(file), std::move(mapping)});
  return rows;
}

Status FileRows::set(uint32_t number, const float* numbers) {
  const size_t block = number / kRowsOfBlock;
  std::copy_n(numbers, n_dims(), padded_.begin());
  const uint64_t n_bytes = padded_.size() * sizeof(float);
  changed_.insert(block);
  return blocks_[block].file.write_at(number % kRowsOfBlock * n_bytes,
                                      std::as_bytes(std::span<const float>(padded_)));
}

Status FileRows::sync() {
  for (const size_t block : changed_) TRY(blocks_[block].file.sync());
  changed_.clear();
  return {};
}

Status FileRows::check_read() const {
  for (const Block& block : blocks_) TRY(block.mapping.check_read());
  return {};
}

}  // namespace ruv
