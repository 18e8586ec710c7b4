#include "ruv/score.h"

#include "base/result.h"

namespace ruv {

Result<std::vector<double>> score_pairs(Engine& engine, std::span<const TextPair> pairs,
                                        PairKind kind, int64_t max_tokens,
                                        const ServiceTerms& terms) {
  PairTexts texts = TRY(tokenize_pairs(engine.model(), pairs, kind, max_tokens));
  const std::vector<Embedding> vectors =
      TRY(engine.embed_all(std::move(texts.ids), {.pooling = texts.pooling}, terms));
  return pair_scores(texts, vectors);
}

}  // namespace ruv
