// Routes whose body is a JSON object with the fields of a table: what all of them do before and
// around their own work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "net/http/router.h"
#include "net/openai/fields.h"
#include "net/openai/service.h"

namespace ruv {

struct ApiCall {
  const OpenAiService& service;
  const HttpRequest& http;  // its body has been moved out
  const Json& body;         // checked: its members are known and not neutral
};

// Answers through the reply, or fails before it has had any effect: it may be called again with a
// body that lacks the member that the error names.
using ApiAction = std::function<ApiResult<void>(const ApiCall&, const std::shared_ptr<Reply>&)>;

// How an API writes an error.
using WriteError = HttpResponse (*)(const ApiError&);

// Where the service is lenient, members that are unknown or not supported are dropped, and the
// answer names them.
Route api_route(const OpenAiService& service, std::string method, std::string path,
                const BodyTable& table, ApiAction action, WriteError write_error = error_response);

}  // namespace ruv
