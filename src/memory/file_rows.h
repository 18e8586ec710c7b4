// FileRows: vectors in files of a folder, "rows-00000" and on, a block in each, which are mapped
// for reading. What is set survives the end of the process at once, a loss of power after sync().
#pragma once

#include <set>
#include <string>

#include "base/file.h"
#include "base/patch_file.h"
#include "memory/vector_rows.h"

namespace ruv {

class FileRows final : public VectorRows {
 public:
  // Requires: n_dims > 0; the folder exists, and no other process writes to it.
  FileRows(std::string folder, int64_t n_dims)
      : VectorRows(n_dims), folder_(std::move(folder)), padded_(static_cast<size_t>(step())) {}

  static std::string path_of_block(const std::string& folder, int64_t index);

  Status set(uint32_t number, const float* numbers) override;
  Status sync() override;
  int64_t n_bytes() const override { return 0; }
  // Whether all that was read so far is what the files have. Fails: internal.
  Status check_read() const;

 private:
  Result<const float*> new_block(int64_t index) override;

  struct Block {
    PatchFile file;
    MappedFile mapping;
  };

  std::string folder_;
  std::vector<Block> blocks_;
  std::set<size_t> changed_;  // blocks, since the last sync()
  std::vector<float> padded_;
};

}  // namespace ruv
