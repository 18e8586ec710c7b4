// CpuOps: the operations on CPU cores, with one table of kernels and one team of threads. Work is
// split over rows, output columns and heads, never along a sum, so results do not depend on the
// number of threads. All scratch memory is taken at construction.
#pragma once

#include <algorithm>
#include <memory>

#include "base/worker_pool.h"
#include "device/cpu/cpu_device.h"
#include "device/kv_pages.h"
#include "device/ops.h"
#include "device/weight_pager.h"

namespace ruv {

class CpuAttend;
class CpuChoose;

// Steps of at most this many rows are quantised by every thread for itself, which is cheaper than a
// barrier.
inline constexpr int64_t kRowsQuantizedByEach = 4;

class CpuOps final : public Ops {
 public:
  // Computes on the device of `pages`, which must be a CpuDevice. `pool` and `pages` must outlive
  // it. Fails: out_of_memory.
  static Result<std::unique_ptr<CpuOps>> create(const Kernels& kernels, WorkerPool& pool,
                                                KvPages& pages, const OpsLimits& limits);
  ~CpuOps() override;

  void begin(const Batch& batch, std::span<const RopePlan> plans) override;
  void embed(View out, const Weight& table, std::span<const int32_t> tokens, float scale) override;
  void add_embedding(View x, const Weight& table, std::span<const Position> positions) override;
  void add_rows(View x, const Weight& table, std::span<const int32_t> rows) override;
  void copy(View out, View x) override;
  void norm(View out, View x, const Vector& weight, const Vector& bias, NormParams params) override;
  void matmul(View out, View x, const Weight& weight, const Vector& bias) override;
  void matmul_each(std::span<const Product> products, View x) override;
  void add_low_rank(View out, View x, const Batch& batch, size_t product,
                    const LowRankScratch& scratch) override;
  void rope(View x, int64_t head_dim, const RopePlan& plan) override;
  void scale_by_position(View x, const PositionScale& scale) override;
  void matmul_heads(View out, View x, std::span<const Weight> heads) override;
  void join(View out, View a, View b) override;
  void store_kv(int64_t layer, View k, View v, const Vector& key_centre) override;
  void choose_keys(View chosen, View q, View weights, const ChooseParams& params) override;
  void attend(View out, View q, const AttendParams& params) override;
  void short_conv(View out, View bcx, const ShortConvParams& params) override;
  void convolve(View x, const ConvolveParams& params) override;
  void delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) override;
  void gated_recurrence(View x, View input_gate, View decay_gate,
                        const GatedRecurrenceParams& params) override;
  void matrix_memory(View out, const MatrixMemoryInputs& in,
                     const MatrixMemoryParams& params) override;
  void scan_columns(View out, const ColumnScanInputs& in, const ColumnScanParams& params) override;
  void scan_heads(View out, const HeadScanInputs& in, const HeadScanParams& params) override;
  void token_shift(View out, View x, const TokenShiftParams& params) override;
  void lerp(View out, View x, View y, View share) override;
  void multiply(View x, View y) override;
  void average(View out, View k, View v, const AverageParams& params) override;
  void time_mix(View out, const TimeMixInputs& in, const TimeMixParams& params) override;
  void route(View routes, View logits, const Vector& choice_bias,
             const RouteParams& params) override;
  void experts(View out, View x, View routes, const ExpertsParams& params) override;
  void expect(std::span<const Weight* const> weights, WeightPager& pager) override;
  void gate(View gate, View up, Act act) override;
  void activate(View x, Act act) override;
  void xielu(View x, const Xielu& numbers) override;
  void clamp(View x, float limit) override;
  void scale(View x, float factor) override;
  void scale_rows(View x, View factors) override;
  void scale_columns(View x, const Vector& factors, const Vector& shifts) override;
  void add(View x, View y) override;
  void add_vector(View x, const Vector& y, float factor) override;
  void add_scaled(View x, View y, const RowFactors& factors) override;
  void cut_below(View x, float deviations) override;
  void match_size(View x, View like, float least) override;
  void add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                NormParams params) override;
  void gather(View out, View x, std::span<const int32_t> rows) override;
  void softcap(View x, float cap) override;

 private:
  // Cosines and sines of a plan for the rows of the current batch.
  struct RopeTable {
    const RopePlan* plan = nullptr;
    std::vector<float> cos, sin;  // (rows, inv_freq.size())
  };

  CpuOps(const Kernels& kernels, WorkerPool& pool, KvPages& pages, const OpsLimits& limits);

  // Runs f(row) for all rows, on all threads when there is enough to do.
  template <class F>
  void for_rows(int64_t n_rows, int64_t numbers_per_row, F&& f);
  // Whether this much work is worth waking the other threads.
  bool worth_threads(int64_t numbers) const;
  // The norm of row i.
  void norm_row(View out, View x, int64_t i, const Vector& weight, const Vector& bias,
                NormParams params) const;
  // One row of a table as float32.
  void decode_row(const Weight& table, int64_t row, float* out) const;
  // Piece `index` of n of a product, multiplied on a thread.
  struct Piece {
    int thread;
    int index;
    int n;
  };
  // Which groups of a product's matrix the piece has, and which of its columns those are.
  Range groups_of(const Weight& weight, Piece piece) const;
  Range columns_of(const Weight& weight, Piece piece) const;
  // Memory for n_rows rows of k activations in every converted format, and where one begins.
  static int64_t act_bytes(int64_t n_rows, int64_t k);
  std::byte* act_rows(const Buffer& converted, ActFormat format, View x) const;
  // The formats, besides float32, that the weights of products take rows in.
  struct ActFormats {
    bool q8 = false;
    bool bf16 = false;
    void add(const Weight& weight);
    bool has(ActFormat format) const { return format == ActFormat::q8 ? q8 : bf16; }
    bool none() const { return !q8 && !bf16; }
  };
  ActFormats formats_of(std::span<const Product> products) const;
  // Shows the products' rows of x to the watcher. Requires: there is one.
  void show(std::span<const Product> products, View x) const;
  void show_heads(View x, std::span<const Weight> heads) const;
  bool takes_floats(const Weight& weight) const;
  // Row r of x to its place in `to`.
  void convert_row_of(View x, int64_t r, ActFormats formats, const Buffer& to) const;
  // The products of converted rows. `each`: of few, which every thread converts for itself.
  void multiply_each(std::span<const Product> products, View x, ActFormats formats, bool each);
  // Converts all rows that experts choose of, to the formats that any chosen one takes.
  void convert_choices(View x, const ExpertsParams& params);
  // The products of the chosen rows of x, in their order; `floats` has room for them. Requires:
  // convert_choices(x).
  void multiply_chosen(std::span<const Product> products, View x, std::span<const int32_t> chosen,
                       View floats);
  // n activations in the format, q8 or bf16.
  void convert_row(const float* x, int64_t n, ActFormat format, std::byte* out) const;
  void add_bias(View out, const Vector& bias, int64_t first, int64_t last) const;
  void multiply(const Product& product, View x, const Buffer& act, Piece piece) const;
  void multiply_plain(const Product& product, View x, Range groups, int thread) const;
  // What one adapter adds to neighbours; its inner rows are those of the scratch from first_row on.
  struct LowRankItem {
    const LowRank* added;
    float scale;
    Range rows;
    int64_t first_row;
  };
  // Piece `index` of n of the columns of some items, which are of the same rows.
  struct LowRankPiece {
    size_t first_item, end_item;
    int index, n;
  };
  // Lists what a small step's adapters add to a product.
  bool list_low_rank(View out, View x, const Batch& batch, size_t product,
                     const LowRankScratch& scratch);
  void multiply_here(View out, View x, const Weight& weight, Piece piece);
  // Makes pieces of the items from `first` on, which are of the same rows.
  void add_low_rank_pieces(size_t first);
  // Adds what was listed to rows of `out`.
  void add_listed_low_rank(View out, View x, const LowRankScratch& scratch);
  // Neighbours whose adapters add something to this step's experts.
  struct AdaptedRows {
    Range rows;
    AdapterMix mix;
  };
  void find_adapted_rows(const ExpertAdapters& adapters, size_t n_experts);
  // Adds what adapters have for a product of these experts. `x` and `out` have the experts' rows,
  // of which `first` is the first of all.
  void add_low_rank_of(Range experts, View out, View x, int64_t first, size_t product,
                       const LowRankScratch& scratch);
  // scale_columns, of some columns of a row.
  void scale_columns_of(float* row, const Vector& factors, const Vector& shifts,
                        Range columns) const;
  // The products of one head, in memory of a thread.
  void multiply_head(View out, View x, const Weight& weight, int64_t head, int thread) const;
  // Writes key and value of row i of a sequence to its page.
  void store_row(const BatchSequence& sequence, int64_t i, int64_t layer, View k, View v,
                 const Vector& key_centre);

  // The convolution of one sequence, in some of its columns.
  void short_conv_of(const BatchSequence& sequence, Range columns, View out, View bcx,
                     const ShortConvParams& params) const;

  // A head's matrix and vectors of one row, as long as whole pages of tokens.
  static int64_t state_scratch_numbers(const OpsLimits& limits) {
    const int64_t n_padded = pages_for(limits.max_state_keys) * kPageTokens;
    return (limits.max_state_keys + 1) * limits.max_state_values + 8 * n_padded;
  }
  // Some numbers of a layer's running state.
  struct StatePart {
    int64_t layer = 0;
    int64_t at = 0;
    int64_t n = 0;
  };
  // Calls step(i, state) for each row i of the sequence in order, with the numbers of the state as
  // the rows before have left them, and copies them to the frames where they are wanted. Requires:
  // n numbers of scratch.
  template <class Step>
  void for_state_rows(const BatchSequence& sequence, const StatePart& part, float* scratch,
                      Step&& step) const;

  // The same of a plain one.
  void convolve_sequence(const BatchSequence& sequence, Range columns, View x,
                         const ConvolveParams& params) const;
  // One head of one sequence.
  void delta_rule_of(const BatchSequence& sequence, int64_t head, View out, const DeltaInputs& in,
                     const DeltaRuleParams& params, int thread);

  // Some columns of one sequence. gates: of the input and of the decay.
  void recur(const BatchSequence& sequence, Range columns, View x, const std::array<View, 2>& gates,
             const GatedRecurrenceParams& params) const;
  // One head of one sequence.
  void remember(const BatchSequence& sequence, int64_t head, View out, const MatrixMemoryInputs& in,
                const MatrixMemoryParams& params, int thread);
  // Some columns, or one head, of one sequence.
  void scan_columns_of(const BatchSequence& sequence, Range columns, View out,
                       const ColumnScanInputs& in, const ColumnScanParams& params, int thread);
  void scan_head_of(const BatchSequence& sequence, int64_t head, View out, const HeadScanInputs& in,
                    const HeadScanParams& params, int thread);
  // Some channels of one sequence.
  void average_of(const BatchSequence& sequence, Range channels, View out, View k, View v,
                  const AverageParams& params) const;
  // One head of one sequence.
  void time_mix_of(const BatchSequence& sequence, int64_t head, View out, const TimeMixInputs& in,
                   const TimeMixParams& params, int thread);
  // The factors that a head's keys are kept by. `keep` has room for whole pages of tokens.
  void decays_of(const float* w, float* keep, int64_t n, TimeDecay decay) const;

  // The rows of a step by the experts that they chose: those of expert e are
  // [begin[e], begin[e + 1]), ascending.
  struct RowsOfExperts {
    std::vector<int64_t> begin;
    std::vector<int32_t> rows;
    std::vector<float> weights;
  };
  void sort_by_expert(View routes, int64_t n_experts);
  // Tells the pager which matrices are multiplied, in that order; uses_ are those that memory
  // lacks.
  void expect_chosen(const ExpertsParams& params);
  // Reorders expert_products_.
  void put_lacking_last(const ExpertsParams& params);
  // The products of a role's matrices with the rows of some experts, of which `first` is the first
  // row of all: to expert_products_.
  void list_products(View to, std::span<const Weight> matrices, std::span<const Vector> biases,
                     Range experts, int64_t first);
  void limit_gates(View gate, View up, GateLimits limits);
  // Adds what these experts give for their rows to `out`. Requires: the scratch has room for them.
  void add_experts(View out, View x, Range experts, const ExpertsParams& params);

  Bytes packed_of(const Weight& weight) const {
    return {device_->pointer(weight.packed.start), static_cast<size_t>(weight.packed_bytes())};
  }
  // Numbers of a row, of a vector (null: it is empty), and of a whole view.
  float* row(View view, int64_t i) const { return device_->numbers(view.row(i)); }
  const float* numbers(const Vector& vector) const {
    return vector.empty() ? nullptr : device_->numbers(vector.memory.start);
  }

  const Kernels* kernels_;
  WorkerPool* pool_;
  const CpuDevice* device_;  // of the pages, and of all that operations are given
  KvPages* pages_;
  OpsLimits limits_;
  const Batch* batch_ = nullptr;
  std::vector<RopeTable> rope_tables_;
  Buffer quantized_;                   // rows in the formats kernels take
  Buffer choices_;                     // the same of all rows that experts choose of
  std::vector<Buffer> row_scratch_;    // per thread: small steps quantise for themselves
  std::vector<Buffer> plain_scratch_;  // per thread: decoded rows and their packed group
  std::vector<Buffer> state_scratch_;  // per thread: a head's matrix and vectors of one row
  RowsOfExperts routed_;
  std::vector<Product> expert_products_;
  std::vector<LowRankItem> low_rank_items_;
  std::vector<LowRankPiece> low_rank_pieces_;
  std::vector<AdaptedRows> adapted_rows_;
  std::vector<WeightPager::Use> uses_;
  std::unique_ptr<CpuAttend> attend_;
  std::unique_ptr<CpuChoose> choose_;
  const GemmKernel* f32_gemm_;
  ProductWatcher* watcher_;  // the device's; null: none
};

