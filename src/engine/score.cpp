#include "ruv/score.h"

#include "base/result.h"
#include "engine/pooled_states.h"

namespace ruv {

Result<std::vector<double>> score_pairs(Engine& engine, std::span<const TextPair> pairs,
                                        PairKind kind, int64_t max_tokens,
                                        const ServiceTerms& terms) {
  PairTexts texts = TRY(tokenize_pairs(engine.model(), pairs, kind, max_tokens));
  std::vector<Embedding> vectors;
  if (texts.classified) {
    const auto keep = [&](std::vector<float> states, int64_t) {
      vectors.push_back({.numbers = std::move(states)});
    };
    TRY(pooled_states(engine,
                      {.ids = std::move(texts.ids),
                       .second_texts = texts.second_texts,
                       .pooling = texts.pooling,
                       .terms = terms,
                       .what = "pair"},
                      keep));
  } else {
    vectors = TRY(engine.embed_all(std::move(texts.ids), {.pooling = texts.pooling}, terms));
  }
  return pair_scores(engine.model(), texts, vectors);
}

}  // namespace ruv
