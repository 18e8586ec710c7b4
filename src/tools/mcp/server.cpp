// The list of running calls belongs to the thread of receive(); a call's own thread touches its
// entry alone and marks it done at the end, after which the owner joins and removes it.
#include "tools/mcp/server.h"

#include <algorithm>
#include <charconv>

#include "tools/cut_text.h"
#include "tools/json_members.h"
#include "tools/mcp/protocol.h"

namespace ruv {
namespace {

constexpr size_t kMaxQuoted = 200;

// How a failure of a tool is reported. Wrong arguments are the client's to correct.
RpcCode rpc_code_of(Code code) {
  return code == Code::invalid || code == Code::corrupt ? RpcCode::invalid_params
                                                        : RpcCode::internal_error;
}

// Clients require that a schema says that it is one of objects.
Json input_schema(const ToolSpec& spec) {
  Json schema = spec.parameters;
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

Json call_result(const ToolReply& reply) {
  const Json part{{"type", "text"}, {"text", reply.text}};
  Json result{{"content", Json::array({part})}, {"isError", reply.is_error}};
  if (reply.structured.is_object()) result["structuredContent"] = reply.structured;
  return result;
}

// What a client wants progress to be marked with; null: it wants none.
Json progress_token(const Json& params) {
  const Json* meta = params.find("_meta");
  if (meta == nullptr || !meta->is_object()) return {};
  const Json& token = (*meta)["progressToken"];
  return token.is_string() || token.is_number_integer() ? token : Json();
}

}  // namespace

McpServer::~McpServer() {
  for (RunningCall& call : calls_) call.cancellation.cancel();
  finish();
}

void McpServer::finish() {
  for (RunningCall& call : calls_) {
    if (call.thread.joinable()) call.thread.join();
  }
  calls_.clear();
}

void McpServer::join_finished() {
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->is_done) {
      ++call;
      continue;
    }
    if (call->thread.joinable()) call->thread.join();
    call = calls_.erase(call);
  }
}

void McpServer::answer(std::string_view message) {
  const Lock lock(sending_);
  send_(message);
}

void McpServer::refuse(const Json& id, RpcCode code, std::string_view reason) {
  answer(rpc_error(id, code, reason));
}

void McpServer::receive(std::string_view text) {
  join_finished();
  const Result<Json> json = parse_json(text.substr(0, kMaxRpcBytes + 1), "message", {.depth = 64});
  if (!json) return refuse({}, RpcCode::parse_error, json.error().message());
  if (json->is_array())
    return refuse({}, RpcCode::invalid_request, "lists of messages are not taken");
  const Result<std::vector<RpcMessage>> messages = read_rpc(text);
  if (!messages) return refuse({}, RpcCode::invalid_request, messages.error().message());
  const RpcMessage& message = messages->front();
  if (message.kind == RpcMessage::Kind::request) take_request(message);
  if (message.kind == RpcMessage::Kind::notification) take_notification(message);
  // Responses: this server asks nothing.
}

void McpServer::take_request(const RpcMessage& message) {
  if (message.method == "ping") return answer(rpc_result(message.id, Json::object()));
  if (message.method == "initialize") return initialize(message);
  const bool is_list = message.method == "tools/list";
  if (!is_list && message.method != "tools/call") {
    return refuse(
        message.id, RpcCode::method_not_found,
        fmt::format("this server does not offer '{}'", cut_text(message.method, kMaxQuoted)));
  }
  if (!is_initialized_)
    return refuse(message.id, RpcCode::invalid_request, "the session begins with 'initialize'");
  if (is_list) {
    list_tools(message);
  } else {
    start_call(message);
  }
}

// A cancelled call gives no answer, as the protocol wants it.
void McpServer::take_notification(const RpcMessage& message) {
  if (message.method != "notifications/cancelled") return;
  const Json& id = message.params["requestId"];
  for (RunningCall& call : calls_) {
    if (call.id == id) call.cancellation.cancel();
  }
}

// A client that asks for a revision that is not spoken here gets the newest that is, and may leave.
void McpServer::initialize(const RpcMessage& message) {
  if (is_initialized_)
    return refuse(message.id, RpcCode::invalid_request, "the session has begun already");
  const FieldResult<std::string> wanted = required_text(message.params, "protocolVersion");
  if (!wanted) return refuse(message.id, RpcCode::invalid_params, wanted.error().message);
  is_initialized_ = true;
  Json result{
      {"protocolVersion", is_mcp_revision(*wanted) ? *wanted : std::string(kMcpRevisions[0])},
      {"capabilities", {{"tools", Json::object()}}},
      {"serverInfo", {{"name", options_.name}, {"version", options_.version}}}};
  if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
  answer(rpc_result(message.id, std::move(result)));
}

