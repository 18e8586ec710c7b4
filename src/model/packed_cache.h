// PackedCache: the folder of packed-weights files, one per key, bounded in size. Nothing in it is
// needed: whatever goes wrong becomes a note, and the weights are packed as if there were none.
#pragma once

#include "model/packed_file.h"
#include "ruv/model.h"

namespace ruv {

class PackedCache {
 public:
  explicit PackedCache(const LoadOptions& options) : options_(&options) {}

  // Whether a model of this many packed bytes is kept at all.
  bool takes(int64_t n_bytes) const {
    return !options_->packed_cache_dir.empty() && n_bytes >= options_->packed_cache_min_bytes;
  }
  // The file of this key, every byte checked, and marked as used now. What is damaged is removed.
  std::optional<PackedFile> find(const PackedKey& key, WorkerPool& pool) const;
  // A writer for a file of about n_bytes, older files having made room; null when there is no room,
  // another process writes the same file, or the folder cannot be written.
  std::unique_ptr<PackedFileWriter> begin(const PackedKey& key, int64_t n_bytes) const;
  // Gives the file its name and brings the folder within its bound. False: it is not kept.
  bool publish(const PackedKey& key, PackedFileWriter& writer) const;
  void discard(const PackedKey& key, std::string_view why) const;
  void note(NoteKind kind, std::string_view text) const {
    if (options_->note) options_->note(kind, text);
  }

 private:
  std::string path_of(const PackedKey& key) const;
  Status make_room(const PackedKey& key, int64_t n_bytes) const;
  void evict(const std::string& keep, int64_t n_bytes) const;
  const LoadOptions* options_;
};

}  // namespace ruv
