#include "capi/call_error.h"

#include <algorithm>

#include "base/json.h"

namespace ruv {
namespace {

// The statuses of the C interface are the codes of the library.
ruvllm_status status_of_code(Code code) {
  switch (code) {
    case Code::ok:
      return RUVLLM_OK;
    case Code::invalid:
      return RUVLLM_INVALID;
    case Code::not_found:
      return RUVLLM_NOT_FOUND;
    case Code::unsupported:
      return RUVLLM_UNSUPPORTED;
    case Code::corrupt:
      return RUVLLM_CORRUPT;
    case Code::out_of_memory:
      return RUVLLM_OUT_OF_MEMORY;
    case Code::unavailable:
      return RUVLLM_UNAVAILABLE;
    case Code::cancelled:
      return RUVLLM_CANCELLED;
    case Code::deadline:
      return RUVLLM_DEADLINE;
    case Code::internal:
      return RUVLLM_INTERNAL;
  }
  return RUVLLM_INTERNAL;
}

// A body that is not JSON is the caller's mistake here, not a damaged file.
ruvllm_status status_of_api(const ApiError& error) {
  if (error.code == "unsupported_field") return RUVLLM_UNSUPPORTED;
  const auto rows = error_table();
  const auto row = std::ranges::find(rows, error.code, &ErrorRow::name);
  if (row != rows.end() && row->code != Code::corrupt) return status_of_code(row->code);
  if (error.status == 404) return RUVLLM_NOT_FOUND;
  if (error.status == 409 || error.status == 429 || error.status == 503) return RUVLLM_UNAVAILABLE;
  return error.status < 500 ? RUVLLM_INVALID : RUVLLM_INTERNAL;
}

std::string text_member(const Json& object, std::string_view name) {
  const Json* const member = object.find(name);
  return member != nullptr && member->is_string() ? std::string(member->text()) : std::string();
}

}  // namespace

CallError::CallError(const Status& failure)
    : status(status_of_code(failure.code())),
      code(code_name(failure.code())),
      message(failure.message()) {}

CallError::CallError(const FieldError& failure) : CallError(ApiError(failure)) {}

CallError::CallError(const ApiError& failure)
    : status(status_of_api(failure)),
      code(failure.code),
      field(failure.param),
      message(failure.message) {}

// The body was written by error_json().
CallError sent_error(int http_status, std::string_view body) {
  const auto json = parse_json(body, "answer");
  const Json* const error = json && json->is_object() ? json->find("error") : nullptr;
  if (error == nullptr || !error->is_object()) {
    return Status(Code::internal, fmt::format("the answer has status {}", http_status));
  }
  return ApiError(http_status, text_member(*error, "type"), text_member(*error, "message"),
                  text_member(*error, "param"), text_member(*error, "code"));
}

tl::unexpected<CallError> null_argument(const char* name) {
  return tl::unexpected<CallError>(
      bad_request(name, fmt::format("'{}' must not be null", name), "missing_field"));
}

}  // namespace ruv