// A cursor is the number of tools that came before.
void McpServer::list_tools(const RpcMessage& message) {
  const std::vector<ToolRegistry::Entry> tools = registry_.tools();
  const FieldResult<std::string> cursor = optional_text(message.params, "cursor");
  if (!cursor) return refuse(message.id, RpcCode::invalid_params, cursor.error().message);
  size_t at = 0;
  if (!cursor->empty()) {
    const char* const end = cursor->data() + cursor->size();
    const auto read = std::from_chars(cursor->data(), end, at);
    if (read.ec != std::errc() || read.ptr != end || at > tools.size())
      return refuse(message.id, RpcCode::invalid_params, "'cursor' is none of this server's");
  }
  Json result{{"tools", Json::array()}};
  const size_t end = std::min(tools.size(), at + options_.page_size);
  for (; at < end; ++at) {
    const ToolSpec& spec = tools[at]->spec();
    result["tools"].push_back({{"name", spec.name},
                               {"description", spec.description},
                               {"inputSchema", input_schema(spec)}});
  }
  if (at < tools.size()) result["nextCursor"] = std::to_string(at);
  answer(rpc_result(message.id, std::move(result)));
}

// What can be refused without the tool is refused before a thread is started.
void McpServer::start_call(const RpcMessage& message) {
  const FieldResult<std::string> name = required_text(message.params, "name");
  if (!name) return refuse(message.id, RpcCode::invalid_params, name.error().message);
  const FieldResult<const Json*> arguments = optional_object(message.params, "arguments");
  if (!arguments) return refuse(message.id, RpcCode::invalid_params, arguments.error().message);
  ToolRegistry::Entry tool = registry_.find(*name);
  if (tool == nullptr) {
    return refuse(message.id, RpcCode::invalid_params,
                  fmt::format("there is no tool '{}'", cut_text(*name, kMaxQuoted)));
  }
  const auto has_id = [&](const RunningCall& call) { return call.id == message.id; };
  if (std::any_of(calls_.begin(), calls_.end(), has_id))
    return refuse(message.id, RpcCode::invalid_request, "a request with this id runs");
  if (calls_.size() >= options_.max_calls) {
    return refuse(message.id, RpcCode::internal_error,
                  fmt::format("{} calls run already; try again later", calls_.size()));
  }
  RunningCall& call = calls_.emplace_back();
  call.id = message.id;
  call.tool = std::move(tool);
  call.arguments = *arguments == nullptr ? "{}" : (*arguments)->dump();
  call.progress_token = progress_token(message.params);
  if (!start_thread(call.thread, [this, &call] { run_call(call); })) run_call(call);
}

// Reports of progress go out between other messages, always before the answer.
void McpServer::run_call(RunningCall& call) {
  ToolCallTerms terms{.cancellation = &call.cancellation, .timeout_ms = options_.call_timeout_ms};
  if (!call.progress_token.is_null()) {
    terms.on_progress = [&](const ToolProgress& progress) {
      Json params{{"progressToken", call.progress_token}, {"progress", progress.done}};
      if (progress.total) params["total"] = *progress.total;
      if (!progress.message.empty()) params["message"] = progress.message;
      answer(rpc_notification("notifications/progress", std::move(params)));
    };
  }
  const std::string message = answer_to(call, terms);
  if (!terms.is_cancelled()) answer(message);
  call.is_done = true;
}

// A tool that answers that something is wrong gives a result; one that cannot answer, an error.
std::string McpServer::answer_to(RunningCall& call, const ToolCallTerms& terms) const {
  const Result<Json> arguments = call.tool->read_arguments(call.arguments);
  if (!arguments) return rpc_error(call.id, RpcCode::invalid_params, arguments.error().message());
  const Result<ToolReply> reply = call.tool->tool().call(*arguments, terms);
  if (!reply) return rpc_error(call.id, rpc_code_of(reply.error().code()), reply.error().message());
  return rpc_result(call.id, call_result(*reply));
}

}  // namespace ruv
