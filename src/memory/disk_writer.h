// Writing an index on disk, all at once (memory/disk_index.h reads it).
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "memory/disk_graph.h"
#include "memory/metric.h"

namespace ruv {

struct DiskWriteOptions {
  // l2, cosine or manhattan. By dot a vector may be far from itself, so that no graph leads there.
  Metric metric = Metric::l2;
  int64_t n_dims = 0;  // 1 to 65536
  // What the vectors are of, such as the name and hash of an embedding model; at most 3072 bytes.
  std::string label = {};
  // Vectors as float16: half the bytes, and distances that are off by a thousandth or so.
  bool has_halves = false;
  DiskGraphOptions graph = {};
};
// Fails: invalid, unsupported, by name.
Status check(const DiskWriteOptions& options);

// Writes a file that is whole or not there. The same bytes for the same vectors in the same order,
// whatever the number of threads and the machine. `rows`: n_dims numbers, of length 1 with cosine,
// and zeros up to a multiple of 16. Takes memory for the graph, (5 · degree + 3) bytes a vector,
// and for the codes. Fails: invalid (a file of this name; an id twice), out_of_memory, as files.
Status write_disk_index(const std::string& path, const DiskWriteOptions& options,
                        std::span<const int64_t> ids, std::span<const float* const> rows,
                        WorkerPool& pool);
// The same of n_dims numbers for each id. Fails: invalid, too (as Hnsw::prepare; their count).
Status write_disk_index(const std::string& path, const DiskWriteOptions& options,
                        std::span<const int64_t> ids, std::span<const float> vectors,
                        WorkerPool& pool);

}  // namespace ruv
