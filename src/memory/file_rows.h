// FileRows: vectors in files of a folder, "rows-00000" and on, a block in each, which are mapped
// for reading. What is set survives the end of the process at once, a loss of power after sync().
//
// With a key each row is sealed, with a nonce and a tag of its own and bound to its number, and the
// blocks are memory into which the files are opened. A row that does not open is zeros there: it
// then differs from the hash that the index has of it, as a damaged plain row does.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/file.h"
#include "base/patch_file.h"
#include "base/sealing.h"
#include "memory/vector_rows.h"

namespace ruv {

class FileRows final : public VectorRows {
 public:
  // Requires: n_dims > 0; the folder exists, and no other process writes to it.
  // `key`: null: plain; must live as long.
  FileRows(std::string folder, int64_t n_dims, const SealKey* key = nullptr)
      : VectorRows(n_dims),
        folder_(std::move(folder)),
        key_(key),
        padded_(static_cast<size_t>(step())) {}

  static std::string path_of_block(const std::string& folder, int64_t index);

  Status set(uint32_t number, const float* numbers) override;
  Status sync() override;
  int64_t n_bytes() const override {
    return key_ != nullptr ? std::ssize(blocks_) * n_block_bytes() : 0;
  }
  // Whether all that was read so far is what the files have. Fails: internal.
  Status check_read() const;

 private:
  Result<const float*> new_block(int64_t index) override;
  Result<const float*> new_sealed_block(int64_t index);
  uint64_t n_row_bytes() const { return padded_.size() * sizeof(float); }
  uint64_t n_sealed_bytes() const { return n_row_bytes() + kSealedExtraBytes; }
  // Opens as many rows as `sealed` has, the first of which is `number`, into `rows`.
  void open_rows(Bytes sealed, uint64_t number, std::span<std::byte> rows) const;

  struct Block {
    PatchFile file;
    std::optional<MappedFile> mapping;  // of a plain file
    std::optional<Buffer> opened;       // of a sealed one
  };

  std::string folder_;
  const SealKey* key_;
  std::vector<Block> blocks_;
  std::set<size_t> changed_;  // blocks, since the last sync()
  std::vector<float> padded_;
};

}  // namespace ruv
