// Changes of an index, and searches.
#include "memory/vector_index.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace ruv {
namespace {

// A graph is repaired when a tenth of its nodes is removed, and written when a sixteenth was
// changed, but not for fewer than these: more often costs time, less often leaves more to search
// past, and to do again when the index is opened.
constexpr int64_t kShareRemoved = 10;
constexpr int64_t kLeastRemoved = 64;
constexpr int64_t kShareChanged = 16;
constexpr int64_t kLeastChanged = 4096;

}  // namespace

VectorIndex::VectorIndex(const VectorIndexOptions& options, FileLock lock,
                         std::unique_ptr<FileRows> rows)
    : options_(options),
      lock_(std::move(lock)),
      rows_(rows.get()),
      graph_(options.graph, std::move(rows)),
      checks_(*rows_) {
  graph_.check_rows_with(&checks_);
}

VectorIndex::~VectorIndex() = default;

Status VectorIndex::check_ids(std::span<const int64_t> ids) const {
  std::unordered_set<int64_t> seen;
  for (const int64_t id : ids) {
    if (nodes_.contains(id)) return fail(Code::invalid, "the index has the id {} already", id);
    if (!seen.insert(id).second) return fail(Code::invalid, "the id {} twice", id);
  }
  return {};
}

Status VectorIndex::damage_of(uint32_t node) const {
  return fail(Code::corrupt, "{}: the vector of id {} is damaged; removes_damaged opens it without",
              FileRows::path_of_block(options_.folder, node / VectorRows::kRowsOfBlock),
              ids_[node]);
}

Status VectorIndex::record(IndexLog::Kind kind, Bytes first, Bytes second) {
  TRY(log_->add(kind, first, second));
  return options_.syncs ? log_->sync() : Status();
}

// Requires: no node of these is found yet.
void VectorIndex::name(std::span<const uint32_t> nodes, std::span<const int64_t> ids,
                       std::span<const uint64_t> hashes) {
  const auto held = names_gate_.alone();
  const auto n = static_cast<size_t>(graph_.n_nodes());
  const size_t end = nodes.empty() ? n : std::max<size_t>(n, nodes.back() + size_t{1});
  ids_.resize(end);
  checks_.resize(end);
  for (size_t i = 0; i < nodes.size(); ++i) {
    ids_[nodes[i]] = ids[i];
    checks_.set(nodes[i], hashes[i]);
    nodes_[ids[i]] = nodes[i];
  }
}

// Rows, then the record, then names and links. Up to the record nothing has changed, and after it
// nothing can fail.
Status VectorIndex::add(std::span<const int64_t> ids, std::span<const float> vectors,
                        WorkerPool& pool) {
  const Lock held(writing_);
  const int64_t n_dims = options_.graph.n_dims;
  if (std::ssize(vectors) != std::ssize(ids) * n_dims) {
    return fail(Code::invalid, "{} numbers for {} ids, not {} for each", vectors.size(), ids.size(),
                n_dims);
  }
  TRY(check_ids(ids));
  TRY(know_rows(pool));
  if (must_checkpoint_) TRY(write_checkpoint());
  const std::vector<uint32_t> nodes = TRY(graph_.prepare(vectors));
  if (options_.syncs) TRY(rows_->sync());
  std::vector<uint64_t> hashes;
  for (const uint32_t node : nodes) hashes.push_back(checks_.hash_of(node));
  TRY(record(IndexLog::Kind::add, std::as_bytes(ids), std::as_bytes(std::span(hashes))));
  name(nodes, ids, hashes);
  graph_.link_prepared(nodes, pool);
  n_changes_ += std::ssize(ids);
  checkpoint_if_due();
  return {};
}

// From the return on no search finds them: those that run hold the gate.
int64_t VectorIndex::take_out(std::span<const int64_t> ids) {
  const auto held = names_gate_.alone();
  std::vector<uint32_t> nodes;
  for (const int64_t id : ids) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) continue;
    nodes.push_back(found->second);
    nodes_.erase(found);
  }
  return graph_.remove(nodes);
}

