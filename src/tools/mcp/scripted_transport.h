// For tests: a server that is a function from messages to messages.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/mcp/json_rpc.h"
#include "tools/mcp/transport.h"

namespace ruv {

class ScriptedTransport final : public McpTransport {
 public:
  // Gives the messages that the server sends after one of the client's.
  using Script = std::function<std::vector<std::string>(const RpcMessage&)>;
  explicit ScriptedTransport(Script script) : script_(std::move(script)) {}

  Status open(McpListener& listener) override {
    listener_ = &listener;
    return {};
  }
  Result<McpSent> send(std::string_view message, const McpSendTerms&) override {
    sent.emplace_back(message);
    if (lose_next && sent.back().find("initialize") == std::string::npos) {
      lose_next = false;
      return McpSent::session_lost;
    }
    for (const std::string& answer : script_(read_rpc(message)->front()))
      listener_->on_message(answer);
    return McpSent::on_its_way;
  }
  void begin_session(std::string_view revision) override { sessions.emplace_back(revision); }
  void forget_session() override {}
  void close() override { listener_ = nullptr; }

  // Something that the server sends of its own accord, or its end.
  void say(std::string_view message) { listener_->on_message(message); }
  void begin_hearing() { listener_->on_hearing(); }
  void end(const Status& reason) { listener_->on_closed(reason); }

  std::vector<std::string> sent;
  std::vector<std::string> sessions;
  bool lose_next = false;

 private:
  Script script_;
  McpListener* listener_ = nullptr;
};

}  // namespace ruv
