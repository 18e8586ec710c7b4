// RpcCall: one call, from its message to its status. The server's routes answer it on the network
// thread, on which everything here runs unless something else is said; gRPC's own threads only read
// requests and write what was prepared, and messages are made on the translators' threads.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/thread.h"
#include "net/http/request_gate.h"
#include "net/http/workers.h"
#include "rpc/rpc_failure.h"

namespace google::protobuf {
class Message;
}

namespace ruv {

// A row for each method of the service.
struct RpcMethod {
  const char* path;                           // "/ruvllm.v1.Ruvllm/Generate"
  const char* route;                          // the endpoint that answers it
  const char* fixed;                          // members of every body of it
  bool is_stream;                             // the endpoint answers with server-sent events
  std::span<const std::string_view> refused;  // members that extra_json must not have
};

class RpcCall;

// The calls that have not ended. Any thread.
class RpcCalls {
 public:
  explicit RpcCalls(int64_t max_calls) : max_calls_(max_calls) {}
  // False: there are too many, or no more are taken.
  bool add(const std::shared_ptr<RpcCall>& call);
  // It has ended, or was not begun.
  void remove(const std::shared_ptr<RpcCall>& call);
  // No more are taken.
  void close();
  bool is_closed() const;
  // Those that there were.
  std::set<std::shared_ptr<RpcCall>> take_all();

 private:
  mutable Mutex mutex_;  // guards all below
  std::set<std::shared_ptr<RpcCall>> calls_;
  int64_t max_calls_;
  bool closed_ = false;
};

// What calls share.
struct RpcHost {
  // The way to the routes.
  RequestGate& gate;
  RpcCalls calls;
  Workers translators;
};

// gRPC's side of a call. Any thread, one at a time.
class RpcWire {
 public:
  virtual ~RpcWire() = default;
  // The answer, or the next one of a stream.
  virtual google::protobuf::Message& message() = 0;
  // Sends it; RpcCall::on_written is called then. Only of a stream.
  virtual void start_write() = 0;
  // Once, when nothing is being written.
  virtual void finish(const grpc::Status& status) = 0;
};

class RpcCall final : public std::enable_shared_from_this<RpcCall> {
 public:
  // Context and wire live until finish() was called.
  RpcCall(RpcHost& host, const RpcMethod& method, grpc::CallbackServerContext& context,
          RpcWire& wire);

  // On gRPC's threads.
  // Has the request answered, now or when the server runs.
  void start(const google::protobuf::Message& request);
  // What start_write began is done, or failed as the client is gone.
  void on_written(bool ok);
  // The client no longer waits, or its deadline has passed.
  void on_cancel();
  // When the server's run() has returned: a call that it did not begin ends.
  void abandon();

 private:
  // The call as the routes get it, or a refusal.
  RelayedCall relayed(const google::protobuf::Message& request);
  // On the network thread: passes it to the routes.
  void begin(RelayedCall call);
  // Takes what there is of the answer, until something must be waited for.
  void advance();
  // The metadata that comes before the first message.
  void begin_answer();
  // A piece of a stream.
  void take_events(std::string bytes);
  // A piece of an answer that becomes one message, or of an error.
  void collect(std::string bytes);
  // There is no more to take.
  void end_answer();
  // A step on a translator's thread has ended without anything to write.
  void after_step(std::optional<RpcFailure> failure);
  // Reports the request and ends the call.
  void finish(const RpcFailure& end);
  // Ends it without the routes. Any thread.
  void finish_early(grpc::StatusCode code, const char* message);

  // On a translator's thread, while busy_.
  void post_step(void (RpcCall::*step)());
  void write_next_event();
  // text_ is all of the answer.
  void read_answer();

  RpcHost& host_;
  const RpcMethod& method_;
  grpc::CallbackServerContext& context_;
  RpcWire& wire_;
  BudgetShare message_share_;  // for the request, which gRPC keeps until the end
  BudgetShare answer_share_;   // for text_ of an answer that is sent as a whole
  std::shared_ptr<RelayedRequest> request_;
  std::string text_;                   // of the answer, which has not been made into messages
  size_t text_at_ = 0;                 // where in it the next event begins
  std::optional<RpcFailure> failure_;  // that the stream told of
  bool has_begun_ = false;             // the answer has
  bool busy_ = false;                  // a translator has text_, or gRPC writes
  std::atomic<bool> finished_{false};
};

}  // namespace ruv
