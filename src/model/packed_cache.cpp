#include "model/packed_cache.h"

#include <algorithm>

#include "base/clock.h"
#include "base/folder.h"

namespace ruv {
namespace {

constexpr std::string_view kEnding = ".ruvpack";
constexpr std::string_view kPartialEnding = ".ruvpack.partial";
// A file of a process that died while writing; a living one writes without such pauses.
constexpr int64_t kAbandonedNs = int64_t{3600} * 1'000'000'000;

}  // namespace

std::string PackedCache::path_of(const PackedKey& key) const {
  return fmt::format("{}/{}{}", options_->packed_cache_dir, key.text(), kEnding);
}

std::optional<PackedFile> PackedCache::find(const PackedKey& key, WorkerPool& pool) const {
  const std::string path = path_of(key);
  const auto progress = [&](double share) {
    if (options_->progress) options_->progress(LoadStage::checking, share);
  };
  Result<PackedFile> file = PackedFile::open(path, key, pool, progress);
  if (file) {
    touch_file(path);
    return std::move(*file);
  }
  if (file.error().code() != Code::not_found) discard(key, file.error().message());
  return std::nullopt;
}

void PackedCache::discard(const PackedKey& key, std::string_view why) const {
  const bool gone = remove_file(path_of(key));
  note(NoteKind::problem, fmt::format("packed weights not used: {}; {}", why,
                                      gone ? "packing again" : "and the file cannot be removed"));
}

// Files not used for longest go until n_bytes more fit, except `keep`, which a file of n_bytes will
// replace (n_bytes 0: which has just been written).
void PackedCache::evict(const std::string& keep, int64_t n_bytes) const {
  std::vector<FolderEntry> files = files_in(options_->packed_cache_dir);
  int64_t newest = 0;
  for (const FolderEntry& file : files) newest = std::max(newest, file.modified_ns);
  std::erase_if(files, [&](const FolderEntry& file) {
    if (file.path.ends_with(kPartialEnding) && newest - file.modified_ns > kAbandonedNs)
      remove_file(file.path);
    return !file.path.ends_with(kEnding);
  });
  std::ranges::sort(files, {}, &FolderEntry::modified_ns);
  int64_t total = n_bytes;
  for (const FolderEntry& file : files) {
    if (n_bytes == 0 || file.path != keep) total += file.n_bytes;
  }
  for (const FolderEntry& file : files) {
    if (total <= options_->packed_cache_max_bytes) return;
    if (file.path != keep && remove_file(file.path)) total -= file.n_bytes;
  }
}

Status PackedCache::make_room(const PackedKey& key, int64_t n_bytes) const {
  const std::string& folder = options_->packed_cache_dir;
  TRY(make_folder(folder));
  if (n_bytes > options_->packed_cache_max_bytes) {
    return fail(Code::out_of_memory, "{}: {} bytes are more than the folder may hold ({})", folder,
                n_bytes, options_->packed_cache_max_bytes);
  }
  evict(path_of(key), n_bytes);
  const DiskRoom room = TRY(disk_room(folder));
  if (room.n_free - n_bytes < options_->packed_cache_reserve_bytes) {
    return fail(Code::out_of_memory,
                "{}: {} of {} bytes are free; {} more would leave less than {}", folder,
                room.n_free, room.n_bytes, n_bytes, options_->packed_cache_reserve_bytes);
  }
  return {};
}

std::unique_ptr<PackedFileWriter> PackedCache::begin(const PackedKey& key, int64_t n_bytes) const {
  const Status room = make_room(key, n_bytes);
  if (!room.ok()) {
    note(NoteKind::problem, "packed weights not kept: " + room.message());
    return nullptr;
  }
  const auto max_bytes = static_cast<uint64_t>(2 * n_bytes + (int64_t{64} << 20));
  auto writer = PackedFileWriter::create(path_of(key), key, max_bytes);
  if (writer) return std::move(*writer);
  const NoteKind kind =
      writer.error().code() == Code::unavailable ? NoteKind::remark : NoteKind::problem;
  note(kind, "packed weights not kept: " + writer.error().message());
  return nullptr;
}

bool PackedCache::publish(const PackedKey& key, PackedFileWriter& writer) const {
  const Status status = writer.publish();
  if (!status.ok()) {
    note(NoteKind::problem, "packed weights not kept: " + status.message());
    return false;
  }
  evict(path_of(key), 0);
  return true;
}

}  // namespace ruv
