// Ops: the operations a machine part can do, and all a decoder needs. The decoder is written
// against this interface only; a device overrides a fused form where it is faster than its meaning.
//
// Views are float32, row-major. Output views may be the input views where a comment says so.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "device/adapter.h"
#include "device/batch.h"
#include "device/weight.h"
#include "tensor/nonlinear.h"
#include "tensor/routing.h"

namespace ruv {

class WeightPager;

// Angles of rotary positions: pair i of a head turns by position · inv_freq[i]; cos and sin are
// scaled by `magnitude` (LongRoPE). The rotated part is 2 · inv_freq.size() numbers of the head.
struct RopePlan {
  std::vector<float> inv_freq;
  float magnitude = 1.0F;
  std::vector<uint8_t> axes = {};  // by pair: the axis of Position that turns it; empty: the first
};

// ALiBi (Press et al., 2022): head h adds -slopes[h] · |distance| to its scores.
struct Alibi {
  std::span<const float> slopes = {};  // of each query head; empty: none
  // slope · position is rounded to bf16, for query and key, before their difference is taken and
  // multiplied by `scale`, in place of the above.
  bool in_bf16 = false;
  float scale = 1.0F;
};

// What scores have added for the distance of their query and key: numbers of the head's `table`;
// and, where the rows of all keys are in the step, of rows that `of_query` and `of_key` have for
// each row of the step.
struct DistanceScores {
  // The column of each distance (position of the query less that of the key), ascending, of an odd
  // number of which the middle one is 0; those beyond have the column at the end. Empty: nothing is
  // added.
  std::span<const int32_t> columns = {};
  int64_t n_columns = 0;
  const Vector* table = nullptr;    // (n_heads, n_columns); null: none
  View of_query = {}, of_key = {};  // (rows, n_heads · n_columns), times `scale`; no rows: none
  float scale = 1.0F;
};

struct AttendParams {
  int64_t layer = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t key_dim = 0;    // of a head's queries and keys
  int64_t value_dim = 0;  // of a head's values and results
  float scale = 1.0F;     // of q · k
  float softcap = 0.0F;   // 0: none; else scores become cap · tanh(score / cap)
  int64_t window = 0;     // 0: all keys; else the newest `window` keys, the own one included
  // Set: only the keys of the row's own chunk; chunks are `window` positions, from 0 on.
  bool chunked = false;
  // Set: a window reaches as far ahead as back, within the row's block (Batch::blocks).
  bool both_ways = false;
  // Set: the keys of the sequence's source text, all of them, in place of those after it.
  bool of_source = false;
  // (n_heads): a score of each head that takes its share of the softmax and has no value; null:
  // none.
  const Vector* sinks = nullptr;
  Alibi alibi = {};               // added after the cap
  DistanceScores distances = {};  // added after the cap
  // Rows of choose_keys: a row that sees more keys than that has columns reads only the keys at
  // these positions. No columns: all keys are read.
  View chosen = {};
};

// An index of keys beside those of attention (Ops::choose_keys).
struct ChooseParams {
  int64_t layer = 0;  // of the cache, which has the index's keys (KvLayer)
  int64_t n_heads = 0;
  int64_t head_dim = 0;
};
// Positions in rows of choose_keys are exact below this.
inline constexpr int64_t kMaxChoicePosition = int64_t{1} << 24;

// Queries grow with their position: a row's factor is 1 + slope · ln(1 + floor((position + offset)
// / span)).
struct PositionScale {
  float slope = 0;
  int64_t span = 1;  // above 0
  int64_t offset = 0;

  bool operator==(const PositionScale&) const = default;
};

// Memory for products of low rank. They are computed some rows at a time, so that it stays small;
// more rows in it give longer calls.
struct LowRankScratch {
  View inner;  // (rows at a time, largest rank)
  View outer;  // (rows at a time, widest product of a layer)

