// FinishedRequest: all that decided an answer, and the answer, as an engine saw them.
#pragma once

#include <string>
#include <vector>

#include "ruv/engine.h"

namespace ruv {

// Whether a model packed for it (ModelInfo::isa) computes the bytes of every other machine
// (LoadOptions::portable).
inline bool is_portable_isa(std::string_view isa) { return isa != "avx512bf16"; }

// The engine that answered.
struct AnsweringEngine {
  std::string model;         // the name that requests use
  std::string model_digest;  // of its files, in hexadecimal digits; empty: not known
  std::string kv_type;       // "f16"
  int64_t n_ctx = 0;
  std::string isa = {};  // ModelInfo::isa
};

// An adapter of a request.
struct AnsweringAdapter {
  std::string path;
  std::string digest;  // of its files; empty: they have changed since they were loaded
  float scale = 1;
};

struct FinishedRequest {
  int64_t unix_ms = 0;  // when it ended
  std::shared_ptr<const AnsweringEngine> engine;
  Request request;  // without on_event; `params.seed` is the one that was used
  std::vector<AdapterUse> adapters;
  // The answer: ids and text, or hidden states.
  std::vector<Token> ids;
  std::string text;
  std::vector<float> hidden;
  FinishReason finish = FinishReason::none;
  Timings timings;
  Status status;

  // Roughly, of memory.
  int64_t n_bytes() const {
    return static_cast<int64_t>(sizeof(*this) +
                                (request.prompt.size() + ids.size()) * sizeof(Token) + text.size() +
                                hidden.size() * sizeof(float));
  }
};

}  // namespace ruv
