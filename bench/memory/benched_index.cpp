// A graph in memory (VectorIndex), and one that is read from a file (DiskIndex).
#include "benched_index.h"

#include <atomic>

#include "base/folder.h"
#include "memory/disk_index.h"
#include "memory/disk_writer.h"

namespace ruv {
namespace {

class BenchedGraph final : public BenchedIndex {
 public:
  explicit BenchedGraph(VectorIndexOptions options) : options_(std::move(options)) {}

  Status build(std::span<const int64_t> ids, std::span<const float> vectors,
               WorkerPool& pool) override {
    TRY(open(pool));
    if (index_->size() > 0) return fail(Code::invalid, "{}: has an index", options_.folder);
    TRY(index_->add(ids, vectors, pool));
    return index_->checkpoint();
  }
  Status open(WorkerPool& pool) override {
    index_.reset();
    index_ = TRY(VectorIndex::open(options_, pool));
    return {};
  }
  void use_threads(int n_threads) override { memories_.resize(static_cast<size_t>(n_threads)); }
  Result<Found> search(std::span<const float> query, const Asked& asked, int thread) override {
    return index_->search(query, {asked.k, asked.ef, asked.among},
                          memories_[static_cast<size_t>(thread)]);
  }
  NodeSet nodes_of(std::span<const int64_t> ids) const override { return index_->nodes_of(ids); }
  int64_t n_bytes() const override { return index_->n_bytes(); }

 private:
  VectorIndexOptions options_;
  std::unique_ptr<VectorIndex> index_;
  std::vector<HnswSearch> memories_;
};

class BenchedDisk final : public BenchedIndex {
 public:
  BenchedDisk(const std::string& folder, DiskWriteOptions written, int beam, int64_t cache_bytes)
      : folder_(folder), written_(std::move(written)), beam_(beam) {
    opened_.path = folder + "/disk";
    opened_.cache_bytes = cache_bytes;
  }

  Status build(std::span<const int64_t> ids, std::span<const float> vectors,
               WorkerPool& pool) override {
    TRY(make_folder(folder_));
    TRY(write_disk_index(opened_.path, written_, ids, vectors, pool));
    return open(pool);
  }
  Status open(WorkerPool& pool) override {
    index_.reset();
    index_ = TRY(DiskIndex::open(opened_, pool));
    n_read_ = 0;
    return {};
  }
  void use_threads(int n_threads) override { memories_.resize(static_cast<size_t>(n_threads)); }
  Result<Found> search(std::span<const float> query, const Asked& asked, int thread) override {
    DiskSearch& memory = memories_[static_cast<size_t>(thread)];
    auto found = index_->search(query, {asked.k, asked.ef, beam_, asked.among}, memory);
    n_read_ += memory.n_blocks_read() * index_->shape().block_bytes;
    return found;
  }
  NodeSet nodes_of(std::span<const int64_t> ids) const override { return index_->nodes_of(ids); }
  int64_t n_bytes() const override { return index_->n_bytes(); }
  int64_t n_bytes_read() const override { return n_read_; }

 private:
  std::string folder_;
  DiskWriteOptions written_;
  int beam_;
  DiskIndexOptions opened_;
  std::unique_ptr<DiskIndex> index_;
  std::vector<DiskSearch> memories_;
  std::atomic<int64_t> n_read_ = 0;
};

}  // namespace

Result<std::unique_ptr<BenchedIndex>> benched_index(
    const std::map<std::string, std::string>& options) {
  const auto text = [&](const char* name, const char* otherwise) {
    const auto found = options.find(name);
    return found != options.end() ? found->second : std::string(otherwise);
  };
  const auto number = [&](const char* name, const char* otherwise) {
    return std::stoll(text(name, otherwise));
  };
  const std::string folder = text("folder", "");
  if (folder.empty()) return fail(Code::invalid, "give folder=, a new one");
  const Metric metric = TRY(metric_of(text("metric", "l2")));
  const std::string form = text("form", "graph");
  if (form == "disk") {
    DiskWriteOptions written{.metric = metric, .n_dims = number("n_dims", "128")};
    written.has_halves = number("halves", "0") != 0;
    written.graph.degree = static_cast<int>(number("degree", "64"));
    written.graph.n_looked_at = number("build", "100");
    return std::make_unique<BenchedDisk>(folder, written, static_cast<int>(number("beam", "4")),
                                         number("cache", "4194304"));
  }
  if (form != "graph") return fail(Code::invalid, "form={}: there are graph and disk", form);
  VectorIndexOptions made;
  made.folder = folder;
  made.graph.metric = metric;
  made.graph.n_dims = number("n_dims", "128");
  made.graph.m = static_cast<int>(number("m", "16"));
  made.graph.n_looked_at = number("build", "200");
  made.graph.codes = TRY(vector_codes_of(text("codes", "none")));
  return std::make_unique<BenchedGraph>(made);
}

}  // namespace ruv
