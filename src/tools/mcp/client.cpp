// A request enters a table, is sent, and waits for one of four things: its answer, the end of the
// transport, its deadline, or a cancellation. Answers are matched by id in whatever thread they
// come.
#include "tools/mcp/client.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "tools/cut_text.h"
#include "tools/json_members.h"
#include "tools/mcp/protocol.h"

namespace ruv {
namespace {

// For messages that nothing waits for.
constexpr int64_t kNoteMs = 5000;
constexpr size_t kMaxLogBytes = 2000;

// What a server answers in place of a result, by the codes of JSON-RPC; its own codes have no
// meaning here.
Status status_of_rpc(const RpcError& error) {
  Code code = Code::unavailable;
  if (error.code == static_cast<int>(RpcCode::method_not_found)) code = Code::unsupported;
  if (error.code == static_cast<int>(RpcCode::invalid_params)) code = Code::invalid;
  return {code, fmt::format("the server says: {} ({})", cut_text(error.message, kMaxLogBytes),
                            error.code)};
}

}  // namespace

// A request that waits. Guarded by the client's mutex.
struct McpClient::PendingReply {
  uint64_t id = 0;
  bool is_done = false;
  bool is_lost = false;  // the session was
  Result<Json> result = Json();
};

struct McpClient::Reply {
  bool session_lost = false;
  Json result;
};

// Enters a request in the table while it waits.
class McpClient::PendingEntry {
 public:
  PendingEntry(McpClient& client, PendingReply& reply) : client_(client), reply_(reply) {
    const Lock lock(client_.mutex_);
    reply_.id = client_.next_id_++;
    if (client_.pending_.size() < kMaxPendingRequests) client_.pending_[reply_.id] = &reply_;
  }
  PendingEntry(const PendingEntry&) = delete;
  PendingEntry& operator=(const PendingEntry&) = delete;
  ~PendingEntry() {
    const Lock lock(client_.mutex_);
    client_.pending_.erase(reply_.id);
  }
  bool is_entered() const {
    const Lock lock(client_.mutex_);
    return client_.pending_.contains(reply_.id);
  }

 private:
  McpClient& client_;
  PendingReply& reply_;
};

Result<std::unique_ptr<McpClient>> McpClient::connect(std::unique_ptr<McpTransport> transport,
                                                      McpClientOptions options) {
  std::unique_ptr<McpClient> client(new McpClient(std::move(transport), std::move(options)));
  TRY(client->transport_->open(*client));
  TRY(client->begin_session());
  return client;
}

McpClient::~McpClient() { transport_->close(); }

Status McpClient::begin_session() {
  const Json params{{"protocolVersion", kMcpRevisions[0]},
                    {"capabilities", Json::object()},
                    {"clientInfo", {{"name", options_.name}, {"version", options_.version}}}};
  const Reply reply = TRY(request_once("initialize", params, {.timeout_ms = options_.timeout_ms}));
  if (reply.session_lost || !reply.result.is_object())
    return fail(Code::corrupt, "initialize: the server gave no object");
  const FieldResult<std::string> revision = required_text(reply.result, "protocolVersion");
  if (!revision) return fail(Code::corrupt, "initialize: {}", revision.error().message);
  if (!is_mcp_revision(*revision))
    return fail(Code::unsupported, "the server speaks revision '{}' of MCP; spoken here: {}",
                cut_text(*revision, 40), fmt::join(kMcpRevisions, ", "));
  const Json* capabilities = reply.result.find("capabilities");
  const Json& info = reply.result["serverInfo"];
  {
    const Lock lock(mutex_);
    revision_ = *revision;
    const Json* tools = capabilities != nullptr && capabilities->is_object()
                            ? find_field(*capabilities, "tools")
                            : nullptr;
    has_tools_ = tools != nullptr;
    has_changes_ = has_tools_ && tools->is_object() && (*tools)["listChanged"] == Json(true);
    if (info.is_object()) {
      server_ = optional_text(info, "name").value_or("") + " " +
                optional_text(info, "version").value_or("");
    }
  }
  transport_->begin_session(*revision);
  ++session_;
  TRY(transport_->send(rpc_notification("notifications/initialized"), {.timeout_ms = kNoteMs}));
  return {};
}

// One thread renews; those that lost the same session wait for it.
Status McpClient::renew_session(uint64_t lost) {
  const Lock lock(renewing_);
  if (session_.load() != lost) return {};
  transport_->forget_session();
  tools_changed_ = true;
  return begin_session();
}

Result<Json> McpClient::request(std::string_view method, const Json& params,
                                const ToolCallTerms& terms) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const uint64_t session = session_.load();
    Reply reply = TRY(request_once(method, params, terms));
    if (!reply.session_lost) return std::move(reply.result);
    TRY(renew_session(session));
  }
  return fail(Code::unavailable, "the server has lost a new session, too");
}

