// VectorIndex: vectors under numbers of the caller's, ids, in a folder that survives the end of the
// process at any moment.
//
//   lock         held while the index is open
//   rows-00000   vectors, a block of 8192 in each file (memory/file_rows.h)
//   graph-3      the graph after some changes: ids, hashes of rows, links (memory/hnsw_file.cpp)
//   log-3        what changed since graph-3 (memory/index_log.h)
//
// A change is in the log before it takes effect, its vectors in their files before it is in the
// log. Opening reads the newest graph and makes the changes after it again, which gives the graph
// that there was: it depends on the changes and their order alone. A checkpoint writes graph-4,
// then an empty log-4, then removes graph-3 and log-3; of two pairs that a crash leaves the newer
// one is whole. Rows are used again after a checkpoint only, so that a log has each row once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/json.h"
#include "base/thread.h"
#include "memory/file_rows.h"
#include "memory/hnsw.h"
#include "memory/index_log.h"
#include "memory/store_key.h"

namespace ruv {

struct VectorIndexOptions {
  std::string folder;  // made where it is missing
  HnswOptions graph;
  // What the vectors are of, such as the name and hash of an embedding model: vectors of different
  // models cannot be compared, so an index is opened with its own label alone.
  std::string label;
  // A change returns when it survives a loss of power; else it survives the end of the process.
  // Costs the time of a disk's write for each change.
  bool syncs = false;
  // Vectors whose bytes are damaged are removed when the index is opened, which reads all of them;
  // else what reads one first fails.
  bool removes_damaged = false;
  // Encrypts all files; null: none. Vectors are then in memory and not mapped.
  SharedStoreKeys keys = nullptr;
};

class VectorIndex {
 public:
  struct Found {
    int64_t id = 0;
    float distance = 0;
    friend bool operator==(const Found&, const Found&) = default;
  };

  // Makes an index, or opens it. Fails: invalid (options that are not the index's, by name, or an
  // encrypted index without keys, or the other way round),
  // unavailable (another process has it), corrupt, out_of_memory, as files.
  static Result<std::unique_ptr<VectorIndex>> open(const VectorIndexOptions& options,
                                                   WorkerPool& pool);
  ~VectorIndex();
  // The codes of the index in a folder; nothing where there is none. Fails: corrupt, unsupported
  // (codes of a newer version), invalid (keys).
  static Result<std::optional<VectorCodes>> codes_of(const std::string& folder,
                                                     const SharedStoreKeys& keys = nullptr);
  // What the newest log of a folder says of its index.
  struct Head {
    int64_t generation = -1;  // of the log; -1: there is none
    Json header = Json::object();
  };
  // Fails: corrupt, invalid (keys), as files.
  static Result<Head> head_of(const std::string& folder, const SharedStoreKeys& keys = nullptr);

  // Changes: one thread at a time, which waits for the others.

  // Adds a vector of n_dims numbers for each id. Fails: invalid (an id that is there, or twice; as
  // Hnsw::prepare), out_of_memory, as files; nothing is added then.
  Status add(std::span<const int64_t> ids, std::span<const float> vectors, WorkerPool& pool);
  // Returns how many of the ids there were. Fails: as files; all are there then.
  Result<int64_t> remove(std::span<const int64_t> ids, WorkerPool& pool);
  // Writes the graph, so that opening has no changes to make again. Done by itself after as many
  // changes as a sixteenth of the vectors. Fails: as files; all stays as it was.
  Status checkpoint();

  // Reads all vectors that no search or change has read since open(), and compares them with their
  // hashes. Fails: corrupt, by file and id. Done by itself before the first change.
  Status check_all(WorkerPool& pool);

  // Writes a copy that is whole to a folder, which is made. Fails: invalid (it has files), as
  // files. Changes wait; searches do not.
  Status copy_to(const std::string& folder);

  // Calls `use` with all ids, ascending, and their vectors, which have zeros up to a multiple of 16
  // numbers. Changes wait meanwhile; searches do not. Fails: corrupt, as `use`.
  using Visitor =
      std::function<Status(std::span<const int64_t> ids, std::span<const float* const> rows)>;
  Status with_all(const Visitor& use, WorkerPool& pool);

  // Any thread.

  // The k nearest vectors to a query of n_dims numbers, nearest first. Fails: invalid (numbers as
  // Hnsw::prepare; their count), corrupt (a vector that it read is damaged, by file and id).
  Result<std::vector<Found>> search(std::span<const float> query, const SearchOptions& options,
                                    HnswSearch& memory) const;
  // The nodes of those ids that are there, for SearchOptions::among. Good until the next change: an
  // id that is removed later is not found, but one that takes its place might be.
  NodeSet nodes_of(std::span<const int64_t> ids) const;
  bool has(int64_t id) const;
  // All, in no order.
  std::vector<int64_t> ids() const;
  // The vector as it is compared. Fails: not_found, corrupt.
  Result<std::vector<float>> vector(int64_t id) const;
  int64_t size() const;
  VectorCodes codes() const { return options_.graph.codes; }
  int64_t n_bytes() const { return graph_.n_bytes(); }
  // Vectors that were removed at open(), as their bytes were damaged.
  int64_t n_damaged() const { return n_damaged_; }

 private:
  VectorIndex(const VectorIndexOptions& options, FileLock lock, std::unique_ptr<FileRows> rows);

  // Opening.
  std::string path_of(std::string_view kind, int64_t generation) const;
  FileSeal seal_of(int64_t generation) const;
  std::string header() const;
  Status check_header(std::string_view found, const std::string& path) const;
  Status start(WorkerPool& pool);
  void remove_others() const;
  Status load_graph(WorkerPool& pool);
  Status replay(IndexLog::Kind kind, Bytes payload, WorkerPool& pool);
  Status replay_add(Bytes payload, WorkerPool& pool);
  Status replay_remove(Bytes payload);
  // Makes sure of rows whose hashes are known.
  Status check_rows(std::span<const uint32_t> nodes, WorkerPool& pool);
  Status remove_damaged(WorkerPool& pool);

  // Changes.
  // That all of these are new.
  Status check_ids(std::span<const int64_t> ids) const;
  void name(std::span<const uint32_t> nodes, std::span<const int64_t> ids,
            std::span<const uint64_t> hashes);
  int64_t take_out(std::span<const int64_t> ids);
  // That a vector is damaged, and what to do.
  Status damage_of(uint32_t node) const;
  Status know_rows(WorkerPool& pool);
  Status record(IndexLog::Kind kind, Bytes first, Bytes second = {});
  Result<int64_t> remove_recorded(std::span<const int64_t> ids, WorkerPool& pool);
  Status write_graph(int64_t generation) const;
  Status write_checkpoint();
  void checkpoint_if_due();

  VectorIndexOptions options_;
  FileLock lock_;
  FileRows* rows_;  // owned by graph_
  Hnsw graph_;
  std::optional<IndexLog> log_;
  int64_t generation_ = 0;
  int64_t n_changes_ = 0;         // vectors added or removed since the graph was written
  bool must_checkpoint_ = false;  // before rows that a repair has freed are used again
  int64_t n_damaged_ = 0;
  std::vector<uint32_t> damaged_;  // nodes

  mutable Mutex writing_;
  // Names of nodes: shared by searches, so that a node found is still the id's when it is named.
  ReaderGate names_gate_;
  std::vector<int64_t> ids_;  // by node
  RowChecks checks_;          // by node
  std::unordered_map<int64_t, uint32_t> nodes_;
};

}  // namespace ruv
