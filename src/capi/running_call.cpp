#include "capi/running_call.h"

#include <utility>

namespace ruv {
namespace {

constexpr std::string_view kEventMark = "data: ";
constexpr std::string_view kEventEnd = "\n\n";

}  // namespace

RunningCall::RunningCall(std::shared_ptr<LocalModel> model, const char* method, const char* path,
                         std::string body, bool as_vectors)
    : model_(std::move(model)),
      reply_(model_->service().begin(method, path, std::move(body), as_vectors)) {}

// What is still to come is dropped; the engine ends the request within a step.
RunningCall::~RunningCall() { reply_->cancel(); }

// The first failure is the last.
CallResult<ruvllm_status> RunningCall::next(LocalReply::Deadline deadline) {
  if (failure_) return tl::unexpected(*failure_);
  if (over_) return RUVLLM_END;
  CallResult<ruvllm_status> done = advance(deadline);
  if (!done) failure_ = done.error();
  return done;
}

// An answer that is not streamed may come in many pieces. Once a call is cancelled, events that had
// come before are dropped.
CallResult<ruvllm_status> RunningCall::advance(LocalReply::Deadline deadline) {
  while (true) {
    const bool is_cut = reply_->stop_token().stop_requested();
    if (!is_cut && reply_->is_stream() && TRY(next_event())) return RUVLLM_OK;
    switch (reply_->wait(deadline)) {
      case LocalReply::State::waiting:
        return RUVLLM_PENDING;
      case LocalReply::State::piece:
        received_ += reply_->take();
        break;
      case LocalReply::State::ended:
        return end();
      case LocalReply::State::cancelled:
        return tl::unexpected<CallError>(Status(Code::cancelled, "the call was cancelled"));
      case LocalReply::State::failed:
        return tl::unexpected<CallError>(
            Status(Code::out_of_memory, "no memory is left for the answer"));
    }
  }
}

// Only a failure is written as an event that begins with an error.
CallResult<bool> RunningCall::next_event() {
  while (true) {
    const size_t end = received_.find(kEventEnd, received_at_);
    if (end == received_.npos) {
      received_.erase(0, std::exchange(received_at_, 0));
      return false;
    }
    std::string_view event = std::string_view(received_).substr(received_at_, end - received_at_);
    received_at_ = end + kEventEnd.size();
    if (!event.starts_with(kEventMark)) continue;
    event.remove_prefix(kEventMark.size());
    if (event == "[DONE]") continue;
    if (event.starts_with(R"({"error":)")) return tl::unexpected(sent_error(500, event));
    data_ = event;
    return true;
  }
}

// A stream has said everything in its events.
CallResult<ruvllm_status> RunningCall::end() {
  over_ = true;
  if (reply_->is_stream() || reply_->vectors()) return RUVLLM_END;
  if (reply_->status() >= 300) {
    return tl::unexpected(sent_error(reply_->status(), received_));
  }
  data_ = std::move(received_);
  return RUVLLM_OK;
}

std::optional<VectorResult> RunningCall::take_vectors() {
  if (!over_) return std::nullopt;
  return std::exchange(reply_->vectors(), std::nullopt);
}

}  // namespace ruv
