// CallError: why a function of the C interface failed, made of the library's errors and of the
// API's.
#pragma once

#include <string>

#include "base/result.h"
#include "net/api_error.h"
#include "ruvllm.h"

namespace ruv {

// What a handle of the kind ruvllm_error shows. Converts from every error that can come up, so that
// TRY passes them on.
struct CallError {
  CallError(const Status& failure);
  CallError(const FieldError& failure);
  CallError(const ApiError& failure);

  ruvllm_status status = RUVLLM_INTERNAL;  // a failure, never RUVLLM_OK
  std::string code;                        // for programs, as the API has it
  std::string field;                       // empty: none is wrong
  std::string message;
};

// A value or why there is none.
template <class T>
using CallResult = tl::expected<T, CallError>;

// The error in a body that the API has sent with this HTTP status.
CallError sent_error(int http_status, std::string_view body);
// An argument that must not be null is.
tl::unexpected<CallError> null_argument(const char* name);

}  // namespace ruv
