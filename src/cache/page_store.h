// PageStore: KV pages on disk, so that a cached prefix outlives memory and the process. A record is
// a page, and the running states at its end where there is a checkpoint. Records are appended to
// segment files of one folder; when the folder is full, whole segments are removed, after moving
// their recently used records. It is a cache, not an archive: damaged, stale or foreign data is
// treated as absent and never returns wrong bytes. Byte layout: docs/formats/page-store.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/append_file.h"
#include "base/thread.h"
#include "cache/page_store_index.h"
#include "cache/page_store_record.h"
#include "cache/page_store_segment.h"

namespace ruv {

struct PageStoreConfig {
  std::string folder;           // created when absent, for this user only
  uint64_t model_hash[2] = {};  // of the model's bytes
  std::string layout;           // all else that decides KV bytes: kernels' layout, precision, rope
  int64_t payload_bytes = 0;    // of one page
  int64_t state_bytes = 0;      // of one checkpoint; 0: there are none
  int64_t max_bytes = 0;        // of all segment files in the folder
  std::optional<SealKey> key;   // if given, everything is encrypted
  std::function<void(std::string_view)> note = {};  // a line for each file or group of records that
                                                    // is not used; called by open and the writer
};

// One thread, the writer, calls append and flush; everything else may be called by any thread.
class PageStore {
 public:
  // Opens the folder and reads the label of every record. Fails: invalid (the configuration, a
  // folder that cannot be written), unavailable (another process or store has this folder),
  // internal. The engine can run without a store, with a colder cache after a start.
  static Result<std::unique_ptr<PageStore>> open(const PageStoreConfig& config);
  ~PageStore();

  struct Record {
    int64_t id = -1;      // never used again for other cells, also after a restart
    int64_t parent = -1;  // the record of the page before; -1: the first page of its scope
    std::string scope;    // of first pages only
    PageCells cells = {};
  };
  // All records, parents before their children. Reads their labels again, so it costs I/O.
  std::vector<Record> records() const;

  // Appends a page, with a checkpoint unless `state` is empty, and returns its id. `scope` (at most
  // kMaxScopeBytes) is for first pages, with parent -1. When the folder is full, copies up to
  // kMovesPerAppend other records. Fails: invalid (sizes, the scope), not_found (the parent has
  // been removed), out_of_memory (disk full), internal. After a failure the store is unchanged and
  // later calls may succeed.
  Result<int64_t> append(int64_t parent, std::string_view scope, std::span<const PrefixCell> cells,
                         Bytes payload, Bytes state = {});
  // Returns when everything appended survives a loss of power. (It survives the end of this process
  // anyway.)
  Status flush();

  // Reads payload_bytes into `payload`, and state_bytes into `state` unless it is empty, and checks
  // every bit. Fails: not_found (a state too); invalid (a size); corrupt, and then the record and
  // its descendants are removed.
  Status read(int64_t id, std::span<std::byte> payload, std::span<std::byte> state = {}) const;
  // Whether the record is there and has a checkpoint.
  bool has_state(int64_t id) const;
  // Marks a record and its ancestors as used now, so that they are removed later.
  void touch(int64_t id);
  // Ids removed since the last call, to keep max_bytes or because they were damaged.
  std::vector<int64_t> take_dropped();

  struct Stats {
    int64_t n_bytes = 0;  // of segment files, also of ignored ones that are this engine's
    int64_t n_records = 0;
    int64_t n_segments = 0;
    int64_t n_written = 0;  // records, since open, as all below
    int64_t n_read = 0;
    int64_t n_moved = 0;
    int64_t n_dropped = 0;
    int64_t n_damaged = 0;
    int64_t n_ignored = 0;  // files
  };
  Stats stats() const;

  static constexpr int kMovesPerAppend = 4;
  // The smallest allowed max_bytes for pages and checkpoints of these sizes.
  static int64_t min_bytes(int64_t payload_bytes, int64_t state_bytes = 0);

 private:
  // A segment of another model, version or key. It counts for max_bytes and is removed first.
  struct IgnoredFile {
    std::string path;
    int64_t n_bytes;
    int64_t modified_ns;
  };
  struct FoundRecord {
    RecordLabel label;
    RecordIndex::Place place;
  };
  using Segments = std::map<uint32_t, std::shared_ptr<PageSegment>>;

  PageStore(const PageStoreConfig& config, RecordCodec codec, FileLock lock);
  void note(std::string_view line) const;

  void find_segments();
  void adopt(const std::string& path, uint32_t number);
  void ignore(const std::string& path, std::string_view reason);
  void link_records();
  std::vector<FoundRecord> scan(PageSegment& segment);
  void age_records();
  void choose_active();
  void keep_bound();

  Result<RecordLabel> label_for(int64_t parent, std::string_view scope,
                                std::span<const PrefixCell> cells, Bytes payload,
                                Bytes state) const;
  Status make_room(bool has_state);
  Status begin_segment_when_full(bool has_state);
  Status write(const PageSegment::NewRecord& record);
  Status read_record(const PageSegment& segment, const RecordIndex::Entry& entry, int64_t id,
                     std::span<std::byte> payload, std::span<std::byte> state) const;
  bool drop_ignored();
  bool choose_victim();
  bool move_one();
  void drop_victim();
  const RecordIndex::Entry* find_live(const PageSegment::Held& held, uint32_t segment) const;

  const PageStoreConfig config_;
  const RecordCodec codec_;
  const FileLock lock_;
  const int64_t segment_bytes_;  // a segment is full when the next record would pass this

  // Used by the writer only.
  std::shared_ptr<PageSegment> active_;    // the newest segment, when it has room
  std::shared_ptr<PageSegment> victim_;    // removed when moving_ is empty
  std::vector<PageSegment::Held> moving_;  // its records that are worth keeping
  std::vector<IgnoredFile> ignored_;       // oldest last
  std::vector<std::byte> scratch_;         // one payload
  std::vector<std::byte> state_;           // one state
  const std::vector<std::byte> zeros_;     // one slot
  uint32_t next_number_ = 1;
  bool unsynced_ = false;         // the active segment
  bool folder_unsynced_ = false;  // a new file in it

  mutable Mutex mutex_;  // guards everything below
  Segments segments_;
  mutable RecordIndex index_;
  mutable std::vector<int64_t> dropped_;
  mutable Stats stats_;
  uint64_t tick_ = 1;
  uint64_t n_appended_ = 0;
};

}  // namespace ruv
