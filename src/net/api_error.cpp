#include "net/api_error.h"

#include <array>

#include "base/json.h"
#include "base/utf8.h"

namespace ruv {
namespace {

// docs/http.md has the same table; a test compares them.
constexpr std::array kErrorTable{
    ErrorRow{Code::ok, 200, "none", "ok"},
    ErrorRow{Code::invalid, 400, "invalid_request_error", "invalid_value"},
    ErrorRow{Code::not_found, 404, "invalid_request_error", "not_found"},
    ErrorRow{Code::unsupported, 400, "invalid_request_error", "unsupported"},
    ErrorRow{Code::corrupt, 400, "invalid_request_error", "invalid_body"},
    ErrorRow{Code::out_of_memory, 503, "server_error", "out_of_memory"},
    ErrorRow{Code::unavailable, 429, "rate_limit_error", "rate_limit_exceeded"},
    ErrorRow{Code::cancelled, 503, "server_error", "cancelled"},
    ErrorRow{Code::deadline, 503, "server_error", "deadline_exceeded"},
    ErrorRow{Code::internal, 500, "server_error", "internal_error"},
};

constexpr size_t kMaxMessageBytes = 4000;
constexpr size_t kMaxParamBytes = 200;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

ApiError::ApiError(FieldError error)
    : type("invalid_request_error"),
      message(std::move(error.message)),
      param(std::move(error.field)) {
  constexpr std::array kCodes = {"missing_field", "invalid_type", "unknown_field",
                                 "unsupported_field", "invalid_value"};
  code = kCodes[static_cast<size_t>(error.kind)];
}

ApiError answers_overloaded() {
  return {503, "server_error", "too many long answers are waiting for their clients", "",
          "overloaded"};
}

std::span<const ErrorRow> error_table() { return kErrorTable; }

ApiError api_error(const Status& status, std::string param) {
  for (const ErrorRow& row : kErrorTable) {
    if (row.code == status.code()) {
      return {row.status, row.type, status.message(), std::move(param), row.name};
    }
  }
  return {500, "server_error", status.message(), std::move(param), "internal_error"};
}

ApiError bad_request(std::string param, std::string message, std::string code) {
  return {400, "invalid_request_error", std::move(message), std::move(param), std::move(code)};
}

// Cuts between characters.
std::string shortened(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const std::string_view head = text.substr(0, max_bytes);
  return std::string(head.substr(0, whole_utf8_prefix(head))) + "…";
}

// Empty param and code become null.
std::string error_json(const ApiError& error) {
  const Json json = {
      {"error",
       {{"message", to_valid_utf8(shortened(error.message, kMaxMessageBytes))},
        {"type", error.type},
        {"param", text_or_null(to_valid_utf8(shortened(error.param, kMaxParamBytes)))},
        {"code", text_or_null(error.code)}}}};
  return json.dump();
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error_json(error)};
  if (error.status == 429 || error.status == 503) response.headers = {{"Retry-After", "1"}};
  if (error.status == 401) response.headers = {{"WWW-Authenticate", "Bearer"}};
  return response;
}

}  // namespace ruv