Result<McpClient::Reply> McpClient::request_once(std::string_view method, const Json& params,
                                                 const ToolCallTerms& terms) {
  PendingReply reply;
  const PendingEntry entry(*this, reply);
  if (!entry.is_entered())
    return fail(Code::unavailable, "{} requests wait for this server already", kMaxPendingRequests);
  const Status status = send_and_wait(reply, rpc_request(reply.id, method, params), terms);
  const bool gave_up = status.code() == Code::deadline || status.code() == Code::cancelled;
  if (gave_up && method != "initialize") tell_cancelled(reply.id, status);
  TRY(status);
  const Lock lock(mutex_);
  if (reply.is_lost) return Reply{.session_lost = true, .result = {}};
  return Reply{.session_lost = false, .result = TRY(std::move(reply.result))};
}

// The deadline holds for sending and waiting together.
Status McpClient::send_and_wait(PendingReply& reply, const std::string& message,
                                const ToolCallTerms& terms) {
  const SteadyClock clock;
  const int64_t deadline_ns = clock.now_ns() + terms.timeout_ms * 1'000'000;
  const auto is_done = [&] {
    const Lock lock(mutex_);
    return reply.is_done;
  };
  std::optional<Cancellation::Watch> watch;
  if (terms.cancellation != nullptr) {
    watch.emplace(*terms.cancellation, [this] {
      const Lock lock(mutex_);
      answered_.notify_all();
    });
  }
  const McpSent sent = TRY(transport_->send(message, {.timeout_ms = terms.timeout_ms,
                                                      .cancellation = terms.cancellation,
                                                      .is_answered = is_done}));
  Lock lock(mutex_);
  reply.is_lost = sent == McpSent::session_lost;
  if (reply.is_lost) return {};
  if (sent == McpSent::exchanged && !reply.is_done)
    return fail(Code::unavailable, "the server's answer ended without a response");
  while (!reply.is_done && closed_.ok() && !terms.is_cancelled()) {
    const int64_t left_ms = (deadline_ns - clock.now_ns()) / 1'000'000;
    if (left_ms <= 0)
      return fail(Code::deadline, "the server did not answer within {} ms", terms.timeout_ms);
    answered_.wait_for(lock, std::chrono::milliseconds(left_ms),
                       [&] { return reply.is_done || !closed_.ok() || terms.is_cancelled(); });
  }
  if (reply.is_done) return {};
  if (!closed_.ok()) return closed_;
  return fail(Code::cancelled, "the call was cancelled");
}

void McpClient::tell_cancelled(uint64_t id, const Status& reason) {
  const Json params{{"requestId", id}, {"reason", reason.message()}};
  // Where this fails, too, the server finds out when it answers.
  (void)transport_->send(rpc_notification("notifications/cancelled", params),
                         {.timeout_ms = kNoteMs});
}

