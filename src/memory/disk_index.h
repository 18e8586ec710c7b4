// DiskIndex: vectors in a file that is searched with little memory, for sets beyond it (DiskANN;
// Subramanya and others, 2019).
//
// Memory has a code of a byte for each four numbers, the id of each vector, and the blocks nearest
// to the entry; links and whole vectors lie in blocks of the file that a search reads as it comes
// by them. Codes decide where it goes, the vectors that it has read what it finds. The file never
// changes (write_disk_index makes it); ids that were removed are in a log beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random_file.h"
#include "base/reader_gate.h"
#include "memory/disk_codes.h"
#include "memory/disk_file.h"
#include "memory/index_log.h"
#include "memory/nearest_list.h"
#include "memory/node_set.h"
#include "memory/seen_nodes.h"
#include "memory/vector_index.h"

namespace ruv {

struct DiskIndexOptions {
  std::string path;
  // Has to be the file's.
  std::string label;
  // Memory for blocks that searches come by first. A search saves a read for each block of its own
  // that is among them.
  int64_t cache_bytes = int64_t{4} << 20;
  // A removal returns when it survives a loss of power.
  bool syncs = false;
  // Reads all blocks, and removes the vectors of damaged ones; else what reads one first fails.
  bool removes_damaged = false;
};

struct DiskSearchOptions {
  int64_t k = 10;
  // How many near nodes are looked at; k where that is more. More find more of the nearest ones,
  // and read as many blocks or a little more.
  int64_t n_looked_at = 64;
  // How many blocks are asked for at once, 1 to 64: more wait less often, and read more.
  int beam = 4;
  // Only these are found; null: all. Few are compared one by one, by codes.
  const NodeSet* among = nullptr;
};

// Kept between searches of one thread.
class DiskSearch {
 public:
  // Blocks that the last search read from the file.
  int64_t n_blocks_read() const { return n_read_; }

 private:
  friend class DiskIndex;
  NearestList near_;  // by codes
  NearestList best_;  // of those that may be found, by whole vectors
  SeenNodes nodes_seen_, blocks_seen_;
  std::vector<float> query_, table_, distances_, scales_;
  std::vector<uint32_t> nodes_, wave_, followed_;
  std::vector<const uint8_t*> codes_;
  std::vector<const float*> rows_;
  std::vector<const uint16_t*> halves_;
  Buffer block_;
  int64_t n_read_ = 0;
  bool is_cut_short_ = false;  // by a damaged block
};

class DiskIndex {
 public:
  using Found = VectorIndex::Found;

  // Fails: not_found, corrupt, unsupported (of another version), invalid (of another label),
  // out_of_memory, as files.
  static Result<std::unique_ptr<DiskIndex>> open(const DiskIndexOptions& options, WorkerPool& pool);

  // The k nearest vectors to a query of n_dims numbers, nearest first: the same whatever the cache
  // and other threads do. Any thread. Fails: invalid (a number of the query, their count, beam),
  // corrupt (a block that it read is damaged, by its number), out_of_memory, as files.
  Result<std::vector<Found>> search(std::span<const float> query, const DiskSearchOptions& options,
                                    DiskSearch& memory) const;
  // The nodes of those ids that are there, for DiskSearchOptions::among.
  NodeSet nodes_of(std::span<const int64_t> ids) const;
  bool has(int64_t id) const;
  // All that can be found, in no order.
  std::vector<int64_t> ids() const;
  // The vector as it is compared. Fails: not_found, corrupt, as files.
  Result<std::vector<float>> vector(int64_t id) const;
  // Reads all blocks. Fails: corrupt (by the first that is damaged), as files.
  Status check_all(WorkerPool& pool) const;

  // Returns how many of the ids there were; no search finds them from the return on. One thread at
  // a time. Fails: as files; all are there then.
  Result<int64_t> remove(std::span<const int64_t> ids);

  const DiskShape& shape() const { return header_.shape; }
  int64_t size() const;  // that can be found
  int64_t n_removed() const;
  // Vectors that open() removed, as their blocks were damaged.
  int64_t n_damaged() const { return n_damaged_; }
  int64_t n_bytes() const;  // of memory
  // Where the log of removals is.
  static std::string path_of_removed(const std::string& path) { return path + ".removed"; }

 private:
  DiskIndex(const DiskIndexOptions& options, RandomFile file, DiskHeader header, uint64_t hash,
            DiskCodes codes)
      : options_(options),
        file_(std::move(file)),
        header_(std::move(header)),
        file_hash_(hash),
        codes_(std::move(codes)) {}

  // Opening.
  Status load();
  Status load_part(int64_t at, std::span<std::byte> part, uint64_t hash, const char* what) const;
  Status load_removed();
  std::string removed_header() const;
  Status fill_cache();
  Status remove_damaged(WorkerPool& pool);

  // Blocks.
  uint32_t block_of(uint32_t node) const {
    return static_cast<uint32_t>(node / shape().nodes_of_block());
  }
  int64_t offset_of(int64_t block) const {
    return shape().blocks_at() + block * shape().block_bytes;
  }
  DiskBlock block_in(int64_t number, std::span<std::byte> bytes) const {
    return {shape(), file_hash_, number, bytes};
  }
  // Reads a block into memory and checks it.
  Status read_block(int64_t number, std::span<std::byte> bytes) const;
  bool is_cached(int64_t block) const { return block < n_cached_; }
  bool is_all_removed(int64_t block) const;
  std::span<std::byte> cached(int64_t block) const;

  // Searching. Requires: gate_ is shared.
  uint32_t node_of(int64_t id) const;  // kNone: there is none
  bool may_be_found(uint32_t node, const NodeSet* among) const {
    return !removed_.has(node) && (among == nullptr || among->has(node));
  }
  void begin(std::span<const float> query, DiskSearch& memory) const;
  void measure_codes(DiskSearch& memory) const;
  Status search_all(const DiskSearchOptions& options, int64_t n_list, DiskSearch& memory) const;
  Status search_among(const DiskSearchOptions& options, DiskSearch& memory) const;
  Status compare_each(const DiskSearchOptions& options, DiskSearch& memory) const;
  Status read_wave(const DiskSearchOptions& options, bool follows, DiskSearch& memory) const;
  void take_block(const DiskBlock& block, int64_t number, const DiskSearchOptions& options,
                  bool follows, DiskSearch& memory) const;
  void measure_block(const DiskBlock& block, int64_t number, DiskSearch& memory) const;
  void follow_block(const DiskBlock& block, int64_t number, DiskSearch& memory) const;

  static constexpr uint32_t kNone = UINT32_MAX;

  DiskIndexOptions options_;
  RandomFile file_;
  DiskHeader header_;
  uint64_t file_hash_;
  DiskCodes codes_;
  std::vector<int64_t> ids_;     // by node
  std::vector<uint32_t> by_id_;  // nodes in the order of their ids
  Buffer cache_;                 // the first n_cached_ blocks
  int64_t n_cached_ = 0;
  int64_t n_damaged_ = 0;
  std::optional<IndexLog> log_;  // once something was removed

  ReaderGate gate_;  // of what follows
  NodeSet removed_;
};

}  // namespace ruv
