// ChunkGraph: edges between chunks, in the table `edges` of a store: the next chunk of a document,
// chunks with near vectors, and chunks that searches found together. A row has the smaller number
// first; rows go with their chunks.
#pragma once

#include <span>
#include <vector>

#include "memory/database.h"
#include "memory/metadata_filter.h"

namespace ruv {

enum class EdgeKind : int64_t {
  next = 1,
  similar = 2,   // its weight is the cosine
  together = 3,  // a count of searches, which halves with each half-life since `at_s`
};

// Chunks near a vector that an edge leads to, at most. More cost an addition time and a walk reads.
inline constexpr int64_t kSimilarEdges = 4;
// Edges of the kind `together` that a chunk keeps, the strongest.
inline constexpr size_t kTogetherEdges = 32;
// As many of the first chunks that a search found are connected.
inline constexpr size_t kFoundTogether = 8;

// A chunk and the weight of it, or of what leads to it.
struct WeighedChunk {
  int64_t id = 0;
  double weight = 0;
};

struct WalkTerms {
  int64_t most_nodes = 256;  // chunks that are visited, those that it begins with included
  int64_t now_s = 0;         // seconds since 1970
  int64_t half_life_s = int64_t{30} * 24 * 3600;
  MetadataFilter filter = {};  // chunks of other documents are not visited
};

class ChunkGraph {
 public:
  // The database must outlive it. Its calls are one thread's at a time, and fail as it.
  explicit ChunkGraph(Database& database) : database_(database) {}

  // Changes are part of the caller's transaction.

  // Chunks of a document, in their order.
  Status add_next(std::span<const int64_t> ids);
  // A chunk and those near it, nearest first, of which those that are no chunks are left out and at
  // most kSimilarEdges of the others taken.
  Status add_similar(int64_t id, std::span<const WeighedChunk> near);
  // Chunks that were found together, best first.
  Status add_together(std::span<const int64_t> ids, const WalkTerms& terms);

  // Chunks that edges lead to from `begin`, by their share of a walk that begins there, greatest
  // first, without those of `begin`. Visits breadth first; an edge's weight is 1 for `next`, the
  // cosine for `similar`, and w / (1 + w) for `together`; those of several kinds add up.
  // Requires: weights above 0; different ids.
  Result<std::vector<WeighedChunk>> related(std::span<const WeighedChunk> begin,
                                            const WalkTerms& terms) const;
  // What a weight of `together` is at a later time.
  static double decayed(double weight, int64_t age_s, int64_t half_life_s);

 private:
  Status add_edge(int64_t a, int64_t b, EdgeKind kind, double weight, int64_t at_s);
  // Adds 1 to what is left of an edge.
  Status strengthen(int64_t a, int64_t b, const WalkTerms& terms);
  Status keep_strongest(int64_t id, const WalkTerms& terms);

  Database& database_;
};

}  // namespace ruv
