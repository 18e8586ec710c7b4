// Scores of pairs of texts: how well a document answers a query, or how alike two texts are. What
// is computed, and what is made of it; ruv/score.h does all of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ruv/embed.h"

namespace ruv {

struct TextPair {
  std::string_view first;
  std::string_view second;
};

// What the two texts of a pair are to each other.
enum class PairKind : uint8_t {
  alike,     // both get the model's default prompt
  document,  // a query and a document: each gets the prompt that the model has for it
};

// What is computed for some pairs. Texts that occur several times are computed once.
struct PairTexts {
  std::vector<std::vector<Token>> ids;
  Pooling pooling = Pooling::last;
  // Which of the texts are compared, by their places in `ids`.
  struct Places {
    size_t first, second;
  };
  std::vector<Places> pairs = {};
};
// Whether the model can tell how well a document answers a query. Fails: unsupported, naming what
// is missing: its files must say how it makes vectors of texts.
Status can_rank(const Model& model);
// The ids of pairs of texts. `max_tokens`: as EmbedPrompt. Fails: invalid (a text is too long or
// gives no tokens; it is named), unsupported (no tokenizer, as embed_info).
Result<PairTexts> tokenize_pairs(const Model& model, std::span<const TextPair> pairs, PairKind kind,
                                 int64_t max_tokens = 0);
// The cosine of the angle between the vectors of each pair, in [-1, 1]. `vectors`: of `texts.ids`.
std::vector<double> pair_scores(const PairTexts& texts, std::span<const Embedding> vectors);

}  // namespace ruv
