// score_pairs: how well documents answer queries, or how alike texts are, through an engine.
#pragma once

#include <span>
#include <vector>

#include "ruv/engine.h"
#include "ruv/rank.h"

namespace ruv {

// A score for each pair, in their order: the higher, the better (ruv/rank.h). `max_tokens`: longer
// texts lose their end; 0: they are refused. Waits. Fails: as tokenize_pairs and Engine::embed_all.
Result<std::vector<double>> score_pairs(Engine& engine, std::span<const TextPair> pairs,
                                        PairKind kind, int64_t max_tokens = 0,
                                        const ServiceTerms& terms = {});

}  // namespace ruv
