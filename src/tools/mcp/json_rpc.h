// JSON-RPC 2.0: the form of MCP's messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ruv {

// Longest message that is read, in bytes of JSON.
inline constexpr size_t kMaxRpcBytes = 16 << 20;

enum class RpcCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
};

struct RpcError {
  int64_t code = 0;
  std::string message;
};

// One message. A request has a method and an id, a notification a method alone, a response an id
// and a result or an error. The id of a response is null where the request could not be read.
struct RpcMessage {
  enum class Kind { request, notification, response };
  Kind kind = Kind::notification;
  Json id = {};  // a text or an integer
  std::string method = {};
  Json params = Json::object();  // an object, empty where there is none
  Json result = {};
  std::optional<RpcError> error = {};
};

// One message, or several in a list, as older revisions allow. Fails: corrupt, saying what is
// wrong; also where the text is longer than kMaxRpcBytes.
Result<std::vector<RpcMessage>> read_rpc(std::string_view text);

// Texts on one line. Params that are null are left out.
std::string rpc_request(const Json& id, std::string_view method, Json params);
std::string rpc_notification(std::string_view method, Json params = {});
std::string rpc_result(const Json& id, Json result);
std::string rpc_error(const Json& id, RpcCode code, std::string_view message);

}  // namespace ruv
