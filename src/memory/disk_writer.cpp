// The graph and the codes are made in memory; then all is written in the order of the blocks.
#include "memory/disk_writer.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "memory/disk_codes.h"
#include "memory/disk_file.h"
#include "memory/vector_rows.h"

namespace ruv {
namespace {

constexpr int64_t kCodedAtOnce = 256;

Status check_disk_ids(std::span<const int64_t> ids) {
  std::vector<int64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return fail(Code::invalid, "the id {} twice", *twice);
}

class DiskWriter {
 public:
  DiskWriter(const DiskWriteOptions& options, std::span<const int64_t> ids,
             std::span<const float* const> rows, DiskGraph graph, WorkerPool& pool)
      : options_(options), ids_(ids), rows_(rows), graph_(std::move(graph)), pool_(pool) {}

  Status write(const std::string& path);

 private:
  std::string header() const;
  Status code(WorkerPool& pool);
  Status write_blocks(FileWriter& file, uint64_t file_hash) const;

  const DiskWriteOptions& options_;
  std::span<const int64_t> ids_;
  std::span<const float* const> rows_;
  DiskGraph graph_;
  WorkerPool& pool_;
  DiskShape shape_;
  std::vector<uint32_t> order_;   // which vector is at a place
  std::vector<uint32_t> places_;  // where a vector is
  std::vector<int64_t> ids_of_places_;
  std::optional<DiskCodes> codes_;
};

Status DiskWriter::code(WorkerPool& pool) {
  codes_.emplace(TRY(DiskCodes::allocate(shape_)));
  if (rows_.empty()) return {};
  codes_->learn(rows_, pool);
  const int64_t n = shape_.n_nodes;
  std::vector<std::vector<float>> memories(static_cast<size_t>(pool.n_threads()));
  pool.run_items((n + kCodedAtOnce - 1) / kCodedAtOnce, [&](int thread, int64_t item) {
    for (int64_t at = item * kCodedAtOnce; at < std::min(n, (item + 1) * kCodedAtOnce); ++at) {
      codes_->set(at, rows_[order_[static_cast<size_t>(at)]],
                  memories[static_cast<size_t>(thread)]);
    }
  });
  return {};
}

std::string DiskWriter::header() const {
  DiskHeader header;
  header.shape = shape_;
  header.label = options_.label;
  if (!order_.empty()) header.entries = {places_[graph_.entry()]};
  header.centres_hash = hash_of_disk_part(codes_->centres());
  header.ids_hash = hash_of_disk_part(std::as_bytes(std::span(ids_of_places_)));
  header.codes_hash = hash_of_disk_part(codes_->codes());
  return header.bytes();
}

// One block at a time: vectors come from where they are, a mapped file mostly.
Status DiskWriter::write_blocks(FileWriter& file, uint64_t file_hash) const {
  std::vector<std::byte> bytes(static_cast<size_t>(shape_.block_bytes));
  std::vector<uint32_t> links;
  for (int64_t number = 0; number < shape_.n_blocks(); ++number) {
    std::ranges::fill(bytes, std::byte{0});
    DiskBlock block(shape_, file_hash, number, bytes);
    for (int64_t i = 0; i < shape_.n_nodes_in(number); ++i) {
      const auto place = static_cast<size_t>(number * shape_.nodes_of_block() + i);
      const uint32_t node = order_[place];
      links.clear();
      for (const uint32_t to : graph_.links(node)) links.push_back(places_[to]);
      block.set(i, ids_of_places_[place], rows_[node], links);
    }
    block.seal();
    TRY(file.write(bytes));
  }
  return {};
}

// Hashes of what is kept in memory are in the header, which comes first: so all but the blocks is
// made before the file is begun.
Status DiskWriter::write(const std::string& path) {
  shape_ = DiskShape::of(options_.metric, options_.has_halves, options_.n_dims, std::ssize(ids_),
                         graph_.most_links());
  order_ = disk_order(graph_, shape_.nodes_of_block());
  places_.resize(order_.size());
  for (size_t place = 0; place < order_.size(); ++place) {
    places_[order_[place]] = static_cast<uint32_t>(place);
    ids_of_places_.push_back(ids_[order_[place]]);
  }
  TRY(code(pool_));
  FileWriter file = TRY(FileWriter::create(path, {.readers = FileReaders::owner}));
  const std::string page = header();
  TRY(file.write(as_bytes(page)));
  TRY(file.write(codes_->centres()));
  TRY(file.write(std::as_bytes(std::span(ids_of_places_))));
  TRY(file.write(codes_->codes()));
  const std::string filler(static_cast<size_t>(shape_.blocks_at()) - file.offset(), '\0');
  TRY(file.write(as_bytes(filler)));
  TRY(write_blocks(file, hash_of_disk_header(as_bytes(page))));
  return file.commit();
}

}  // namespace

Status check(const DiskWriteOptions& options) {
  if (options.metric == Metric::dot) {
    return fail(Code::unsupported,
                "an index on disk has no metric dot; make the vectors of length 1 and use cosine");
  }
  if (options.n_dims < 1 || options.n_dims > DiskShape::kMostDims) {
    return fail(Code::invalid, "vectors of {} numbers, not 1 to {}", options.n_dims,
                DiskShape::kMostDims);
  }
  if (options.label.size() > DiskHeader::kMostLabelBytes) {
    return fail(Code::invalid, "a label of {} bytes, more than {}", options.label.size(),
                DiskHeader::kMostLabelBytes);
  }
  return check(options.graph);
}

Status write_disk_index(const std::string& path, const DiskWriteOptions& options,
                        std::span<const int64_t> ids, std::span<const float* const> rows,
                        WorkerPool& pool) {
  TRY(check(options));
  if (ids.size() != rows.size()) {
    return fail(Code::invalid, "{} vectors for {} ids", rows.size(), ids.size());
  }
  const int64_t n_ids = std::ssize(ids);
  if (n_ids >= DiskShape::kMostNodes) {
    return fail(Code::invalid, "{} vectors, more than an index has", ids.size());
  }
  TRY(check_disk_ids(ids));
  if (file_exists(path)) return fail(Code::invalid, "{}: exists", path);
  const RowDistances distances(options.metric, (options.n_dims + 15) / 16 * 16);
  DiskGraph graph = TRY(DiskGraph::build(rows, options.metric, distances, options.graph, pool));
  return DiskWriter(options, ids, rows, std::move(graph), pool).write(path);
}

Status write_disk_index(const std::string& path, const DiskWriteOptions& options,
                        std::span<const int64_t> ids, std::span<const float> vectors,
                        WorkerPool& pool) {
  TRY(check(options));
  const int64_t n_dims = options.n_dims, n = std::ssize(ids);
  if (std::ssize(vectors) != n * n_dims) {
    return fail(Code::invalid, "{} numbers for {} ids, not {} for each", vectors.size(), n, n_dims);
  }
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (std::fabs(vectors[i]) <= kMostNumber) continue;
    return fail(Code::invalid, "vector {}: a number is {}, not from -1e15 to 1e15",
                static_cast<int64_t>(i) / n_dims, vectors[i]);
  }
  MemoryRows memory(n_dims);
  TRY(memory.grow(n));
  std::vector<const float*> rows;
  for (int64_t i = 0; i < n; ++i) {
    const auto number = static_cast<uint32_t>(i);
    std::vector<float> row(vectors.begin() + i * n_dims, vectors.begin() + (i + 1) * n_dims);
    if (options.metric == Metric::cosine && !normalise(row)) {
      return fail(Code::invalid, "vector {}: it has no length, and so no direction", i);
    }
    TRY(memory.set(number, row.data()));
    rows.push_back(memory.row(number));
  }
  return write_disk_index(path, options, ids, rows, pool);
}

}  // namespace ruv
