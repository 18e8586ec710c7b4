// How texts become the tokens that are scored: a context and its continuation encoded as one text
// and cut, and the windows of a long text. The rules are those of lm-evaluation-harness, so that
// scores can be compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ruv/model.h"

namespace ruv {

// Tokens to score and those before them, which are at least one.
struct TokenPair {
  std::vector<Token> context;
  std::vector<Token> continuation;
};

class PairEncoder {
 public:
  // Fails: unsupported (no tokenizer, or one without a token that begins or ends texts).
  static Result<PairEncoder> create(const Model& model);

  // Control tokens written in the text become their ids. The tokens that begin a text are added
  // where the text does not begin with the first of them itself.
  std::vector<Token> encode(std::string_view text) const;
  // White space at the end of the context belongs to the continuation. Both are encoded as one
  // text, of which as many tokens are cut off as the context alone has. An empty context is the
  // token that begins texts. Fails: invalid (one of the two has no tokens).
  Result<TokenPair> encode_pair(std::string_view context, std::string_view continuation) const;
  // Every token of the text once, in windows of at most max_tokens: the first after the token that
  // begins texts, each other after the last token of the window before; the last one is filled
  // from the left, so its context is longer. Requires: max_tokens > 0.
  std::vector<TokenPair> windows(std::string_view text, int64_t max_tokens) const;

  // The token that begins texts, or where there is none ends them.
  Token prefix() const { return prefix_; }

 private:
  PairEncoder(const Model& model, Token prefix) : model_(&model), prefix_(prefix) {}
  const Model* model_;
  Token prefix_;
};

// The size of a text without the white space (of Unicode) at its end.
size_t size_without_end_space(std::string_view text);
// How many parts the stretches of white space cut a text into, empty ones at its ends included.
int64_t count_words(std::string_view text);
// Characters of UTF-8; each invalid byte is one.
int64_t count_characters(std::string_view text);

}  // namespace ruv
