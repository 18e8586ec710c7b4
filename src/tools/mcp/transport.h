// How messages get to an MCP server and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/cancellation.h"

namespace ruv {

// Hears what a server sends. Functions are called one at a time or at once, by threads of the
// transport and within send(); they must not close the transport.
class McpListener {
 public:
  virtual ~McpListener() = default;
  // The text is valid during the call.
  virtual void on_message(std::string_view message) = 0;
  // What the server sends of its own accord is heard from now on; before, some may have been
  // missed.
  virtual void on_hearing() = 0;
  // No more messages come. At most once, not after close().
  virtual void on_closed(const Status& reason) = 0;
};

// What sending waits for at most.
struct McpSendTerms {
  int64_t timeout_ms = 30'000;
  const Cancellation* cancellation = nullptr;
  // Asked where the message is a request: once true, nothing more is waited for. May be null.
  std::function<bool()> is_answered = {};
};

enum class McpSent {
  on_its_way,    // an answer may come at any time
  exchanged,     // an answer has come already, or none will
  session_lost,  // the server does not know the session, and has done nothing
};

// Thread safety: send() from any thread, the others from the owner's.
class McpTransport {
 public:
  virtual ~McpTransport() = default;

  // Called once, first. The listener must live until close() has returned. Fails: not_found,
  // invalid, unavailable, unsupported.
  virtual Status open(McpListener& listener) = 0;
  // `message` is JSON on one line. Fails: unavailable, deadline, cancelled, invalid, corrupt.
  virtual Result<McpSent> send(std::string_view message, const McpSendTerms& terms) = 0;
  // A session has begun in which the protocol has this revision.
  virtual void begin_session(std::string_view revision) = 0;
  // A lost session is given up; the next message sent is an initialize.
  virtual void forget_session() = 0;
  // Ends everything, and waits for threads; no function of the listener runs afterwards. Again: no
  // effect.
  virtual void close() = 0;
};

}  // namespace ruv
