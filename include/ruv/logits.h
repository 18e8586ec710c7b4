// Logits or hidden states of a token sequence from an empty context, without a scheduler: what
// `logits`, `perplexity` and the golden tests compare with other engines.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ruv/adapter.h"
#include "ruv/kv_type.h"
#include "ruv/model.h"

namespace ruv {

struct LogitsOptions {
  int n_threads = 0;           // 0: one per core
  int64_t chunk_tokens = 512;  // tokens per step; the result does not depend on it
  bool all = false;            // every position, not only the last
  KvType kv_type = KvType::f16;
  int64_t second_text = 0;  // as Request::second_text
  int64_t n_source = 0;     // ids of a source text, which have no logits
  std::vector<AdapterUse> adapters = {};
};

// Calls on_logits(position, logits of n_vocab float32) in order of position.
// Fails: invalid (no ids, an id out of range), unsupported (an encoder), out_of_memory.
Status compute_logits(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                      const std::function<void(int64_t, std::span<const float>)>& on_logits);

// The same for hidden states, of encoders too: n_embd float32, after the last norm.
Status compute_hidden(const Model& model, std::span<const Token> ids, const LogitsOptions& options,
                      const std::function<void(int64_t, std::span<const float>)>& on_hidden);

}  // namespace ruv
