// RpcFailure: an error of an endpoint as gRPC has it.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "net/api_error.h"
#include "net/http/message.h"

namespace ruv {

// What ends a call; with the status OK it is the usual end.
struct RpcFailure {
  grpc::Status status;           // its message is the error's
  std::string json = {};         // {"error": …} as over HTTP; the trailer "error-bin"
  std::string retry_after = {};  // seconds; the trailer "retry-after". Empty: none
};

// From an answer whose status is not 200.
RpcFailure failure_of(const HttpResponse& response);
// From an error inside a stream of events: {"error": …}.
RpcFailure failure_of_event(std::string_view json);

}  // namespace ruv