  // How many rows of a product of this width are computed at a time; 0: there is no room for one.
  int64_t n_rows_of(int64_t n_cols) const {
    return std::min(inner.n_rows, outer.n_rows * outer.n_cols / n_cols);
  }
};

// The most experts that a layer may have; a row's shares of all of them are on a thread's stack.
inline constexpr int64_t kMaxExperts = 1024;

// How the experts of a row are chosen and weighted. Scores are made of the router's numbers;
// experts are chosen by score + choice_bias, weighted by the score alone.
struct RouteParams {
  RouterScore score = RouterScore::softmax;
  // Experts form n_groups groups of neighbours, as large as each other; those of the n_groups_used
  // groups with the greatest rank may be chosen.
  int64_t n_groups = 1;
  int64_t n_groups_used = 1;
  GroupRank group_rank = GroupRank::best;
  // Weights are divided by max(their sum + sum_added, sum_least).
  bool normalises = false;
  float sum_added = 0;
  float sum_least = 0;
  float scale = 1;  // of the weights, at last
  // (n_experts): what the weight of each is multiplied by, then; null: nothing.
  const Vector* expert_scales = nullptr;
  // sparsemixer: numbers are close to the greatest one, m, where m - x <= closeness · max(|x|, m).
  float closeness = 0;
};

// What happens between the matrices of a gated feed-forward, beyond its activation:
// act(min(gate, limit)) · (min(max(up, -limit), limit) + up_shift).
struct GateLimits {
  float limit = 0;  // 0: none
  float up_shift = 0;
};

// Memory for the rows that experts have chosen. As many rows as the largest step has are enough;
// more let a step compute more experts together.
struct ExpertScratch {
  View rows;      // (rows at a time, width of the stream)
  View gate, up;  // (rows at a time, inner width of an expert)
};

// What the batch's adapters add to experts' products, as add_low_rank does: in rows of each
// sequence and expert, for each of its adapters (Adapter::experts).
struct ExpertAdapters {
  const Batch* batch = nullptr;  // of the rows; null: nothing is added
  // With room for a row of each product, as wide as the ranks.
  const LowRankScratch* scratch = nullptr;
  size_t gate = 0, up = 0, down = 0;  // the products' numbers
};

struct ExpertsParams {
  std::span<const Weight> gate = {}, up = {},
                          down = {};  // of each expert; no gates: down(act(up · x))
  Act act = Act::silu;
  const ExpertScratch* scratch = nullptr;
  // Biases of each expert; empty: none.
  std::span<const Vector> gate_bias = {}, up_bias = {}, down_bias = {};
  GateLimits limits = {};
  bool weighs_inputs = false;  // a row is multiplied by its weight before the expert, not after
  // Pages the file that the matrices lie in, if memory does not hold it; null: they are in memory.
  WeightPager* pager = nullptr;
  ExpertAdapters adapters = {};
};

struct ShortConvParams {
  int64_t layer = 0;  // whose running states are read and written
  // (n_taps, n_cols): a filter per column, the tap of the oldest row first.
  const Vector* taps = nullptr;
  const Vector* bias = nullptr;  // (n_cols); empty: none
};

struct ConvolveParams {
  int64_t layer = 0;             // whose running states are read and written
  int64_t state_begin = 0;       // float32 of them that come before the rows of this convolution
  const Vector* taps = nullptr;  // (n_taps, n_cols), the tap of the oldest row first
  const Vector* bias = nullptr;  // (n_cols); empty: none
  std::optional<Act> act = {};   // none: sums stay as they are
};

// The rows that a delta rule reads. qkv: all queries, then all keys, then all values. beta: one
// number for each value head. decay: one for each value head, or for each key of each.
struct DeltaInputs {
  View qkv, beta, decay;
};

struct DeltaRuleParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the matrices
  int64_t n_key_heads = 0;
  int64_t n_value_heads = 0;  // a multiple of it
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  // Value head h reads the queries and keys of head h mod n_key_heads; else heads that follow each
  // other share them.
  bool tiled = false;
  float beta_scale = 1;
  const Vector* decay_rate = nullptr;  // (n_value_heads), below 0
  const Vector* decay_bias = nullptr;  // as long as a row of decay
};

struct TokenShiftParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the row
};