Result<int64_t> VectorIndex::remove(std::span<const int64_t> ids, WorkerPool& pool) {
  const Lock held(writing_);
  std::vector<int64_t> known;
  for (const int64_t id : ids) {
    if (nodes_.contains(id)) known.push_back(id);
  }
  if (known.empty()) return int64_t{0};
  TRY(know_rows(pool));
  return remove_recorded(known, pool);
}

Result<int64_t> VectorIndex::remove_recorded(std::span<const int64_t> ids, WorkerPool& pool) {
  TRY(record(IndexLog::Kind::remove, std::as_bytes(ids)));
  const int64_t n = take_out(ids);
  n_changes_ += n;
  const int64_t n_removed = graph_.n_removed();
  if (n_removed >= std::max(kLeastRemoved, (graph_.size() + n_removed) / kShareRemoved)) {
    graph_.repair(pool);
    must_checkpoint_ = true;
  }
  checkpoint_if_due();
  return n;
}

Status VectorIndex::checkpoint() {
  const Lock held(writing_);
  return n_changes_ > 0 || must_checkpoint_ ? write_checkpoint() : Status();
}

// A failure is met again at the next change, and told where the change depends on it.
void VectorIndex::checkpoint_if_due() {
  const int64_t most = std::max(kLeastChanged, graph_.size() / kShareChanged);
  if (must_checkpoint_ || n_changes_ > most) (void)write_checkpoint();
}

// The log is made after the graph has its name: where it is, the graph is whole. Rows come first,
// as the hashes in the graph are of them.
Status VectorIndex::write_checkpoint() {
  const int64_t next = generation_ + 1;
  TRY(rows_->sync());
  TRY(write_graph(next));
  log_.emplace(TRY(IndexLog::create(path_of("log", next), header(), seal_of(next))));
  TRY(sync_folder(options_.folder));
  generation_ = next;
  n_changes_ = 0;
  must_checkpoint_ = false;
  remove_others();
  return {};
}

Result<std::vector<VectorIndex::Found>> VectorIndex::search(std::span<const float> query,
                                                            const SearchOptions& options,
                                                            HnswSearch& memory) const {
  TRY(check_query(options_.graph, query));
  std::vector<Neighbour> near;
  std::vector<Found> found;
  const auto held = names_gate_.share();
  graph_.search(query.data(), options, memory, near);
  if (memory.damaged() != HnswSearch::kNone) {
    return tl::unexpected(damage_of(memory.damaged()));
  }
  for (const Neighbour& one : near) found.push_back({ids_[one.node], one.distance});
  return found;
}

Status VectorIndex::with_all(const Visitor& use, WorkerPool& pool) {
  const Lock held(writing_);
  TRY(know_rows(pool));
  std::vector<int64_t> all = ids();
  std::ranges::sort(all);
  std::vector<const float*> rows;
  for (const int64_t id : all) rows.push_back(rows_->row(nodes_.at(id)));
  return use(all, rows);
}

NodeSet VectorIndex::nodes_of(std::span<const int64_t> ids) const {
  NodeSet nodes;
  const auto held = names_gate_.share();
  for (const int64_t id : ids) {
    const auto found = nodes_.find(id);
    if (found != nodes_.end()) nodes.insert(found->second);
  }
  return nodes;
}

std::vector<int64_t> VectorIndex::ids() const {
  std::vector<int64_t> ids;
  const auto held = names_gate_.share();
  for (const auto& [id, node] : nodes_) ids.push_back(id);
  return ids;
}

bool VectorIndex::has(int64_t id) const {
  const auto held = names_gate_.share();
  return nodes_.contains(id);
}

Result<std::vector<float>> VectorIndex::vector(int64_t id) const {
  const auto held = names_gate_.share();
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return fail(Code::not_found, "the index has no id {}", id);
  if (!checks_.is_sound(found->second)) return tl::unexpected(damage_of(found->second));
  const auto row = graph_.vector(found->second);
  return std::vector<float>(row.begin(), row.end());
}

int64_t VectorIndex::size() const {
  const auto held = names_gate_.share();
  return std::ssize(nodes_);
}

}  // namespace ruv
