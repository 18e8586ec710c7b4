// Failure and Outcome: results of ruvllm.h that travel from a thread of the pool to JavaScript.
#pragma once

#include <ruvllm.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace ruv_node {

// Why something failed, as the class RuvllmError has it.
struct Failure {
  int status = RUVLLM_INTERNAL;
  std::string message = {};
  std::string code = {};
  std::string field = {};
};

template <class T>
using Outcome = std::variant<T, Failure>;

// Calls a free function of ruvllm.h.
template <auto free_handle>
struct Free {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    free_handle(handle);
  }
};
using TextHandle = std::unique_ptr<ruvllm_text, Free<ruvllm_text_free>>;
using TokensHandle = std::unique_ptr<ruvllm_tokens, Free<ruvllm_tokens_free>>;
using VectorsHandle = std::unique_ptr<ruvllm_vectors, Free<ruvllm_vectors_free>>;

// The failure in an error, which is freed.
inline Failure take_failure(ruvllm_error* error) {
  Failure failure{ruvllm_error_status(error), ruvllm_error_message(error), ruvllm_error_code(error),
                  ruvllm_error_field(error)};
  ruvllm_error_free(error);
  return failure;
}

inline Failure cancelled(std::string message) {
  return {RUVLLM_CANCELLED, std::move(message), "cancelled"};
}
inline Failure out_of_memory() {
  return {RUVLLM_OUT_OF_MEMORY, "no memory is left for the call", "out_of_memory"};
}

}  // namespace ruv_node
