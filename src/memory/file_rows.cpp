#include "memory/file_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ruv {

std::string FileRows::path_of_block(const std::string& folder, int64_t index) {
  return fmt::format("{}/rows-{:05}", folder, index);
}

namespace {

// Rows that are read from a sealed file at once.
constexpr uint64_t kRowsAtOnce = 256;
static_assert(VectorRows::kRowsOfBlock % kRowsAtOnce == 0);

std::array<std::byte, 8> row_bound(uint64_t number) {
  std::array<std::byte, 8> bound;
  put(bound, 0, number);
  return bound;
}

bool was_never_set(Bytes sealed) {
  const Bytes nonce = sealed.first(kSealNonceBytes);
  return std::ranges::all_of(nonce, [](std::byte one) { return one == std::byte{0}; });
}

}  // namespace

void FileRows::open_rows(Bytes sealed, uint64_t number, std::span<std::byte> rows) const {
  for (; !rows.empty(); ++number) {
    const Bytes one = sealed.first(n_sealed_bytes());
    const auto row = rows.first(n_row_bytes());
    // Memory that is zero is not touched.
    if (!was_never_set(one) && !open_sealed(*key_, one, row_bound(number), row)) {
      std::ranges::fill(row, std::byte{0});
    }
    sealed = sealed.subspan(one.size());
    rows = rows.subspan(row.size());
  }
}

Result<const float*> FileRows::new_sealed_block(int64_t index) {
  PatchFile file = TRY(PatchFile::open(path_of_block(folder_, index)));
  const uint64_t n_bytes = kRowsOfBlock * n_sealed_bytes();
  if (TRY(file.size()) != n_bytes) TRY(file.resize(n_bytes));
  Buffer opened = TRY(Buffer::allocate(n_block_bytes()));
  const std::span<std::byte> rows(opened.as<std::byte>(), static_cast<size_t>(n_block_bytes()));
  std::string sealed(kRowsAtOnce * n_sealed_bytes(), '\0');
  for (uint64_t row = 0; row < kRowsOfBlock; row += kRowsAtOnce) {
    TRY(file.read_at(row * n_sealed_bytes(), std::as_writable_bytes(std::span(sealed))));
    open_rows(as_bytes(sealed), static_cast<uint64_t>(index) * kRowsOfBlock + row,
              rows.subspan(row * n_row_bytes(), kRowsAtOnce * n_row_bytes()));
  }
  const auto* const first = opened.as<float>();
  blocks_.push_back({std::move(file), std::nullopt, std::move(opened)});
  return first;
}

// A file of another size is what a crash left, before any row of it was recorded.
Result<const float*> FileRows::new_block(int64_t index) {
  if (key_ != nullptr) return new_sealed_block(index);
  const std::string path = path_of_block(folder_, index);
  PatchFile file = TRY(PatchFile::open(path));
  const auto n_bytes = static_cast<uint64_t>(n_block_bytes());
  if (TRY(file.size()) != n_bytes) TRY(file.resize(n_bytes));
  MappedFile mapping = TRY(MappedFile::open(path));
  mapping.expect_parts();
  const auto* const rows = reinterpret_cast<const float*>(mapping.bytes().data());
  blocks_.push_back({std::move(file), std::move(mapping), std::nullopt});
  return rows;
}

Status FileRows::set(uint32_t number, const float* numbers) {
  const size_t block = number / kRowsOfBlock;
  std::copy_n(numbers, n_dims(), padded_.begin());
  const Bytes row = std::as_bytes(std::span<const float>(padded_));
  const uint64_t place = number % kRowsOfBlock;
  changed_.insert(block);
  if (key_ == nullptr) return blocks_[block].file.write_at(place * row.size(), row);
  std::string sealed;
  append_sealed(sealed, *key_, row, row_bound(number));
  TRY(blocks_[block].file.write_at(place * sealed.size(), as_bytes(sealed)));
  std::ranges::copy(padded_,
                    blocks_[block].opened->as<float>() + static_cast<int64_t>(place) * step());
  return {};
}

Status FileRows::sync() {
  for (const size_t block : changed_) TRY(blocks_[block].file.sync());
  changed_.clear();
  return {};
}

Status FileRows::check_read() const {
  for (const Block& block : blocks_) {
    if (block.mapping) TRY(block.mapping->check_read());
  }
  return {};
}

}  // namespace ruv
