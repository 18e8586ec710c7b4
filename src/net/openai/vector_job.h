// Vectors of a request's texts: submitted to the engine a few at a time, so that thousands neither
// fill its queue nor hold up others, and finished on a thread of their own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/openai/service.h"
#include "ruv/embed.h"

namespace ruv {

// Texts in tokens, checked.
struct VectorRequest {
  std::vector<std::vector<Token>> texts;
  std::vector<int64_t> second_texts = {};  // Request::second_text of each; empty: 0
  bool as_states = false;                  // no vectors are made of the pooled states
  Pooling pooling = Pooling::last;
  EmbedParams params;
  ServiceTerms terms;
  std::optional<std::vector<AdapterUse>> adapters = {};
  uint64_t n_kept_bytes = 0;  // what the answer keeps besides, until it is sent
};

// The vectors, in the order of the texts.
struct VectorResult {
  std::vector<Embedding> vectors;
  int64_t n_prompt_tokens = 0;
};

// Sends the answer that is made of the vectors; called on a thread that may compute.
using SendVectors = std::function<void(VectorResult result)>;

// May be called from any thread. Sends an error where something fails. `service` must outlive the
// answer.
void compute_vectors(const OpenAiService& service, VectorRequest request,
                     const std::shared_ptr<Reply>& reply, SendVectors send);

// How many tokens a text may have: the context's, or fewer where the model says so.
int64_t most_embed_tokens(const OpenAiService& service);

}  // namespace ruv
