#include "rpc/rpc_call.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <exception>

#include "rpc/message_json.h"

namespace ruv {
namespace {

constexpr std::string_view kEventMark = "data: ";
constexpr std::string_view kEventEnd = "\n\n";
// What a JSON text takes as long as its message is being made, for each of its bytes.
constexpr uint64_t kAnswerBytesPerByte = 3;
// Bytes of the names that a trailer lists, and of each.
constexpr size_t kMaxNamesBytes = 1 << 10;
constexpr size_t kMaxNameBytes = 100;

std::string text_of(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// The budget has no room for the request.
HttpResponse overloaded() {
  return error_response({503, "server_error", "too many large requests at once", "", "overloaded"});
}

// Why an answer breaks off. A client that is gone sees none of it.
RpcFailure cut_failure(RelayCut cut) {
  switch (cut) {
    case RelayCut::client:
      return {.status = {grpc::StatusCode::CANCELLED, "the client no longer waits"}};
    case RelayCut::slow:
      return {.status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "the client reads too slowly"}};
    case RelayCut::stopping:
      return {.status = {grpc::StatusCode::UNAVAILABLE, "the server is stopping"}};
    default:
      return {.status = {grpc::StatusCode::UNAVAILABLE, "no memory left for this answer"}};
  }
}

// Names from the request, made safe for metadata.
std::string joined_names(const std::vector<std::string>& all) {
  std::string names;
  for (const std::string& name : all) {
    if (names.size() > kMaxNamesBytes) break;
    names += names.empty() ? "" : ", ";
    for (const char c : shortened(name, kMaxNameBytes)) names += c > ' ' && c < 0x7F ? c : '?';
  }
  return names;
}

}  // namespace

bool RpcCalls::add(const std::shared_ptr<RpcCall>& call) {
  const Lock lock(mutex_);
  if (closed_ || std::ssize(calls_) >= max_calls_) return false;
  calls_.insert(call);
  return true;
}

void RpcCalls::remove(const std::shared_ptr<RpcCall>& call) {
  const Lock lock(mutex_);
  calls_.erase(call);
}

void RpcCalls::close() {
  const Lock lock(mutex_);
  closed_ = true;
}

std::set<std::shared_ptr<RpcCall>> RpcCalls::take_all() {
  const Lock lock(mutex_);
  return std::exchange(calls_, {});
}

bool RpcCalls::is_closed() const {
  const Lock lock(mutex_);
  return closed_;
}

// Nothing is counted yet.
RpcCall::RpcCall(RpcHost& host, const RpcMethod& method, grpc::CallbackServerContext& context,
                 RpcWire& wire)
    : host_(host),
      method_(method),
      context_(context),
      wire_(wire),
      message_share_(host.gate.budget(), BudgetUse::bodies),
      answer_share_(host.gate.budget(), BudgetUse::answers) {}

void RpcCall::finish_early(grpc::StatusCode code, const char* message) {
  if (!finished_.exchange(true)) wire_.finish({code, message});
}

// The message is counted until the call has ended, the parsing of its JSON only here.
RelayedCall RpcCall::relayed(const google::protobuf::Message& request) {
  RelayedCall call{.route = method_.route, .path = method_.path};
  const auto& metadata = context_.client_metadata();
  for (const std::string& name : RequestGate::header_names()) {
    const auto found = metadata.find(name);
    if (found != metadata.end()) call.headers.emplace_back(name, text_of(found->second));
  }
  const grpc::string_ref authority = context_.ExperimentalGetAuthority();
  call.headers.emplace_back("host", text_of(authority));
  BudgetShare parsing(host_.gate.budget(), BudgetUse::parsing);
  if (!message_share_.resize(request.SpaceUsedLong()) ||
      !parsing.resize(request.ByteSizeLong() * kParseBytesPerBodyByte)) {
    call.refusal = overloaded();
    return call;
  }
  auto body = body_of(request, method_.fixed, method_.refused);
  if (body) {
    call.body = std::move(*body);
  } else {
    call.refusal = error_response(bad_request("", body.error().message()));
  }
  return call;
}

// The key is looked at before a refusal is shown.
void RpcCall::start(const google::protobuf::Message& request) {
  if (!host_.calls.add(shared_from_this())) {
    return host_.calls.is_closed()
               ? finish_early(grpc::StatusCode::UNAVAILABLE, "the server is stopping")
               : finish_early(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls at once");
  }
  try {
    auto call = std::make_shared<RelayedCall>(relayed(request));
    host_.gate.post([self = shared_from_this(), call] { self->begin(std::move(*call)); });
  } catch (const std::exception&) {
    host_.calls.remove(shared_from_this());
    finish_early(grpc::StatusCode::UNAVAILABLE, "no memory left for this request");
  }
}

// The events of one piece come one after the other.
void RpcCall::on_written(bool ok) {
  host_.gate.post([self = shared_from_this(), ok] {
    if (self->finished_) return;
    if (!ok) self->request_->reply().disconnect(RelayCut::client);
    if (ok && self->text_at_ < self->text_.size()) {
      return self->post_step(&RpcCall::write_next_event);
    }
    self->after_step(std::nullopt);
  });
}

void RpcCall::on_cancel() {
  host_.gate.post([self = shared_from_this()] {
    if (!self->finished_ && self->request_) self->request_->reply().disconnect(RelayCut::client);
  });
}

void RpcCall::abandon() { finish_early(grpc::StatusCode::UNAVAILABLE, "the server is stopping"); }

void RpcCall::begin(RelayedCall call) {
  if (finished_) return;
  request_ = host_.gate.begin(std::move(call), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->advance();
  });
}

// While gRPC writes, the end of the answer must wait; where that may take long it is cancelled.
void RpcCall::advance() {
  if (finished_) return;
  RelayedReply& reply = request_->reply();
  const RelayCut cut = reply.cut();
  if (busy_) {
    if (cut == RelayCut::slow || cut == RelayCut::stopping) context_.TryCancel();
    return;
  }
  if (cut != RelayCut::none) return finish(cut_failure(cut));
  if (!reply.head()) return;
  if (!std::exchange(has_begun_, true)) begin_answer();
  std::string bytes = reply.take();
  if (bytes.empty()) {
    if (reply.at_end()) return end_answer();
    return reply.cut() == RelayCut::none ? void() : finish(cut_failure(reply.cut()));
  }
  const bool is_events = method_.is_stream && reply.head()->status == 200;
  is_events ? take_events(std::move(bytes)) : collect(std::move(bytes));
}

void RpcCall::begin_answer() {
  context_.AddInitialMetadata("x-request-id", request_->id());
  const std::string names = joined_names(request_->reply().notes().ignored);
  if (!names.empty()) context_.AddInitialMetadata("x-ignored-fields", names);
}

// They are whole: routes write no parts of events.
void RpcCall::take_events(std::string bytes) {
  text_ = std::move(bytes);
  text_at_ = 0;
  busy_ = true;
  post_step(&RpcCall::write_next_event);
}

// One piece at a time, so that others take turns.
void RpcCall::collect(std::string bytes) {
  request_->reply().mark_taken();
  if (!answer_share_.resize((text_.size() + bytes.size()) * kAnswerBytesPerByte)) {
    return finish(failure_of(error_response(answers_overloaded())));
  }
  text_ += bytes;
  host_.gate.post([self = shared_from_this()] { self->advance(); });
}

// An error's body was collected whatever the method is.
void RpcCall::end_answer() {
  HttpResponse head = *request_->reply().head();
  if (head.status != 200) {
    head.body = std::move(text_);
    return finish(failure_of(head));
  }
  if (method_.is_stream) return finish(failure_.value_or(RpcFailure{}));
  busy_ = true;
  post_step(&RpcCall::read_answer);
}

// A step that runs out of memory ends the answer.
void RpcCall::post_step(void (RpcCall::*step)()) {
  host_.translators.post([self = shared_from_this(), step] {
    try {
      (self.get()->*step)();
    } catch (const std::exception&) {
      self->host_.gate.post([self] { self->after_step(cut_failure(RelayCut::failed)); });
    }
  });
}

// Events that say nothing are passed over.
void RpcCall::write_next_event() {
  std::optional<RpcFailure> failure;
  while (text_at_ < text_.size() && !failure) {
    const size_t end = std::min(text_.find(kEventEnd, text_at_), text_.size());
    std::string_view event = std::string_view(text_).substr(text_at_, end - text_at_);
    text_at_ = std::min(end + kEventEnd.size(), text_.size());
    if (!event.starts_with(kEventMark)) continue;
    event.remove_prefix(kEventMark.size());
    if (event == "[DONE]") continue;
    if (event.starts_with(R"({"error":)")) {
      failure = failure_of_event(event);
    } else if (const Status read = read_message(event, wire_.message()); !read.ok()) {
      failure = failure_of(error_response(api_error(read)));
    } else {
      return wire_.start_write();
    }
  }
  host_.gate.post([self = shared_from_this(), failure] { self->after_step(failure); });
}

// The message goes with the status.
void RpcCall::read_answer() {
  std::optional<RpcFailure> failure;
  if (const Status read = read_message(text_, wire_.message()); !read.ok()) {
    failure = failure_of(error_response(api_error(read)));
  }
  host_.gate.post([self = shared_from_this(), failure] {
    self->busy_ = false;
    if (!self->finished_) self->finish(failure.value_or(RpcFailure{}));
  });
}

// The first error is the call's.
void RpcCall::after_step(std::optional<RpcFailure> failure) {
  if (finished_) return;
  busy_ = false;
  text_at_ = 0;
  text_.clear();
  if (failure && !failure_) failure_ = std::move(failure);
  RelayedReply& reply = request_->reply();
  reply.mark_taken();
  if (failure_ && reply.cut() == RelayCut::none && !reply.ended()) return finish(*failure_);
  advance();
}

void RpcCall::finish(const RpcFailure& end) {
  const auto self = shared_from_this();
  host_.calls.remove(self);
  if (finished_.exchange(true)) return;
  if (!end.json.empty()) context_.AddTrailingMetadata("error-bin", end.json);
  if (!end.retry_after.empty()) context_.AddTrailingMetadata("retry-after", end.retry_after);
  wire_.finish(end.status);
  request_->end();
}

}  // namespace ruv
