// Drafting heads of a file of their own that read the same state of the model, after its last norm
// (Medusa, arXiv 2401.10774): at place i of a text, head k gives the logits of the token at
// i + 2 + k. They have neither layers nor keys and values.
#pragma once

#include "model/model.h"
#include "model/weight_source.h"

namespace ruv {

// Whether the model is a file of such heads.
bool is_parallel_heads(const Model& model);
// Its numbers. Requires: it is one, without numbers. Fails: corrupt, not_found.
Status plan_parallel_heads(Model& model);
// Its weights. Requires: it has its numbers. Fails: as bind_weights.
Status bind_parallel_heads(Model& model, WeightSource& source);
// Why heads cannot draft for the model; ok: they can. Requires: both have their weights. Fails:
// unsupported, naming what differs.
Status check_parallel_heads(const Model& model, const Model& heads);
// What the file is, in words.
std::string parallel_heads_text(const Model& heads);

}  // namespace ruv
