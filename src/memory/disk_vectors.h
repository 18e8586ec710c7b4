// DiskVectors: the vectors of a store: an index in memory, and once they were packed those of then
// in a file that is searched with little memory, and an index of those that came since.
//
//   vectors/log-4           the newest log: an index as VectorIndex has it; or, where its header
//                           has "packed": 2, nothing but that
//   vectors/disk-2          the vectors that were packed; disk-2.removed what went of them since
//   vectors/since-2/        an index of those that came since
//
// Packing writes disk-3 from all vectors and an empty since-3; what makes them the store's is the
// log whose header names them. A crash before leaves the store as it was, one after it files that
// opening removes. Programs that know no packed stores refuse such a log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reader_gate.h"
#include "memory/disk_index.h"
#include "memory/vector_index.h"

namespace ruv {

class DiskVectors {
 public:
  using Found = VectorIndex::Found;
  struct Query {
    int64_t k = 10;
    int64_t n_looked_at = 64;  // as SearchOptions has it
    // Only these ids are found; null: all.
    const std::vector<int64_t>* among = nullptr;
  };
  // Kept between searches of one thread.
  struct Search {
    HnswSearch graph;
    DiskSearch disk;
  };

  // As VectorIndex::open. Requires: the metric is one that DiskIndex has, if it is packed.
  static Result<std::unique_ptr<DiskVectors>> open(const VectorIndexOptions& options,
                                                   WorkerPool& pool);

  // Changes: one thread at a time. As those of VectorIndex.
  Status add(std::span<const int64_t> ids, std::span<const float> vectors, WorkerPool& pool);
  Result<int64_t> remove(std::span<const int64_t> ids, WorkerPool& pool);
  Status checkpoint() { return index_->checkpoint(); }
  Status copy_to(const std::string& folder);
  // Writes all vectors to a file that is searched from then on. False: there is nothing new to
  // write. Searches run meanwhile. Needs room on the disk for all vectors and their links, and
  // for the packed ones once more. Fails: unsupported (encrypted vectors), as write_disk_index,
  // DiskIndex::open; all is as it was.
  Result<bool> pack(WorkerPool& pool);

  // Any thread. As those of VectorIndex.
  Result<std::vector<Found>> search(std::span<const float> query, const Query& asked,
                                    Search& memory) const;
  bool has(int64_t id) const;
  std::vector<int64_t> ids() const;
  Result<std::vector<float>> vector(int64_t id) const;
  int64_t size() const;
  int64_t n_packed() const;  // of them, those in the file
  VectorCodes codes() const { return options_.graph.codes; }
  int64_t n_bytes() const;
  int64_t n_damaged() const { return n_damaged_; }

 private:
  explicit DiskVectors(const VectorIndexOptions& options) : options_(options) {}

  // The number of the file that the newest log names; 0: it is an index itself.
  Result<int64_t> packed() const;
  std::string disk_path(int64_t number) const;
  std::string since_path(int64_t number) const;
  Result<std::unique_ptr<DiskIndex>> open_disk(int64_t number, WorkerPool& pool) const;
  // False: another process has packed the vectors meanwhile.
  Result<bool> try_open(WorkerPool& pool);
  void remove_others() const;
  Status pack_as(int64_t number, WorkerPool& pool);
  Status write_packed(int64_t number, WorkerPool& pool) const;
  Status claim(int64_t number) const;

  VectorIndexOptions options_;
  int64_t n_damaged_ = 0;

  ReaderGate gate_;  // of what packing replaces
  int64_t number_ = 0;
  std::unique_ptr<VectorIndex> index_;
  std::unique_ptr<DiskIndex> disk_;  // null: nothing was packed
};

}  // namespace ruv
