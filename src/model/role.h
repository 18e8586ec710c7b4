// Role: what a matrix or a norm of a layer is for. The tables below are the one place that
// enumerates them; binding, counting and measuring walk the tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "family/family.h"

namespace ruv {

// Matrices, in the order in which they are bound. up: the only one of a dense feed-forward's first
// half; gate: beside it where the feed-forward is gated; conv_in, conv_out: before and after a
// short convolution. cross_q to cross_o: of attention to a source text, whose states the keys and
// values are made of. attn_gate: what attention's results are gated by. q_a to v_b: of latent
// attention (model/latent_plan.h). index_q to index_weights: of an index (model/index_plan.h).
// delta_in: queries, keys and values of linear attention;
// delta_gate, beta, decay: what gates its results, its writing and its forgetting, where decays are
// of channels made of narrow rows, gate_low and decay_low; delta_out: after it. memory_q to
// memory_v: what a matrix memory is read and written by; memory_gate, memory_in, memory_forget:
// what gates its results, its writing and its forgetting; memory_out: after it. state_z, state_x,
// state_steps: what a selective scan is gated by, what it reads, and the steps of its heads;
// state_low, state_b, state_c: of what its columns read, and state_up, which makes their steps of
// state_low's row; state_out: after it. router: gives each row a number for each expert; the roles
// of experts have as many matrices; expert_low, expert_high: before and after experts of rows that
// are not as wide as the stream. shared: a feed-forward for all rows beside the experts, weighted
// by the sigmoid of what shared_router gives where there is one.
// input_gate, input_out: before and after a layer's own input. stream_router, stream_predict,
// stream_correct: the numbers that streams are mixed by; beside_low, beside_high: beside attention.
// q_low to up_high: of low rank, beside the matrices that blocks share (gates and up matrices read
// one row, ff_low's); block_out: after such a block.
enum class Role : uint8_t {
  q,
  k,
  v,
  attn_gate,
  q_a,
  q_plain,
  q_rope,
  kv_a,
  k_rope,
  k_b,
  v_b,
  index_q,
  index_k,
  index_weights,
  o,
  cross_q,
  cross_k,
  cross_v,
  cross_o,
  delta_in,
  delta_gate,
  beta,
  decay,
  gate_low,
  gate_up,
  decay_low,
  decay_up,
  delta_out,
  conv_in,
  conv_out,
  recurrence_x,
  recurrence_y,
  recurrence_out,
  memory_q,
  memory_k,
  memory_v,
  memory_gate,
  memory_in,
  memory_forget,
  memory_out,
  state_z,
  state_x,
  state_steps,
  state_low,
  state_b,
  state_c,
  state_up,
  state_out,
  time_r,
  time_k,
  time_v,
  time_g,
  time_out,
  up,
  gate,
  down,
  channel_k,
  channel_v,
  channel_r,
  router,
  expert_low,
  expert_up,
  expert_gate,
  expert_down,
  expert_high,
  shared_up,
  shared_gate,
  shared_down,
  shared_router,
  input_gate,
  input_out,
  stream_router,
  stream_predict,
  stream_correct,
  beside_low,
  beside_high,
  q_low,
  q_high,
  k_low,
  k_high,
  v_low,
  v_high,
  ff_low,
  gate_high,
  up_high,
  block_out
};
inline constexpr size_t kRoles = 86;
constexpr bool is_of_index(Role role) {
  return role >= Role::index_q && role <= Role::index_weights;
}
// Whether a rounding of the activations before it would send rows to other experts or keys, or
// change whole streams.
constexpr bool decides(Role role) {
  return role == Role::router || role == Role::shared_router || role == Role::index_weights ||
         role == Role::stream_router || role == Role::stream_predict ||
         role == Role::stream_correct;
}
// Norms. q and k are of queries and keys; q_a and kv_a of the short rows of latent attention,
// index_k of an index's keys, always a layer norm; attn comes before attention or convolution; the
// "sub" ones come before the last matrices of attention and feed-forward, the "post" ones follow
// them, and the "sum" ones are of the stream that these were added to; attn_sum_again is of that
// with what attention read added once more. router, experts and experts_post are of the experts
// beside a dense feed-forward, and dense_post of that; input_post follows what a layer's own input
// adds. cross comes before attention to a source text, cross_post after it. router and v have no
// tensors of norms: the first has the router's scale, the other none. stream_router comes before
// that role, beside_post after what is beside attention, and scan before a scan that a block
// precedes.
enum class NormRole : uint8_t {
  attn,
  q,
  k,
  v,
  q_a,
  kv_a,
  index_k,
  attn_sub,
  attn_post,
  attn_sum,
  attn_sum_again,
  cross,
  cross_post,
  ffn,
  ffn_sub,
  ffn_post,
  ffn_sum,
  dense_post,
  router,
  experts,
  experts_post,
  input_post,
  stream_router,
  beside_post,
  scan
};
inline constexpr size_t kNormRoles = 25;

// A length that a layer's plan gives a number: of the residual stream, and that of an encoder that
// the layer attends to; all query heads, key heads
// and value heads; what attention gives for all heads, and what its output projection reads; the
// widths of latent attention: its short rows, the row that queries are made of, their two parts in
// all heads, one head's part without positions, the rotated part, one head's values; what goes into
// a convolution; the values of linear attention and their heads, and of the kind with decays of
// channels the width of a head and all decays; what a selective scan keeps of a column, and its
// heads or the row that steps are made of; the inner vector of the feed-forward or of an expert;
// the rows of experts; the router's numbers; the weights of the norms of queries and keys; the
// inner vector of the shared experts, and of an expert beside a dense feed-forward; a head's
// values; a layer's own input; the streams, their pairs, and the rank beside attention; what
// attention reads; the ranks of a shared block's uses; an index's queries, key and heads; a single
// number.
enum class LayerSize : uint8_t {
  embd,
  source_embd,
  q,
  k,
  v,
  attn,
  o,
  q_rank,
  kv_rank,
  q_from,
  q_plain,
  q_rope,
  plain,
  rope,
  value,
  conv,
  inner,
  value_heads,
  delta_low,
  decays,
  state,
  steps,
  ff,
  expert_row,
  experts,
  q_norm,
  k_norm,
  v_norm,
  shared_ff,
  expert_ff,
  input,
  streams,
  stream_pairs,
  beside_rank,
  attn_in,
  attn_rank,
  ff_rank,
  index_q,
  index_k,
  index_heads,
  one
};

struct RoleRow {
  Role role;
  std::string_view tensor;  // "attn_q" of "blk.0.attn_q.weight"
  LayerSize n_out, n_in;
  std::string_view bias_key;        // of config.json: whether there is a bias; empty: never
  bool BlockSpec::*must_have_bias;  // whatever the file says
  // Set: each expert has a matrix, and `tensor` has all of them, (experts, n_out, n_in), and its
  // bias, if any, (experts, n_out). Checkpoints have "ffn_up.7" of this "ffn_up" in its place.
  std::string_view of_experts = {};
  // Set: each head has a matrix, without a bias.
  bool of_heads = false;
};
struct NormRow {
  NormRole role;
  std::string_view tensor;
  LayerSize n;
};
// How the parts of a fused matrix lie: all rows of one after those of another; or by heads of
// attention or by key heads of linear attention, and of each the rows of one after those of
// another.
enum class FusedOrder : uint8_t { parts, heads, key_heads };
// One matrix that files may have in place of several.
struct FusedRow {
  std::string_view tensor;
  std::span<const Role> parts;
  Role sign;  // files that have the fused matrix have no tensor of this part
  FusedOrder order = FusedOrder::parts;
};

// One row for each role, in order. A role that is added here is bound, packed, counted and
// measured; only the decoder must learn what to do with it.
std::span<const RoleRow> role_rows();
// One row for each norm, in order.
std::span<const NormRow> norm_rows();
// Matrices that hold several roles at once. A file has either the fused matrix or all of its parts.
std::span<const FusedRow> fused_rows();

}  // namespace ruv
