// The forms of an index that ruv_bench_memory measures, under one interface.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "memory/vector_index.h"

namespace ruv {

class BenchedIndex {
 public:
  using Found = std::vector<VectorIndex::Found>;
  struct Asked {
    int64_t k = 10;
    int64_t ef = 64;
    const NodeSet* among = nullptr;
  };

  virtual ~BenchedIndex() = default;
  virtual Status build(std::span<const int64_t> ids, std::span<const float> vectors,
                       WorkerPool& pool) = 0;
  // Closes it, if it is open, and opens it.
  virtual Status open(WorkerPool& pool) = 0;
  virtual void use_threads(int n_threads) = 0;
  // As `thread`, below what use_threads() had.
  virtual Result<Found> search(std::span<const float> query, const Asked& asked, int thread) = 0;
  virtual NodeSet nodes_of(std::span<const int64_t> ids) const = 0;
  virtual int64_t n_bytes() const = 0;
  // What searches have read from files by calls since open(), in bytes; mappings do not count.
  virtual int64_t n_bytes_read() const { return 0; }
};

// The form is "graph" or "disk". Options are those of the program. Fails: invalid, by name.
Result<std::unique_ptr<BenchedIndex>> benched_index(
    const std::map<std::string, std::string>& options);

}  // namespace ruv