Result<std::vector<McpToolPage::Listed>> McpClient::list_tools() {
  {
    const Lock lock(mutex_);
    if (!has_tools_) return std::vector<McpToolPage::Listed>();
  }
  tools_changed_ = false;  // before the first page, so that no later change is missed
  std::vector<McpToolPage::Listed> all;
  Json params = Json::object();
  // Pages may be empty, but not for ever.
  for (size_t n_pages = 0; n_pages <= kMaxToolsPerServer; ++n_pages) {
    McpToolPage page = TRY(
        read_tool_page(TRY(request("tools/list", params, {.timeout_ms = options_.timeout_ms}))));
    for (McpToolPage::Listed& tool : page.tools) all.push_back(std::move(tool));
    if (all.size() > kMaxToolsPerServer) break;
    if (!page.next_cursor) return all;
    params["cursor"] = *page.next_cursor;
  }
  return fail(Code::invalid, "tools/list: more than {} tools or pages", kMaxToolsPerServer);
}

Result<ToolReply> McpClient::call_tool(const std::string& name, const Json& arguments,
                                       const ToolCallTerms& terms) {
  const Json params{{"name", name}, {"arguments", arguments}};
  return read_call_result(TRY(request("tools/call", params, terms)));
}

Status McpClient::ping() {
  TRY(request("ping", Json(), {.timeout_ms = options_.timeout_ms}));
  return {};
}

std::string McpClient::server() const {
  const Lock lock(mutex_);
  return server_;
}

std::string McpClient::revision() const {
  const Lock lock(mutex_);
  return revision_;
}

// A server that writes other lines to its output, as some do at their start, still works.
void McpClient::on_message(std::string_view text) {
  Result<std::vector<RpcMessage>> messages = read_rpc(text);
  if (!messages) return log("ignored: " + messages.error().message());
  for (RpcMessage& message : *messages) {
    switch (message.kind) {
      case RpcMessage::Kind::response:
        take_response(message);
        break;
      case RpcMessage::Kind::request:
        answer_request(message);
        break;
      case RpcMessage::Kind::notification:
        take_notification(message);
        break;
    }
  }
}

void McpClient::on_hearing() {
  const Lock lock(mutex_);
  if (has_changes_) tools_changed_ = true;
}

void McpClient::on_closed(const Status& reason) {
  const Lock lock(mutex_);
  closed_ = reason;
  answered_.notify_all();
}

// Answers that nothing waits for are those of cancelled requests.
void McpClient::take_response(RpcMessage& message) {
  if (!message.id.is_number_unsigned()) {
    if (message.error) log(status_of_rpc(*message.error).message());
    return;
  }
  const Lock lock(mutex_);
  const auto found = pending_.find(message.id.get<uint64_t>());
  if (found == pending_.end() || found->second->is_done) return;
  PendingReply& reply = *found->second;
  reply.is_done = true;
  if (message.error) {
    reply.result = tl::unexpected<Status>(status_of_rpc(*message.error));
  } else {
    reply.result = std::move(message.result);
  }
  answered_.notify_all();
}

// Servers may only ask what was offered, which is nothing; a ping is always allowed.
void McpClient::answer_request(const RpcMessage& message) {
  const std::string answer =
      message.method == "ping"
          ? rpc_result(message.id, Json::object())
          : rpc_error(message.id, RpcCode::method_not_found,
                      fmt::format("this client does not offer '{}'", message.method));
  const Result<McpSent> sent = transport_->send(answer, {.timeout_ms = kNoteMs});
  if (!sent) log(sent.error().message());
}

// Progress and other notes need no action.
void McpClient::take_notification(const RpcMessage& message) {
  if (message.method == "notifications/tools/list_changed") tools_changed_ = true;
  if (message.method != "notifications/message") return;
  const Json& data = message.params["data"];
  const std::string text = data.is_string() ? data.get<std::string>() : data.dump();
  log(optional_text(message.params, "level").value_or("log") + ": " + text);
}

void McpClient::log(std::string_view text) const {
  if (options_.on_log) options_.on_log(cut_text(text, kMaxLogBytes));
}

}  // namespace ruv
