// Routes whose body is a JSON object with the fields of a table: what all of them do before and
// around their own work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "net/http/router.h"
#include "net/models/served_models.h"
#include "net/openai/fields.h"

namespace ruv {

struct ServerCall {
  const ServerParts& server;
  const HttpRequest& http;  // its body has been moved out
  const Json& body;         // checked: its members are known and not neutral
};

// A call of a loaded model, which stays loaded as long as the reply is there.
struct ApiCall {
  const OpenAiService& service;
  const HttpRequest& http;
  const Json& body;
};

// Answer through the reply, or fail before they have had any effect: they may be called again with
// a body that lacks the member that the error names.
using ServerAction =
    std::function<ApiResult<void>(const ServerCall&, const std::shared_ptr<Reply>&)>;
using ApiAction = std::function<ApiResult<void>(const ApiCall&, const std::shared_ptr<Reply>&)>;

// The action is called when the model that the body names is loaded. Where the service is lenient,
// members that are unknown or not supported are dropped, and the answer names them.
Route api_route(ServedModels& models, std::string method, std::string path, const BodyTable& table,
                ApiAction action, WriteError write_error = error_response);
// The same for requests that need no model.
Route server_route(ServedModels& models, std::string method, std::string path,
                   const BodyTable& table, ServerAction action,
                   WriteError write_error = error_response);

}  // namespace ruv
