#include "rpc/rpc_failure.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace ruv {
namespace {

// A row for each status that the server sends.
struct CodeRow {
  int http;
  grpc::StatusCode code;
};
constexpr std::array kCodes{
    CodeRow{400, grpc::StatusCode::INVALID_ARGUMENT},
    CodeRow{401, grpc::StatusCode::UNAUTHENTICATED},
    CodeRow{403, grpc::StatusCode::PERMISSION_DENIED},
    CodeRow{404, grpc::StatusCode::NOT_FOUND},
    CodeRow{405, grpc::StatusCode::UNIMPLEMENTED},
    CodeRow{408, grpc::StatusCode::DEADLINE_EXCEEDED},
    CodeRow{409, grpc::StatusCode::ABORTED},
    CodeRow{413, grpc::StatusCode::RESOURCE_EXHAUSTED},
    CodeRow{429, grpc::StatusCode::RESOURCE_EXHAUSTED},
    CodeRow{431, grpc::StatusCode::RESOURCE_EXHAUSTED},
    CodeRow{500, grpc::StatusCode::INTERNAL},
    CodeRow{501, grpc::StatusCode::UNIMPLEMENTED},
    CodeRow{503, grpc::StatusCode::UNAVAILABLE},
    CodeRow{504, grpc::StatusCode::DEADLINE_EXCEEDED},
};

// Clients take 8 KB of metadata, in which the message comes twice.
constexpr size_t kMaxMessageBytes = 1000;

// Errors that gRPC has names for come under these, whatever their status.
grpc::StatusCode code_of(int status, const std::string& name) {
  if (name == "deadline_exceeded") return grpc::StatusCode::DEADLINE_EXCEEDED;
  if (name == "client_too_slow") return grpc::StatusCode::RESOURCE_EXHAUSTED;
  const auto row = std::ranges::find(kCodes, status, &CodeRow::http);
  return row != kCodes.end() ? row->code : grpc::StatusCode::UNKNOWN;
}

// Empty where the member is null or missing.
std::string text_of(const Json& error, std::string_view name) {
  const Json* member = error.find(name);
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

// Empty members where the text is not such an object.
ApiError read_error(std::string_view json, int status) {
  ApiError error;
  error.status = status;
  const auto body = parse_json(json, "error");
  const Json* inner = body && body->is_object() ? body->find("error") : nullptr;
  if (inner == nullptr || !inner->is_object()) return error;
  error.message = shortened(text_of(*inner, "message"), kMaxMessageBytes);
  error.type = text_of(*inner, "type");
  error.param = text_of(*inner, "param");
  error.code = text_of(*inner, "code");
  return error;
}

// The status that the error would have had before the stream began.
int status_of(const ApiError& error) {
  for (const ErrorRow& row : error_table()) {
    if (row.code != Code::ok && error.code == row.name) return row.status;
  }
  if (error.type == "invalid_request_error") return 400;
  if (error.type == "rate_limit_error") return 429;
  return 500;
}

// Both forms of the same error.
RpcFailure failure(const ApiError& error) {
  return {.status = {code_of(error.status, error.code), error.message}, .json = error_json(error)};
}

}  // namespace

RpcFailure failure_of(const HttpResponse& response) {
  RpcFailure made = failure(read_error(response.body, response.status));
  for (const auto& [name, value] : response.headers) {
    if (name == "Retry-After") made.retry_after = value;
  }
  return made;
}

RpcFailure failure_of_event(std::string_view json) {
  ApiError error = read_error(json, 500);
  error.status = status_of(error);
  return failure(error);
}

}  // namespace ruv
