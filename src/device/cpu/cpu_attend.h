// CpuAttend: attention of a batch over its pages. A tile is some query rows of one sequence, all
// heads that share one key/value head. Its keys are walked in chunks of kChunkTokens, counted from
// position 0: scores, local softmax, weighted values; chunks merge in order (online softmax,
// Milakov and Gimelshein 2018). A query row goes through the same chunks in the same order whatever
// else is in the tile, the batch or the cache and whichever thread computes a chunk, so its bytes
// are always the same. With tiered pages it reads its own chunk from the tail, older ones from the
// store (docs/kv-precision.md).
#pragma once

#include <atomic>
#include <memory>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "device/cpu/attend_scratch.h"
#include "device/cpu/cpu_device.h"
#include "device/kv_pages.h"
#include "device/ops.h"

namespace ruv {

struct AttendLimits {
  int64_t max_rows = 0;
  int64_t max_head_dim = 0;
  int64_t max_group = 0;  // query heads per key/value head
};

class CpuAttend {
 public:
  // All must outlive it. Fails: out_of_memory.
  static Result<std::unique_ptr<CpuAttend>> create(const Kernels& kernels, WorkerPool& pool,
                                                   const KvPages& pages,
                                                   const AttendLimits& limits);

  // out = softmax(q · keys) · values per head. A row sees the keys up to its own (Batch::blocks).
  void run(const Batch& batch, View out, View q, const AttendParams& params);

 private:
  struct Tile {
    const BatchSequence* sequence;
    int64_t kv_head;
    int64_t first_row;  // within the sequence
    int64_t n_rows;
    Range keys;      // positions that some row of it sees
    Range chunks;    // that they are in
    float* results;  // of its chunks, where threads share the tile
  };
  // A piece of a tile that threads share.
  struct Piece {
    int64_t tile;
    Range chunks;
  };
  // What a chunk gives to each query row of a tile: Σ exp(score - max) · value, max and
  // Σ exp(score - max).
  struct ChunkResult {
    float* values;
    float* max;
    float* sum;
  };
  // One call of run.
  struct Call {
    const Batch* batch;
    View out, q;
    const AttendParams* params;
    int64_t group() const { return params->n_heads / params->n_kv_heads; }
  };

  // The pages of one chunk that a tile reads: which, and in which form.
  struct ChunkPages {
    const KvView* view;
    Range pages;  // by position
    KvType type() const { return view->type(); }
  };

  CpuAttend(const Kernels& kernels, WorkerPool& pool, const KvPages& pages,
            const AttendLimits& limits);

  // Returns the numbers read, a measure of the work.
  int64_t make_tiles(const Call& call);
  // Cuts the tiles into pieces; false where they are enough for the threads or memory is not.
  bool make_pieces(const Call& call);
  void run_tiles(const Call& call);
  void run_pieces(const Call& call);
  void attend_tile(const Tile& tile, const Call& call, AttendScratch& s) const;
  void attend_piece(const Piece& piece, const Call& call, AttendScratch& s);
  void attend_chunk(const Tile& tile, int64_t chunk, const Call& call, const ChunkResult& result,
                    AttendScratch& s) const;
  KvType type_of(const Call& call) const { return pages_->settled(call.params->layer).type(); }
  const KvView& view_of(const Tile& tile, int64_t chunk, int64_t layer) const;
  void find_pages(const Tile& tile, ChunkPages chunk, int64_t layer, AttendScratch& s) const;
  void find_scales(const Tile& tile, ChunkPages chunk, AttendScratch& s) const;
  void score(int64_t n, ChunkPages chunk, const AttendParams& params, AttendScratch& s) const;
  void soften(const Tile& tile, ChunkPages chunk, const Call& call, const ChunkResult& result,
              AttendScratch& s) const;
  void add_distances(const Tile& tile, int64_t r, Range keys, const Call& call,
                     float* scores) const;
  void hide_unchosen(const Tile& tile, int64_t r, Range keys, const Call& call,
                     float* scores) const;
  float weigh(int64_t r, int64_t n, Range seen, float max, KvType type, AttendScratch& s) const;
  void sum_values(int64_t n, ChunkPages chunk, const AttendParams& params,
                  const ChunkResult& result, AttendScratch& s) const;
  void gather(const Tile& tile, const Call& call, AttendScratch& s) const;
  void start(const Tile& tile, const Call& call, AttendScratch& s) const;
  void merge(int64_t n, int64_t value_dim, const ChunkResult& chunk, AttendScratch& s) const;
  void finish(const Tile& tile, const Call& call, const AttendScratch& s) const;
  float* head_of(const Tile& tile, View view, const Call& call, int64_t r) const;

  const Kernels* kernels_;
  WorkerPool* pool_;
  const CpuDevice* device_;
  const KvPages* pages_;
  std::vector<Tile> tiles_;
  std::vector<Piece> pieces_;
  std::vector<std::unique_ptr<AttendScratch>> scratch_;  // per thread
  Buffer results_;                                       // of the chunks of shared tiles
  std::unique_ptr<std::atomic<int64_t>[]> chunks_left_;  // per shared tile
  int64_t max_shared_tiles_;
};

}  // namespace ruv
