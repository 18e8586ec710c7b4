// A message is checked whole before any of it is used, so that what reads it later need not doubt
// its shape. Depth and number of values are bounded while parsing.
#include "tools/mcp/json_rpc.h"

namespace ruv {
namespace {

constexpr JsonLimits kRpcLimits{.depth = 64, .values = 1 << 20};
constexpr size_t kMaxBatch = 1000;

tl::unexpected<Status> no_rpc(std::string_view reason) {
  return fail(Code::corrupt, "not a JSON-RPC message: {}", reason);
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

// A code beyond 32 bits is none that anything here tests for. A message may be missing.
Result<RpcError> read_error(const Json& error) {
  const Json* code = error.is_object() ? error.find("code") : nullptr;
  const Json* message = error.is_object() ? error.find("message") : nullptr;
  if (code == nullptr || !code->is_number_integer()) return no_rpc("an error without a code");
  const bool is_huge = code->is_number_unsigned() && code->get<uint64_t>() > INT32_MAX;
  const bool has_text = message != nullptr && message->is_string();
  return RpcError{is_huge ? INT32_MAX : code->get<int64_t>(),
                  has_text ? message->get<std::string>() : "(no message)"};
}

// Exactly one of "result" and "error". An error may answer a request whose id could not be read.
Result<RpcMessage> read_response(Json& json, RpcMessage message) {
  message.kind = RpcMessage::Kind::response;
  Json* result = json.find("result");
  const Json* error = json.find("error");
  if ((result == nullptr) == (error == nullptr))
    return no_rpc("a response has a result or an error");
  if (error != nullptr) {
    message.error = TRY(read_error(*error));
  } else {
    if (message.id.is_null()) return no_rpc("a result without an id");
    message.result = std::move(*result);
  }
  return message;
}

// "method" tells requests and notifications from responses, an id tells requests from
// notifications.
Result<RpcMessage> read_one(Json& json) {
  if (!json.is_object()) return no_rpc(fmt::format("{}, not an object", json.type_name()));
  const Json* version = json.find("jsonrpc");
  if (version == nullptr || !version->is_string() || version->text() != "2.0")
    return no_rpc("\"jsonrpc\" is not \"2.0\"");
  RpcMessage message;
  const Json* id = json.find("id");
  if (id != nullptr && !id->is_null() && !is_id(*id))
    return no_rpc("an id is a string or an integer");
  if (id != nullptr) message.id = *id;
  const Json* method = json.find("method");
  if (method == nullptr) return read_response(json, std::move(message));
  if (!method->is_string()) return no_rpc("\"method\" is not a string");
  if (id != nullptr && id->is_null()) return no_rpc("a request's id must not be null");
  message.kind = id == nullptr ? RpcMessage::Kind::notification : RpcMessage::Kind::request;
  message.method = method->get<std::string>();
  if (Json* params = json.find("params"); params != nullptr && !params->is_null()) {
    if (!params->is_object()) return no_rpc("\"params\" is not an object");
    message.params = std::move(*params);
  }
  return message;
}

Json with_params(Json message, Json params) {
  if (!params.is_null()) message["params"] = std::move(params);
  return message;
}

}  // namespace

Result<std::vector<RpcMessage>> read_rpc(std::string_view text) {
  if (text.size() > kMaxRpcBytes)
    return no_rpc(fmt::format("{} bytes, at most {}", text.size(), kMaxRpcBytes));
  Json json = TRY(parse_json(text, "message", kRpcLimits));
  std::vector<RpcMessage> messages;
  if (!json.is_array()) {
    messages.push_back(TRY(read_one(json)));
    return messages;
  }
  if (json.empty() || json.size() > kMaxBatch)
    return no_rpc(fmt::format("a list of {} messages", json.size()));
  for (Json& item : json) messages.push_back(TRY(read_one(item)));
  return messages;
}

std::string rpc_request(const Json& id, std::string_view method, Json params) {
  return with_params({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}}, std::move(params))
      .dump();
}

std::string rpc_notification(std::string_view method, Json params) {
  return with_params({{"jsonrpc", "2.0"}, {"method", method}}, std::move(params)).dump();
}

std::string rpc_result(const Json& id, Json result) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}.dump();
}

std::string rpc_error(const Json& id, RpcCode code, std::string_view message) {
  const Json error{{"code", static_cast<int>(code)}, {"message", message}};
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"error", error}}.dump();
}

}  // namespace ruv
