// What edges between chunks add to a store: they come with documents, grow with searches, and lead
// from what a search found to what is related.
#include <algorithm>

#include "memory/chunk_graph.h"
#include "memory/store.h"

namespace ruv {
namespace {

// Near vectors that are asked for: some may be the chunk's own, or of chunks that go in the same
// change.
constexpr int64_t kNearVectors = 2 * kSimilarEdges + 1;
constexpr int64_t kLookedAtForEdges = 32;

WalkTerms walk_terms(const MemoryQuery& query) {
  WalkTerms terms;
  terms.most_nodes = query.most_visited;
  terms.now_s = query.now_s;
  terms.filter = query.filter;
  return terms;
}

}  // namespace

Status MemoryStore::link_chunks(std::span<const int64_t> ids, bool is_document) {
  ChunkGraph graph(database_);
  if (is_document) TRY(graph.add_next(ids));
  DiskVectors::Search memory;
  for (const int64_t id : ids) {
    if (!index_->has(id)) continue;  // it was damaged, and removed
    const std::vector<float> vector = TRY(index_->vector(id));
    const auto near =
        TRY(index_->search(vector, {.k = kNearVectors, .n_looked_at = kLookedAtForEdges}, memory));
    std::vector<WeighedChunk> edges;
    for (const VectorIndex::Found& one : near) {
      edges.push_back({one.id, 1 - double{one.distance}});
    }
    TRY(graph.add_similar(id, edges));
  }
  return {};
}

// Those that were removed since, and those that no edge is worth anything to, are not there.
Status MemoryStore::add_related(const MemoryQuery& query, std::vector<FoundChunk>& found) const {
  std::vector<WeighedChunk> begin;
  for (const FoundChunk& chunk : found) begin.push_back({chunk.id, chunk.score});
  if (begin.empty()) return {};
  const ChunkGraph graph(database_);
  int64_t left = query.n_related;
  for (const WeighedChunk& one : TRY(graph.related(begin, walk_terms(query)))) {
    if (left == 0) break;
    FoundChunk chunk;
    chunk.id = one.id;
    chunk.related = one.weight;
    if (!TRY(read_chunk(chunk))) continue;
    found.push_back(std::move(chunk));
    --left;
  }
  return {};
}

Status MemoryStore::remember(const MemoryQuery& query, std::span<const FoundChunk> found) const {
  if (found.size() < 2) return {};
  std::vector<int64_t> ids;
  for (const FoundChunk& chunk : found) ids.push_back(chunk.id);
  DbTransaction change = TRY(DbTransaction::begin(database_));
  TRY(ChunkGraph(database_).add_together(ids, walk_terms(query)));
  return change.commit();
}

}  // namespace ruv
