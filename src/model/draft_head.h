// A drafting head that a model's file brings: one more layer after the others, which predicts the
// token after the next one (multi-token prediction, DeepSeek-V3, arXiv 2412.19437). At place i of a
// text it reads the model's hidden state there, after the last norm, and the token at i + 1:
//   x = join · (norm(embedding of the token), norm(state)),
// then comes a layer of the family's own kind, and its result, normalised, gives the logits of the
// token at i + 2. That result is also the state that the head reads to draft one token further.
// The layer has place `n_layers` among plans, weights and the layers of a cache.
//
// A head of a file of its own (EAGLE-3, arXiv 2503.01840) has the same places and reads the stream
// of the model between layers, at three places l, m and h of it, in the place of that state:
//   x = join · (l, m, h), or when it continues the stream after its own layer, not normalised;
// queries, keys and values are made of (norm(embedding of the token), norm(x)), attention is added
// to x, or where the file says so to norm(x), and a feed-forward follows. Its outputs may be fewer
// than the model's.
//
// A file of their own may also have several heads without a layer (model/parallel_heads.h). They
// read the model's hidden state, after the last norm, and no token.
#pragma once

#include "model/decoder.h"
#include "model/weight_source.h"

namespace ruv {

// Sets the head and the plan of its layer where the file has one that can be computed, else
// head_unused; of a file that is a head, it. Requires: the model has its plans and nothing of a
// head. Fails, of a file that is a head: corrupt, unsupported.
Status plan_draft_head(Model& model);
// Takes them back.
void drop_draft_head(Model& model, std::string why);

// Binds the head's weights, its layer's among them. Fails: as bind_weights. Requires: a head.
Status bind_draft_head(Model& model, WeightSource& source);

// Makes the head of another file, with weights on the model's device, that of the model. Fails:
// unsupported (it is for another model, or for models of another kind), naming what differs.
// Requires: the model has its weights and no head.
Status take_draft_head(Model& model, std::shared_ptr<const Model> source);

// Whether the model has a head, and one that drafts with such pages.
bool head_drafts(const Model& model, const CacheLayout& pages);

// Rows that the head computes. Row r of the batch, at place i of its sequence, has the token at
// i + 1, and reads the hidden state of row from[r] of the step before, which was the model's, or,
// with goes_on, the head's own. Heads without a layer read the model's in any case, and only the
// rows that from names, of which each gives logits.
struct HeadStep {
  const Batch& batch;
  std::span<const int32_t> from;
  bool goes_on = false;
  int64_t ahead = 0;  // which of several heads
};
// Gives the logits that the batch wants. Keys and values go to its pages, in the head's layer.
// Requires: as decode; all rows are tokens; the activations are those of the step before.
View decode_head(Ops& ops, const Model& m, const HeadStep& step, const Activations& a,
                 int64_t n_ctx);

}  // namespace ruv
