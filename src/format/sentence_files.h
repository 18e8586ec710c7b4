// Reads what a folder of sentence-transformers says beside config.json: modules.json lists the
// steps that follow the model's layers, each with a folder of its own;
// config_sentence_transformers.json has the prompts of texts. Every key is honoured, has no effect,
// or is refused by name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ruv/pooling.h"

namespace ruv {

// A dense layer after pooling: y = act(W x + b), float32.
struct DenseLayer {
  int64_t n_in = 0;
  int64_t n_out = 0;
  bool has_tanh = false;
  std::vector<float> weight = {};  // (n_out, n_in)
  std::vector<float> bias = {};    // (n_out), or empty
};

// The last step of a cross-encoder that is a decoder (LogitScore): a pair's score is the logit of
// one token after it, less that of another where there is one.
struct LogitScore {
  int64_t true_token = 0;
  std::optional<int64_t> false_token = {};
  // The pair is written by the chat template, as messages of the roles "query" and "document",
  // after a system message with the default prompt; their contents are texts, or lists of parts.
  // Otherwise it is joined as the tokenizer joins pairs.
  bool by_template = false;
  bool lists_parts = false;
};

struct SentenceFiles {
  Pooling pooling = Pooling::mean;
  int64_t n_embd = 0;  // numbers of a hidden state; 0: not said
  // The tokens of a text's prompt are pooled with its own.
  bool pools_prompt = true;
  std::vector<DenseLayer> dense = {};
  bool normalises = false;
  int64_t max_tokens = 0;       // 0: not said
  bool lower_case = false;      // texts are lowercased before they are tokens
  std::string similarity = {};  // empty: not said
  std::vector<std::pair<std::string, std::string>> prompts = {};
  std::string default_prompt = {};
  std::optional<LogitScore> logit_score = {};
};

// Nothing where the folder has no modules.json. Fails: corrupt, unsupported, not_found (a file of a
// step is missing), each naming the file and the key.
Result<std::optional<SentenceFiles>> read_sentence_files(const std::string& folder);

}  // namespace ruv