struct AverageParams {
  int64_t layer = 0;              // whose running states are read and written
  int64_t state_begin = 0;        // float32 of them that come before the sums
  const Vector* decay = nullptr;  // (n_cols), below 0: what is added to exponents at each row
  const Vector* bonus = nullptr;  // (n_cols): what is added to the exponent of the own row
};

// What the decay of a row means: the factor itself, the logarithm of a rate, exp(-exp(decay)), or
// a bounded rate, exp(-exp(-½) · σ(decay)).
enum class TimeDecay : uint8_t { given, rates, bounded_rates };

// (n_rows, n_cols) each; decay may have one row for all. rate: only with a key_share.
struct TimeMixInputs {
  View r, k, v, decay, rate;
};

struct TimeMixParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the matrices
  int64_t head_dim = 0;
  TimeDecay decay = TimeDecay::given;
  // (n_cols) each.
  const Vector* bonus = nullptr;
  const Vector* removed_key = nullptr;  // with key_share
  const Vector* key_share = nullptr;    // null: matrices are not corrected
  const Vector* norm_weight = nullptr;
  const Vector* norm_bias = nullptr;
  float norm_eps = 0;
};

struct GatedRecurrenceParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the row
  // (n_cols) each.
  const Vector* input_bias = nullptr;
  const Vector* decay_bias = nullptr;
  const Vector* rate = nullptr;  // below 0
};

// A matrix memory (mLSTM). Rows have n_heads · key_dim numbers, q and k, n_heads · value_dim, v,
// and a number for each head, the gates.
struct MatrixMemoryInputs {
  View q, k, v, input_gate, forget_gate;
};
struct MatrixMemoryParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the heads'
  int64_t n_heads = 0;
  int64_t key_dim = 0;  // of a head
  int64_t value_dim = 0;
  float eps = 0;
};

// A selective scan makes a step of each number: softplus(scale · number + bias), at least `least`
// and at most `most`.
struct ScanSteps {
  const Vector* bias = nullptr;  // as long as a row of the numbers
  float scale = 1;
  float least = 0;
  float most = std::numeric_limits<float>::infinity();
};

// Columns that are scanned together, as values of a state (OpsLimits::max_state_values).
inline constexpr int64_t kScanColumns = 64;

// A selective scan whose columns have rates of their own (Mamba). The inputs have rows of n_cols
// numbers, x and step, and of n_state numbers, b and c.
struct ColumnScanInputs {
  View x, step, b, c;
};
struct ColumnScanParams {
  int64_t layer = 0;             // whose running states are read and written
  int64_t state_begin = 0;       // float32 of them that come before the matrix
  const Vector* rate = nullptr;  // (n_state, n_cols), below 0
  const Vector* skip = nullptr;  // (n_cols)
  ScanSteps steps = {};
};

// A selective scan whose heads have one rate each (Mamba 2). A row of xbc has the heads' x, then
// the groups' b, then their c; step a number for each head.
struct HeadScanInputs {
  View xbc, step;
};
struct HeadScanParams {
  int64_t layer = 0;        // whose running states are read and written
  int64_t state_begin = 0;  // float32 of them that come before the matrices
  int64_t n_heads = 0;
  int64_t n_groups = 0;  // divides the heads; neighbours form a group
  int64_t head_dim = 0;
  int64_t n_state = 0;
  const Vector* rate = nullptr;  // (n_heads), below 0
  const Vector* skip = nullptr;  // (n_heads)
  ScanSteps steps = {};
};

// The largest step that will be asked for.
struct OpsLimits {
  int64_t max_rows = 0;
  int64_t max_k = 0;  // widest matmul input
  int64_t max_head_dim = 0;
  int64_t max_group = 0;  // query heads per key/value head
  int64_t max_experts = 0;
  int64_t max_chosen = 0;      // experts of a row
  int64_t max_state_keys = 0;  // of a head's matrix in linear attention
  int64_t max_state_values = 0;
  int64_t max_index_heads = 0;  // of choose_keys
};

class Ops {
 public:
  virtual ~Ops() = default;

  // Prepares a step: position tables of the plans used in it. Batch and plans must outlive the
  // step.
  virtual void begin(const Batch& batch, std::span<const RopePlan> plans) = 0;

