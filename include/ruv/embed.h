// Vectors of texts (embeddings): what a model's files say about them, the prompts of texts, and
// what is made of hidden states. Engine::embed computes the states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ruv/model.h"
#include "ruv/pooling.h"

namespace ruv {

// How a model makes vectors of texts.
struct EmbedInfo {
  Pooling pooling = Pooling::last;
  // The model's files say which. Otherwise it is the usual one: of encoders the mean, else the last
  // token's, since a causal model has seen the whole text there only.
  bool pooling_is_stated = false;
  int64_t n_dims = 0;  // numbers of a vector
  // Vectors are scaled to a length of 1. They are, but for models whose files list the steps
  // without this one.
  bool normalises = true;
  // The longest text in tokens, special ones included; 0: as long as the context.
  int64_t max_tokens = 0;
  // What the files say two vectors are compared by: "cosine", "dot", "euclidean", "manhattan";
  // empty: nothing.
  std::string similarity = {};
  // Texts that are put before others, by what these are for: "query", "document", …
  std::vector<std::pair<std::string, std::string>> prompts = {};
  // The name of the prompt of texts for which none is asked; empty: they have none.
  std::string default_prompt = {};
};
// Fails: unsupported or corrupt, where the model's files ask for steps after its layers that are
// not computed, with the file and the key. Such a model still generates text.
Result<EmbedInfo> embed_info(const Model& model);

// What a request for a vector can set.
struct EmbedParams {
  std::optional<Pooling> pooling = {};  // unset: the model's
  // Only this many numbers, the first ones, as models trained for it (Matryoshka) allow; 0: all.
  int64_t dimensions = 0;
  std::optional<bool> normalise = {};  // unset: as the model does
};
// Fails: invalid (more dimensions than the vectors have), unsupported (as embed_info).
Status check_embed_params(const Model& model, const EmbedParams& params);

// What precedes a text, and how long it may be.
struct EmbedPrompt {
  // A name of EmbedInfo::prompts, or empty for none; unset: the model's default.
  std::optional<std::string> name = {};
  // Longer texts lose their end, so that their tokens, special ones included, are this many at
  // most; 0: nothing is cut.
  int64_t max_tokens = 0;
  bool add_special = true;  // with the tokens that the model's texts begin and end with
};
// The ids of a text whose vector is wanted; control tokens in it are text. Fails: invalid (unknown
// name, max_tokens too small for the special tokens), unsupported (no tokenizer, as embed_info).
Result<std::vector<Token>> tokenize_embedding(const Model& model, std::string_view text,
                                              const EmbedPrompt& prompt = {});

// One vector, or with Pooling::none one for each token.
struct Embedding {
  std::vector<float> numbers;  // (n_rows, dimensions)
  int64_t n_rows = 1;
  int64_t n_tokens = 0;  // of the text

  std::span<const float> row(int64_t i) const {
    const auto n = numbers.size() / static_cast<size_t>(n_rows);
    return std::span(numbers).subspan(static_cast<size_t>(i) * n, n);
  }
};

// What follows pooling, on the calling thread: the model's dense layers, the cut to `dimensions`,
// the scaling. `states`: (n_rows, n_embd), as Event::hidden. The same bytes on every machine.
// Requires: check_embed_params() is ok.
Embedding finish_embedding(const Model& model, std::span<const float> states,
                           const EmbedParams& params = {});

// The cosine of the angle between two vectors; 0 where one of them is zero. Requires: equal sizes.
double cosine_of(std::span<const float> a, std::span<const float> b);

}  // namespace ruv
