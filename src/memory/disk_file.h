// The file of an index on disk (docs/formats/disk-index.md): a page of what it is, what searches
// keep in memory, then blocks of whole nodes, which searches read.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "memory/metric.h"

namespace ruv {

// The sizes that follow from what an index is. All numbers are bounded, so that none overflows.
struct DiskShape {
  static constexpr int64_t kPageBytes = 4096;
  static constexpr int64_t kMostBlockBytes = int64_t{1} << 20;
  static constexpr int64_t kMostLinks = 1024;
  static constexpr int64_t kMostNodes = int64_t{1} << 31;
  static constexpr int64_t kMostDims = 65536;

  Metric metric = Metric::l2;
  bool has_halves = false;  // numbers are float16 and a scale, not float32
  int64_t n_dims = 0, n_nodes = 0;
  int64_t most_links = 0;  // room for them in a node
  int64_t block_bytes = 0;

  // The smallest blocks that hold a node.
  static DiskShape of(Metric metric, bool has_halves, int64_t n_dims, int64_t n_nodes,
                      int64_t most_links);
  // Fails: corrupt, by what is wrong.
  Status check(const std::string& source) const;

  // Numbers of a row: its own and zeros.
  int64_t step() const { return (n_dims + 15) / 16 * 16; }
  int64_t row_bytes() const { return has_halves ? 2 * step() : 4 * step(); }
  int64_t node_bytes() const { return row_bytes() + kHeadBytes + 4 * most_links; }
  int64_t nodes_of_block() const { return (block_bytes - kHashBytes) / node_bytes(); }
  int64_t n_blocks() const { return (n_nodes + nodes_of_block() - 1) / nodes_of_block(); }
  // How many nodes a block has: the last one may have fewer.
  int64_t n_nodes_in(int64_t block) const;
  int64_t n_parts() const { return (n_dims + 3) / 4; }
  int64_t code_bytes() const { return (n_dims + 63) / 64 * 16; }
  int64_t centres_bytes() const { return n_parts() * 4096; }
  int64_t ids_bytes() const { return 8 * n_nodes; }
  int64_t codes_bytes() const { return code_bytes() * n_nodes; }
  // Where the parts of the file begin.
  int64_t centres_at() const { return kPageBytes; }
  int64_t ids_at() const { return centres_at() + centres_bytes(); }
  int64_t codes_at() const { return ids_at() + ids_bytes(); }
  int64_t blocks_at() const {
    return (codes_at() + codes_bytes() + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  int64_t file_bytes() const { return blocks_at() + n_blocks() * block_bytes; }

  static constexpr int64_t kHashBytes = 8;
  static constexpr int64_t kHeadBytes = 16;  // of a node: id, scale, number of links
};

struct DiskHeader {
  static constexpr size_t kMostEntries = 8;
  static constexpr size_t kMostLabelBytes = 3072;

  DiskShape shape;
  std::vector<uint32_t> entries;  // nodes where searches begin
  uint64_t centres_hash = 0, ids_hash = 0, codes_hash = 0;
  std::string label;

  // A page. Requires: at most kMostEntries entries, a label of at most kMostLabelBytes.
  std::string bytes() const;
  // Fails: corrupt (by what is wrong), unsupported (of another version).
  static Result<DiskHeader> of(Bytes page, const std::string& source);
};
// The hash of a header's page, which is part of those of the blocks.
uint64_t hash_of_disk_header(Bytes page);

// The hash of what is kept in memory: that of each MiB begins with that of the one before.
uint64_t hash_of_disk_part(Bytes part);

// A node in a block.
struct DiskNode {
  const std::byte* row = nullptr;  // step() numbers
  int64_t id = 0;
  float scale = 1;  // of float16 numbers, a power of two
  std::span<const std::byte> links = {};
  uint32_t link(size_t i) const;
  size_t n_links() const { return links.size() / sizeof(uint32_t); }
};

// A block of a shape, and its place in the file. The bytes live as long as this is used.
class DiskBlock {
 public:
  DiskBlock(const DiskShape& shape, uint64_t file_hash, int64_t number, std::span<std::byte> bytes)
      : shape_(shape), file_hash_(file_hash), number_(number), bytes_(bytes) {}

  // Requires: i is below n_nodes_in(number); the node was set, or checked.
  DiskNode node(int64_t i) const;
  // `row`: shape.step() numbers. Requires: at most most_links links.
  void set(int64_t i, int64_t id, const float* row, std::span<const uint32_t> links);
  // Sets the hash, when all nodes are set.
  void seal();
  // What is wrong with it, or null: whether it has its hash, these ids, links to nodes that are
  // there and numbers that vectors have.
  const char* fault(std::span<const int64_t> ids) const;

 private:
  uint64_t hash() const;
  const char* fault_of(int64_t i, int64_t id) const;

  const DiskShape& shape_;
  uint64_t file_hash_;
  int64_t number_;
  std::span<std::byte> bytes_;
};

}  // namespace ruv
