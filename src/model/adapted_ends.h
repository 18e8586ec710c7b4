// What a batch's adapters change at the ends of a model: the embeddings of tokens and the logits.
// The embedding's matrix and the output's are two, also in models that use one for both: an adapter
// of one of them leaves the other as it is.
#pragma once

#include "model/decoder.h"

namespace ruv {

struct AdaptedEnds {
  Ops& ops;
  const Model& model;
  const Batch& batch;
  const LowRankScratch& scratch;
};

// After x = the embeddings of the batch's rows. Rows of sequences without adapters are not changed.
void adapt_embeddings(const AdaptedEnds& ends, View x);
// After logits = x · Wᵀ, of the batch's logit_rows, before they are scaled.
void adapt_logits(const AdaptedEnds& ends, View logits, View x);

}  // namespace ruv