  // out[r] = table[tokens[r]] · scale
  virtual void embed(View out, const Weight& table, std::span<const int32_t> tokens,
                     float scale) = 0;
  // x[r] += table[positions[r][0]]
  virtual void add_embedding(View x, const Weight& table, std::span<const Position> positions) = 0;
  // x[r] += table[rows[r]]
  virtual void add_rows(View x, const Weight& table, std::span<const int32_t> rows) = 0;
  // out = x. Requires: they do not overlap.
  virtual void copy(View out, View x) = 0;
  // out = norm(x) · weight (+ bias); out may be x. An empty bias is none. Weights of several rows
  // are taken by turns: row r has those of row r mod their number.
  struct NormParams {
    Norm kind;
    float eps;
  };
  virtual void norm(View out, View x, const Vector& weight, const Vector& bias,
                    NormParams params) = 0;
  // out = x · Wᵀ (+ bias). Requires: out and x do not overlap.
  virtual void matmul(View out, View x, const Weight& weight, const Vector& bias) = 0;
  // Several products of one x, each of out.n_rows rows of it from `first_row` on.
  struct Product {
    View out;
    const Weight* weight;
    const Vector* bias;
    int64_t first_row = 0;
  };
  virtual void matmul_each(std::span<const Product> products, View x);
  // A layer begins; advice that these matrices of the pager's file are multiplied after it.
  virtual void expect(std::span<const Weight* const> /*weights*/, WeightPager& /*pager*/) {}
  // Adds what the sequences' adapters have for this product of x: in rows of each sequence, for
  // each of its adapters, out += scale · B · (A · x), the last product rounded before it is added,
  // and then scale_columns() where it has factors. Neighbours with equal mixes are multiplied
  // together. Rows of sequences without adapters are not read. Requires: a scratch with room for a
  // row of out, as wide as the ranks; out, x and scratch do not overlap.
  virtual void add_low_rank(View out, View x, const Batch& batch, size_t product,
                            const LowRankScratch& scratch);
  // Rotates every head of every row by its position in the batch, in place.
  virtual void rope(View x, int64_t head_dim, const RopePlan& plan) = 0;
  // x[r] *= the factor of the row's position in the batch.
  virtual void scale_by_position(View x, const PositionScale& scale) = 0;
  // Each head's part of a row has a matrix of its own: out[r][h] = x[r][h] · W_hᵀ, for rows of x of
  // (heads · n_in) and rows of out of (heads · n_out) numbers. Requires: matrices of one shape; out
  // and x do not overlap.
  virtual void matmul_heads(View out, View x, std::span<const Weight> heads) = 0;
  // Rows of out are those of `a`, followed by those of `b`. Requires: out overlaps neither.
  virtual void join(View out, View a, View b) = 0;
  // Appends keys (n_rows, heads · key_dim) and values (n_rows, heads · value_dim), as wide as the
  // cache's layout says for the layer, to the pages of the batch. Pages of
  // integers keep keys less `key_centre` (as long as a row; empty: none), which is the same for all
  // keys of a layer: it moves all scores of a query alike, and small numbers lose less.
  virtual void store_kv(int64_t layer, View k, View v, const Vector& key_centre) = 0;
  // Which keys attention reads (AttendParams::chosen). A key's score for a row is
  //   Σ_h weights[h] · max(0, q_h · key)
  // with q of (n_rows, n_heads · head_dim), weights of (n_rows, n_heads) numbers and the keys of
  // the cache's layer. A row of `chosen` gets the positions of its n_cols best keys, ascending, of
  // those up to its own; of equal ones the first are better. Rows that see no more keys stay as
  // they are. Requires: pages of f16 with one head; positions below kMaxChoicePosition.
  virtual void choose_keys(View chosen, View q, View weights, const ChooseParams& params) = 0;
  // out = softmax(q · keys) · values per head, over the pages of the batch; causal.
  virtual void attend(View out, View q, const AttendParams& params) = 0;
  // A gated causal convolution along the rows of each sequence. `bcx` has rows of three parts,
  // b, c and x, each as wide as `out`:
  //   out[r] = c[r] · (bias + Σ taps[t] · (b · x)[r - (n_taps - 1) + t])
  // What lies before a sequence's first row is in its running state, which is the newest
  // n_taps - 1 rows of b · x, oldest first. Writes the states that the batch asks for; `b` holds
  // b · x afterwards. Requires: out and bcx do not overlap; a state frame for each sequence if
  // n_taps > 1.
  virtual void short_conv(View out, View bcx, const ShortConvParams& params) = 0;
  // A causal convolution of each column along the rows of each sequence, in place:
  //   x[r] = act(bias + Σ taps[t] · x[r - (n_taps - 1) + t])
  // What lies before a sequence's first row is in its running state, the newest n_taps - 1 rows of
  // x as it was, oldest first. Writes the states that the batch asks for. Requires: a state frame
  // for each sequence if n_taps > 1.
  virtual void convolve(View x, const ConvolveParams& params) = 0;
  // Linear attention by the gated delta rule. The running state is a matrix S (key_dim, value_dim)
  // for each value head, and a row's result is
  //   S = diag(g) S;  S += β k (v - kᵀ S);  out = qᵀ S / √key_dim
  // with q and k divided by their lengths, β = beta_scale · σ(beta) and
  // g = exp(rate · softplus(decay + bias)). Writes the states that the batch asks for. Requires:
  // a state frame for each sequence; `out` (n_rows, n_value_heads · value_dim) overlaps no input.
  virtual void delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) = 0;
  // out[r] = x[r - 1] along the rows of each sequence; the row before the first is its running
  // state. Writes the states that the batch asks for. Requires: a state frame for each sequence;
  // out and x do not overlap.
  virtual void token_shift(View out, View x, const TokenShiftParams& params) = 0;
  // out = x + (y - x) · share, with one row of share for all or one for each; out may be x or y.
  virtual void lerp(View out, View x, View y, View share) = 0;
  // x *= y, which has one row for all or one for each
  virtual void multiply(View x, View y) = 0;
  // RWKV 4. Each column's result is the average of the values so far, weighted by
  // exp(key + decay · age in rows), the own one by exp(key + bonus). Running state: for each block
  // of 64 columns sums, weights and exponents. Writes the states that the batch asks for. Requires:
  // a state frame for each sequence; out may be k or v.
  virtual void average(View out, View k, View v, const AverageParams& params) = 0;
  // RWKV 5 to 7. The running state is a matrix S (keys, values) of each head, and a row's result
  // is, without key_share,
  //   out = norm(rᵀ S + (rᵀ diag(bonus) k) v);  S = diag(decay) S + k vᵀ
  // and with it, with u = unit(k · removed_key) and κ = k · (1 + (rate - 1) · key_share),
  //   S = diag(decay) S - (u · rate) (uᵀ S) + κ vᵀ;  out = norm(rᵀ S) + (rᵀ diag(bonus) κ) v
  // norm: layer norm of each head, with weights of its own. Writes the states that the batch asks
  // for. Requires: a state frame for each sequence; out overlaps no input.
  virtual void time_mix(View out, const TimeMixInputs& in, const TimeMixParams& params) = 0;
  // The gated linear recurrence of each column along the rows of each sequence (RG-LRU):
  //   a = exp(rate · σ(decay_gate + decay_bias))
  //   state = a · state + √(1 - a²) · σ(input_gate + input_bias) · x;  x = state
  // without the root at a sequence's first token. Running state: one row. Writes the states that
  // the batch asks for. Requires: a state frame for each sequence.
  virtual void gated_recurrence(View x, View input_gate, View decay_gate,
                                const GatedRecurrenceParams& params) = 0;
  // A matrix memory along the rows of each sequence (Beck et al., 2024). Each head has a matrix C
  // (keys, values), a row n of keys and a number m, by which exponents are kept small:
  //   m' = max(ln σ(f) + m, i);  a = exp(ln σ(f) + m - m');  b = exp(i - m')
  //   C = a C + b k vᵀ;  n = a n + b k;  out = Cᵀ u / (max(|nᵀ u|, exp(-m')) + eps);  m = m'
  // with u = q / √key_dim and the gates i and f as they are given. Running state: of each head C, n
  // and m. Writes the states that the batch asks for. Requires: a state frame for each sequence;
  // out overlaps no input.
  virtual void matrix_memory(View out, const MatrixMemoryInputs& in,
                             const MatrixMemoryParams& params) = 0;
  // Selective scans (Gu and Dao, 2023). With a row's step d, the state S (n_state, columns) and the
  // result are
  //   S = exp(rate · d) S + b (d · x)ᵀ;  out = cᵀ S + skip · x
  // Writes the states that the batch asks for. Requires: a state frame for each sequence; out
  // overlaps no input. Running state of columns: for each block of kScanColumns its matrix.
  virtual void scan_columns(View out, const ColumnScanInputs& in,
                            const ColumnScanParams& params) = 0;
  // The same for the columns of each head. Running state: a matrix for each head.
  virtual void scan_heads(View out, const HeadScanInputs& in, const HeadScanParams& params) = 0;
  // The experts of each row. `logits` has one number for each of up to kMaxExperts; a row's
  // experts are those with the greatest, of equal ones the first. A row of `routes`, (n_rows,
  // 2 · chosen), has their numbers, ascending, and then their weights. `choice_bias` has a number
  // for each expert, or is empty. Requires: groups divide the experts, those that are used have at
  // least as many as are chosen, of which sparsemixer has at most two.
  virtual void route(View routes, View logits, const Vector& choice_bias,
                     const RouteParams& params) = 0;
  // Feed-forwards, of each row those that it was routed to:
  //   out = Σ weight · down_e(act(gate_e · x) · (up_e · x)), in the order of routes
  // or, without gates, Σ weight · down_e(act(up_e · x)), each product with what adapters add to it.
  // Matrices of experts that no row chose are not read. Requires: out, x and scratch do not
  // overlap.
  virtual void experts(View out, View x, View routes, const ExpertsParams& params) = 0;
  // gate = act(gate) · up
  virtual void gate(View gate, View up, Act act) = 0;
  // x = act(x)
  virtual void activate(View x, Act act) = 0;
  // The same with xIELU (tensor/nonlinear.h).
  virtual void xielu(View x, const Xielu& numbers) = 0;
  // x = min(max(x, -limit), limit)
  virtual void clamp(View x, float limit) = 0;
  // x = factor · x
  virtual void scale(View x, float factor) = 0;
  // x[r] = factors[r] · x[r]. Requires: factors have one column.
  virtual void scale_rows(View x, View factors) = 0;
  // x[r][c] = x[r][c] · factors[c] + shifts[c]. No shifts: zeros.
  virtual void scale_columns(View x, const Vector& factors, const Vector& shifts) = 0;
  // x += y
  virtual void add(View x, View y) = 0;
  // x[r] += factor · y, of which the product is rounded before it is added.
  virtual void add_vector(View x, const Vector& y, float factor) = 0;
  // x[r] += (values[r][column] + offset) · y[r]
  struct RowFactors {
    View values;
    int64_t column = 0;
    float offset = 0;
  };
  virtual void add_scaled(View x, View y, const RowFactors& factors) = 0;
  // x[r] = max(0, x[r] - (m + deviations · d)), m and d the mean and the standard deviation of the
  // row's numbers.
  virtual void cut_below(View x, float deviations) = 0;
  // x[r] times the root mean square of like[r], over its own; its mean square counts as `least` at
  // least.
  virtual void match_size(View x, View like, float least) = 0;
  // x += y; out = norm(x)
  virtual void add_norm(View x, View y, View out, const Vector& weight, const Vector& bias,
                        NormParams params);
  // out[i] = x[rows[i]]
  virtual void gather(View out, View x, std::span<const int32_t> rows) = 0;
  // x = cap · tanh(x / cap)
  virtual void softcap(View x, float cap) = 0;

 protected:
  // add_low_rank of one adapter, for all rows of x.
  void add_one_low_rank(View out, View x, const LowRank& added, float scale,
                        const LowRankScratch& scratch);
};

}  // namespace ruv
