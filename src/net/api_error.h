// ApiError: an error as API clients see it, and the one table from which every HTTP status is
// derived. Messages name the field and quote only the beginning of what a client sent.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json_fields.h"
#include "base/result.h"
#include "net/http/message.h"

namespace ruv {

// One error object of the OpenAI API.
struct ApiError {
  ApiError() = default;
  ApiError(int its_status, std::string its_type, std::string its_message,
           std::string its_param = {}, std::string its_code = {})
      : status(its_status),
        type(std::move(its_type)),
        message(std::move(its_message)),
        param(std::move(its_param)),
        code(std::move(its_code)) {}
  // A field of a body is wrong: status 400.
  ApiError(FieldError error);

  int status = 400;
  std::string type;  // "invalid_request_error"
  std::string message;
  std::string param;  // the offending field; empty: null on the wire
  std::string code;   // for programs; empty: null on the wire
};

// 503: too many bytes of answers wait for other clients.
ApiError answers_overloaded();

// One row per Code: the status, type and code of a library failure on the wire.
struct ErrorRow {
  Code code;
  int status;
  const char* type;
  const char* name;
};
std::span<const ErrorRow> error_table();

// The row of the status's code, with its message.
ApiError api_error(const Status& status, std::string param = {});
// The request itself is wrong: status 400.
ApiError bad_request(std::string param, std::string message, std::string code = "invalid_value");

// The text, or its beginning and "…" if it is longer than max_bytes, so that long client input is
// not echoed.
std::string shortened(std::string_view text, size_t max_bytes);

// {"error": {"message", "type", "param", "code"}}; message and param are shortened.
std::string error_json(const ApiError& error);
// An answer with the error's status and JSON.
HttpResponse error_response(const ApiError& error);

// A value or the error for the client.
template <class T>
using ApiResult = tl::expected<T, ApiError>;

}  // namespace ruv
