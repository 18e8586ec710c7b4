// decode: one forward pass of any family.
#pragma once

#include <atomic>
#include <optional>

#include "model/model.h"

namespace ruv {

// Memory of one step: views of max_rows rows, logits of max_outputs rows, and what products of
// adapters up to rank max_rank need; 0: steps have no adapters.
class Activations {
 public:
  // Fails: out_of_memory.
  static Result<Activations> create(const Model& model, int64_t max_rows, int64_t max_outputs,
                                    int64_t max_rank = 0);

  // The views cut to the rows of a batch.
  struct Views {
    View x, h, h2, q, k, v, attn_gate, attn, beta, decay, decay_gate, conv, gate, up, router,
        routes, logits;
    // The experts' result beside a dense feed-forward's; the own inputs of all layers, and what
    // they are made of.
    View beside, layer_inputs, layer_embd;
    View joined;  // what a drafting head's stream is made of, or its attention reads
    std::array<View, kTaps> taps;  // the stream where a drafting head reads it
    View tapped;                   // they in one row
    // Streams one after the other and what is predicted of them (model/stream_plan.h); the router's
    // numbers, coefficients, and the sum of low rank.
    View streams, predicted, stream_router, stream_factors, laurel;
    // Blocks that share weights: the embeddings; they beside the stream; what matrices of low rank
    // add.
    View first, wide, adapted;
    // Latent attention: the row that queries are made of; parts of all heads, first of queries,
    // then of values; rotated parts.
    View q_low, heads, q_rope, k_rope;
    // An index: its queries, its key and its weights; and what was chosen, which lasts for the
    // layers that share it.
    View index_q, index_k, index_weights, chosen;
    View of_query, of_key;  // DistanceScores
    // A time mix's; the last one lasts from the first layer to the others.
    std::array<View, 9> mixed;
    View low, low_shares;              // narrow rows of a time mix; low also of linear attention
    View expert_in, expert_out;        // rows of experts, where they have a width of their own
    View state_low, state_b, state_c;  // narrow rows of a scan by columns
    LowRankScratch low_rank;           // not cut
    ExpertScratch expert;              // not cut; it shares memory with gate and up
  };
  Views rows(int64_t n_rows, int64_t n_outputs) const;

 private:
  DeviceMemory memory_;
  Views views_;
};

// What operations must have room for to decode such steps.
OpsLimits ops_limits(const Model& model, int64_t max_rows, int64_t max_rank = 0);

// Whether a step is wanted no more; asked between layers.
using StopFlag = std::atomic<bool>;

// Computes one step for sequences of up to n_ctx tokens. Stores keys and values of every row in the
// batch's pages. Gives nothing where `stop` became true before the last layer: the slots of the
// batch's rows then hold anything. Requires: pages cover every position; ids and positions are in
// range; the batch has at most as many rows, and wants as many logits, as the activations have; its
// adapters were made for the model and are of ranks that the activations have room for.
std::optional<StepOutput> decode(Ops& ops, const Model& m, const Batch& batch, const Activations& a,
                                 int64_t n_ctx, const StopFlag* stop = nullptr);

}  // namespace ruv
