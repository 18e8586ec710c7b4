// What the handles of the C interface hold, and what surrounds each of its functions: `guarded`
// turns errors and exceptions into a status, so that nothing is thrown at C.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/call_error.h"
#include "capi/local_model.h"

// Why a call failed.
struct ruvllm_error {
  ruv::CallError why;
};
// What a call gives back.
struct ruvllm_text {
  std::string bytes;
};
// Ids as the engine has them, which is how C sees them.
struct ruvllm_tokens {
  std::vector<ruv::Token> ids;
};
// The model stays in memory as long as one handle, call or server has it.
struct ruvllm_model {
  std::shared_ptr<ruv::LocalModel> inner;
};
// Its destructor stops it.
struct ruvllm_server {
  std::unique_ptr<ruv::LocalServer> inner;
};
// One block, so that other languages see a matrix.
struct ruvllm_vectors {
  // The block is aligned, so that std::free returns it.
  struct Free {
    void operator()(float* numbers) const { std::free(numbers); }
  };
  std::unique_ptr<float[], Free> numbers;
  // Row after row.
  size_t n_rows = 0;
  size_t n_columns = 0;
  int64_t n_tokens = 0;
};

namespace ruv {

// Sets *error, where that is wanted, and returns its status.
ruvllm_status report(ruvllm_error** error, const CallError& why) noexcept;
// The same when memory has run out: allocates nothing.
ruvllm_status report_no_memory(ruvllm_error** error) noexcept;

// Calls `body`, which gives a CallResult<ruvllm_status>, and lets no exception out.
template <class Body>
ruvllm_status guarded(ruvllm_error** error, Body body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const CallResult<ruvllm_status> done = body();
    return done ? *done : report(error, done.error());
  } catch (const std::bad_alloc&) {
    return report_no_memory(error);
  } catch (...) {
    return report(error, Status(Code::internal, "an exception that nothing has caught"));
  }
}

// A handle that the caller frees; throws std::bad_alloc.
template <class Handle, class... Parts>
Handle* new_handle(Parts&&... parts) {
  return new Handle{std::forward<Parts>(parts)...};
}

// Fails where one of the pointers is null, with the name in its place.
// A pointer and what the header calls it.
struct Argument {
  const char* name;
  const void* value;
};
CallResult<void> check_given(std::initializer_list<Argument> arguments);

}  // namespace ruv
