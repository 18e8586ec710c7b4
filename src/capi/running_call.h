// RunningCall: a request of the C interface, from its arguments to the parts of its answer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "capi/call_error.h"
#include "capi/local_model.h"

namespace ruv {

class RunningCall {
 public:
  // Reads and checks the request on this thread. What is wrong with it comes from next().
  RunningCall(std::shared_ptr<LocalModel> model, const char* method, const char* path,
              std::string body, bool as_vectors = false);
  // Cancels what has not ended.
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // RUVLLM_OK: data() is the next part. RUVLLM_PENDING, RUVLLM_END, or the answer's error, also for
  // later calls. One thread.
  CallResult<ruvllm_status> next(LocalReply::Deadline deadline);
  // Valid until the next call of next().
  const std::string& data() const { return data_; }
  // Any thread.
  void cancel() { reply_->cancel(); }
  // Once it has ended; nothing: it gives no vectors, or they were taken.
  std::optional<VectorResult> take_vectors();

 private:
  // next() of a call that neither has ended nor failed.
  CallResult<ruvllm_status> advance(LocalReply::Deadline deadline);
  // The next event of what has come. False: none is complete.
  CallResult<bool> next_event();
  // All was received: the answer that is not a stream, or its error.
  CallResult<ruvllm_status> end();

  std::shared_ptr<LocalModel> model_;  // outlives the reply
  std::shared_ptr<LocalReply> reply_;
  std::string received_;  // of a stream, what is not an event yet; else all of the answer
  size_t received_at_ = 0;
  // What data() shows.
  std::string data_;
  bool over_ = false;
  std::optional<CallError> failure_;
};

}  // namespace ruv

// The handle is the call itself.
struct ruvllm_call {
  ruv::RunningCall inner;
};
