// Any bytes as an event stream and as JSON-RPC messages: pieces of any size give the same events,
// and what is read as a message is written so that it reads as the same again.
#include <cstdlib>

#include "tools/mcp/call_result.h"
#include "tools/mcp/json_rpc.h"
#include "tools/mcp/message_lines.h"
#include "tools/mcp/sse_parser.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

std::string written(const ruv::RpcMessage& message) {
  switch (message.kind) {
    case ruv::RpcMessage::Kind::request:
      return ruv::rpc_request(message.id, message.method, message.params);
    case ruv::RpcMessage::Kind::notification:
      return ruv::rpc_notification(message.method, message.params);
    case ruv::RpcMessage::Kind::response:
      break;
  }
  if (!message.error) return ruv::rpc_result(message.id, message.result);
  return ruv::rpc_error(message.id, static_cast<ruv::RpcCode>(message.error->code),
                        message.error->message);
}

void read_message(std::string_view text) {
  const auto messages = ruv::read_rpc(text);
  if (!messages) return;
  for (const ruv::RpcMessage& message : *messages) {
    const std::string once = written(message);
    const auto again = ruv::read_rpc(once);
    expect(again && again->size() == 1 && written(again->front()) == once);
    (void)ruv::read_call_result(message.result);
    (void)ruv::read_tool_page(message.result);
  }
}

std::string events_of(std::string_view text, size_t piece) {
  ruv::SseParser parser(4096);
  std::string seen;
  const auto note = [&](const ruv::SseEvent& event) {
    seen += event.type + "\n" + event.data + "\n\n";
    return ruv::Status();
  };
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!parser.feed(text.substr(at, piece), note).ok()) return seen + "refused";
  }
  return seen + parser.last_id();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{bytes[0]} + 1;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  expect(events_of(text, piece) == events_of(text, 1));
  read_message(text);
  ruv::MessageLines lines(4096);
  (void)lines.feed(text, read_message);
  ruv::SseParser parser(4096);
  (void)parser.feed(text, [](const ruv::SseEvent& event) {
    read_message(event.data);
    return ruv::Status();
  });
  return 0;
}
