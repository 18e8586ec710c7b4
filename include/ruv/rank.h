// Parts of scoring pairs of texts (ruv/score.h): what is computed, and what is made of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
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

// What is computed for some pairs. A classifier reads both texts of a pair at once. Otherwise each
// text is computed alone, once however often it occurs.
struct PairTexts {
  std::vector<std::vector<Token>> ids;
  // A classifier's: where the second text begins in each, 0 where tokens have no types.
  std::vector<int64_t> second_texts = {};
  bool classified = false;
  Pooling pooling = Pooling::last;
  // Which of the texts are compared, by their places in `ids`.
  std::vector<std::pair<size_t, size_t>> pairs = {};
};
// Whether the model ranks documents. Fails: unsupported, naming what is missing: a classifier of
// pairs with one label, or files that say how vectors of texts are made.
Status can_rank(const Model& model);
// The ids of pairs of texts. `max_tokens`: as EmbedPrompt. Fails: invalid (a text is too long or
// gives no tokens; it is named), unsupported (no tokenizer, as embed_info).
Result<PairTexts> tokenize_pairs(const Model& model, std::span<const TextPair> pairs, PairKind kind,
                                 int64_t max_tokens = 0);
// The score of each pair: the sigmoid of what the classifier gives, in [0, 1], or the cosine of the
// angle between the vectors, in [-1, 1]. `vectors`: of `texts.ids`; where `classified`, the hidden
// states as they are.
std::vector<double> pair_scores(const Model& model, const PairTexts& texts,
                                std::span<const Embedding> vectors);

}  // namespace ruv