template <class Step>
void CpuOps::for_state_rows(const BatchSequence& sequence, const StatePart& part, float* scratch,
                            Step&& step) const {
  const auto state_in = [&](FrameId frame) {
    return device_->numbers(pages_->state(frame, part.layer)) + part.at;
  };
  // The state continues where it is wanted last, if that is after the last row.
  const auto& outs = sequence.state_outs;
  const bool ends_in_frame = !outs.empty() && outs.back().row == sequence.n_rows - 1;
  float* const state = ends_in_frame ? state_in(outs.back().frame) : scratch;
  std::copy_n(state_in(sequence.state), part.n, state);
  auto wanted = outs.begin();
  for (int64_t i = 0; i < sequence.n_rows; ++i) {
    step(i, state);
    for (; wanted != outs.end() && wanted->row == i; ++wanted) {
      float* const to = state_in(wanted->frame);
      if (to != state) std::copy_n(state, part.n, to);
    }
  }
}

template <class F>
void CpuOps::for_rows(int64_t n_rows, int64_t numbers_per_row, F&& f) {
  if (!worth_threads(n_rows * numbers_per_row)) {
    for (int64_t i = 0; i < n_rows; ++i) f(i);
    return;
  }
  pool_->run([&](int thread) {
    const Range part = part_of(n_rows, thread, pool_->n_threads());
    for (int64_t i = part.begin; i < part.end; ++i) f(i);
  });
}

}  // namespace ruv
