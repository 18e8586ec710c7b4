// Arguments and results of awaited calls are named variables: see connection.cpp. Exceptions do not
// pass through nghttp2, which is C.
#include "net/http/http2_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>

namespace ruv {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kDone = asio::as_tuple(asio::use_awaitable);
constexpr size_t kFrameReadBytes = 16 << 10;
// Frames are put together in writes of about this size.
constexpr size_t kFrameWriteBytes = 32 << 10;
constexpr uint32_t kMaxStreams = 100;
// Bytes of bodies that a client may send ahead of what was read, for a stream and for all.
constexpr uint32_t kStreamWindow = 256 << 10;
constexpr int32_t kConnectionWindow = 1 << 20;
// Answers to the client's PING and SETTINGS that may wait.
constexpr size_t kMaxAcks = 128;
// Frames of a head after its first one.
constexpr int kMaxContinuations = 8;
// What a client's acts cost of its FloodGuard; a frame of an answer gives back what its
// acknowledgement may cost.
constexpr int64_t kFrameCost = 1;
constexpr int64_t kResetCost = 5;
constexpr int64_t kAnswerCredit = 3;

Http2Connection* self_of(void* user) { return static_cast<Http2Connection*>(user); }

std::string_view view_of(const uint8_t* bytes, size_t n) {
  return {reinterpret_cast<const char*>(bytes), n};
}

// The code of a GOAWAY for an error of nghttp2's.
uint32_t code_of(ssize_t error) {
  switch (error) {
    case NGHTTP2_ERR_FLOODED:
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
    case NGHTTP2_ERR_TOO_MANY_SETTINGS:
      return NGHTTP2_ENHANCE_YOUR_CALM;
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
      return NGHTTP2_PROTOCOL_ERROR;
    default:
      return NGHTTP2_INTERNAL_ERROR;
  }
}

template <class Call>
int caught(const Call& call) {
  try {
    return call();
  } catch (const std::exception&) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

nghttp2_option* make_options() {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) return nullptr;
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_outbound_ack(made, kMaxAcks);
  return made;
}

}  // namespace

// One for the whole process.
nghttp2_session_callbacks* Http2Connection::make_callbacks() {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) return nullptr;
  nghttp2_session_callbacks_set_on_begin_frame_callback(
      made, [](nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
        return caught([&] { return self_of(user)->on_begin_frame(*head); });
      });
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return caught([&] { return self_of(user)->on_begin_headers(*frame); });
      });
  nghttp2_session_callbacks_set_on_header_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t n_name,
               const uint8_t* value, size_t n_value, uint8_t, void* user) {
        return caught([&] {
          return self_of(user)->on_header(*frame, view_of(name, n_name), view_of(value, n_value));
        });
      });
  // Without this nghttp2 drops fields that are not valid, and the request is another one.
  nghttp2_session_callbacks_set_on_invalid_header_callback(
      made,
      [](nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t,
         uint8_t, void*) -> int { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return caught([&] { return self_of(user)->on_frame(*frame); });
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      made, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t n, void* user) {
        return caught([&] { return self_of(user)->on_data(id, view_of(bytes, n)); });
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return caught([&] { return self_of(user)->on_sent(*frame); });
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      made, [](nghttp2_session*, int32_t id, uint32_t, void* user) {
        return caught([&] { return self_of(user)->on_close(id); });
      });
  return made;
}

Http2Connection::Http2Connection(ServerState& server, ByteStream& bytes, Owner owner)
    : server_(server),
      bytes_(bytes),
      owner_(std::move(owner)),
      flood_(Clock::now()),
      writer_(server.io),
      write_watch_(server.io),
      read_watch_(server.io) {}

// False: memory is out.
bool Http2Connection::begin() {
  static nghttp2_session_callbacks* const callbacks = make_callbacks();
  static nghttp2_option* const options = make_options();
  nghttp2_session* session = nullptr;
  if (callbacks == nullptr || options == nullptr ||
      nghttp2_session_server_new2(&session, callbacks, this, options) != 0) {
    return false;
  }
  session_.reset(session);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, server_.options.max_header_bytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
         nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
             0;
}

asio::awaitable<bool> Http2Connection::run(std::string first) {
  using asio::experimental::awaitable_operators::operator||;
  if (!begin()) co_return false;
  if (server_.stopping) begin_stop();
  receive(first);
  co_await (read_frames() || write_frames());
  write_watch_.cancel();
  read_watch_.cancel();
  end_streams();
  co_return has_failed_ || is_stopping_;
}

asio::awaitable<void> Http2Connection::read_frames() {
  for (bool was_full = false;;) {
    if (was_full) co_await server_.bulk.next();
    const bool is_ready = co_await bytes_.wait_readable();
    if (!is_ready) co_return;
    const auto room = std::make_unique_for_overwrite<char[]>(kFrameReadBytes);
    const auto buffer = asio::buffer(room.get(), kFrameReadBytes);
    const size_t n = co_await bytes_.read_some(buffer);
    if (n == 0) co_return;
    was_full = n == kFrameReadBytes;
    receive({room.get(), n});
  }
}

void Http2Connection::receive(std::string_view bytes) {
  if (!has_failed_) {
    scan_.see(bytes);
    charge(scan_.take_unknown() * kFrameCost);
  }
  if (!has_failed_) {
    const auto n = nghttp2_session_mem_recv(
        session_.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (n < 0) fail(code_of(n));
  }
  watch();
  wake_writer();
}

void Http2Connection::fail(uint32_t code) {
  if (std::exchange(has_failed_, true)) return;
  nghttp2_session_terminate_session(session_.get(), code);
  wake_writer();
}

bool Http2Connection::charge(int64_t cost) {
  if (flood_.charge(cost, Clock::now())) return true;
  fail(NGHTTP2_ENHANCE_YOUR_CALM);
  return false;
}

std::string Http2Connection::produce() {
  std::string out;
  while (out.size() < kFrameWriteBytes) {
    const uint8_t* frame = nullptr;
    const auto n = nghttp2_session_mem_send(session_.get(), &frame);
    if (n < 0) fail(code_of(n));
    if (n <= 0) break;
    out.append(view_of(frame, static_cast<size_t>(n)));
  }
  watch();
  return out;
}

asio::awaitable<void> Http2Connection::write_frames() {
  for (bool is_over = false; !is_over;) {
    std::string out = produce();
    is_over = (out.empty() || has_failed_) && nghttp2_session_want_read(session_.get()) == 0 &&
              nghttp2_session_want_write(session_.get()) == 0;
    if (out.empty()) {
      // A session that failed has said why, or cannot.
      if (is_over || has_failed_) co_return;
      writer_.expires_at(Clock::time_point::max());
      co_await writer_.async_wait(kDone);
      continue;
    }
    const bool is_long = out.size() >= kFrameWriteBytes;
    const auto ending = std::exchange(ending_, {});
    const bool is_written = co_await write_all(std::move(out));
    if (!is_written) {
      for (const auto& stream : ending) stream->lose();
      co_return;
    }
    for (const auto& stream : ending) stream->note_sent();
    if (is_long) co_await server_.bulk.next();
  }
}

asio::awaitable<bool> Http2Connection::write_all(std::string bytes) {
  for (size_t at = 0; at < bytes.size();) {
    write_watch_.expires_after(server_.options.write_timeout);
    write_watch_.async_wait([abort = owner_.abort](const error_code& error) {
      if (!error) abort();
    });
    const std::string_view rest = std::string_view(bytes).substr(at);
    const size_t n = co_await bytes_.write_some(rest);
    if (n == 0) co_return false;
    at += n;
  }
  write_watch_.cancel();
  co_return true;
}

// A head and the preface have header_timeout, a client without requests idle_timeout; streams have
// limits of their own.
void Http2Connection::watch() {
  if (has_failed_) return;
  if (is_idle_ != streams_.empty()) {
    is_idle_ = streams_.empty();
    owner_.note_idle(is_idle_);
  }
  const Watched wanted = scan_.is_in_head() ? Watched::head
                         : streams_.empty() ? Watched::idle
                                            : Watched::nothing;
  const bool is_same =
      wanted == watched_ && (!scan_.is_in_head() || watched_head_ == scan_.n_heads());
  if (is_same) return;
  watched_ = wanted;
  watched_head_ = scan_.n_heads();
  read_watch_.cancel();
  if (wanted == Watched::nothing) return;
  const ServerOptions& options = server_.options;
  read_watch_.expires_after(wanted == Watched::head ? options.header_timeout
                                                    : options.idle_timeout);
  read_watch_.async_wait([weak = weak_from_this(), wanted](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    if (wanted == Watched::idle) return self->begin_stop();
    self->fail(NGHTTP2_ENHANCE_YOUR_CALM);
  });
}

void Http2Connection::begin_stop() {
  if (!session_ || std::exchange(is_stopping_, true)) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  wake_writer();
}

void Http2Connection::end_streams() {
  const auto streams = std::exchange(streams_, {});
  for (const auto& [id, stream] : streams) stream->lose();
  for (const auto& stream : std::exchange(ending_, {})) stream->lose();
}

Http2Stream* Http2Connection::find(int32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

// CONTINUATION frames are counted here too, which nghttp2 does from 1.61 on.
int Http2Connection::on_begin_frame(const nghttp2_frame_hd& head) {
  if (has_failed_) return NGHTTP2_ERR_CALLBACK_FAILURE;
  const bool continues = head.type == NGHTTP2_CONTINUATION;
  n_continuations_ = continues ? n_continuations_ + 1 : 0;
  if (n_continuations_ > kMaxContinuations) {
    fail(NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  const bool is_body =
      head.type == NGHTTP2_DATA && (head.length > 0 || (head.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  if (is_body || head.type == NGHTTP2_HEADERS) return 0;
  const int64_t cost = head.type == NGHTTP2_RST_STREAM ? kResetCost : kFrameCost;
  return charge(cost) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

// The server may have as many streams as connections: each may take the memory of a connection of
// HTTP/1.1. A stream that is refused may be asked for again.
int Http2Connection::on_begin_headers(const nghttp2_frame& frame) {
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  const int32_t id = frame.hd.stream_id;
  if (server_.n_streams >= server_.options.max_connections) {
    return nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  }
  // Answers take turns, whatever the client would have first.
  const nghttp2_extpri equal{.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
  nghttp2_session_change_extpri_stream_priority(session_.get(), id, &equal, 1);
  streams_[id] = std::make_shared<Http2Stream>(server_, *this, id);
  return 0;
}

int Http2Connection::on_header(const nghttp2_frame& frame, std::string_view name,
                               std::string_view value) {
  Http2Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->add_field(name, value)) return 0;
  fail(NGHTTP2_ENHANCE_YOUR_CALM);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// The frame is whole and valid.
int Http2Connection::on_frame(const nghttp2_frame& frame) {
  const uint8_t type = frame.hd.type;
  Http2Stream* const stream = find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  const bool is_end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    stream->end_head(is_end);
  } else if (is_end && (type == NGHTTP2_HEADERS || type == NGHTTP2_DATA)) {
    stream->end_body();
  }
  return 0;
}

// A body is counted in the server's budget and not by the window, which opens again at once.
int Http2Connection::on_data(int32_t id, std::string_view bytes) {
  if (Http2Stream* const stream = find(id)) stream->add_body(bytes);
  return nghttp2_session_consume(session_.get(), id, bytes.size());
}

int Http2Connection::on_sent(const nghttp2_frame& frame) {
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (is_answer) flood_.credit(kAnswerCredit);
  // A client that makes the server reset streams costs as much as one that resets them.
  const bool is_fault = frame.hd.type == NGHTTP2_RST_STREAM &&
                        (frame.rst_stream.error_code == NGHTTP2_PROTOCOL_ERROR ||
                         frame.rst_stream.error_code == NGHTTP2_STREAM_CLOSED ||
                         frame.rst_stream.error_code == NGHTTP2_FLOW_CONTROL_ERROR);
  if (is_fault) charge(kResetCost);
  if (!is_answer || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  const auto found = streams_.find(frame.hd.stream_id);
  if (found == streams_.end()) return 0;
  found->second->note_taken();
  ending_.push_back(found->second);
  return 0;
}

int Http2Connection::on_close(int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return 0;
  const auto stream = found->second;
  streams_.erase(found);
  stream->close();
  return 0;
}

ssize_t Http2Connection::read_answer(Http2Stream& stream, char* room, size_t n_room,
                                     uint32_t* flags) {
  ssize_t n = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  caught([&] {
    const auto taken = stream.take(room, n_room);
    if (taken.is_broken) return 0;
    if (taken.is_end) *flags |= NGHTTP2_DATA_FLAG_EOF;
    const bool waits = taken.n == 0 && !taken.is_end;
    n = waits ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(taken.n);
    return 0;
  });
  return n;
}

void Http2Connection::push(Http2Stream& stream) {
  nghttp2_session* const session = session_.get();
  if (const auto head = stream.take_head()) {
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : *head) {
      // nghttp2 copies both and changes neither.
      fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider body{};
    body.source.ptr = &stream;
    body.read_callback = [](nghttp2_session*, int32_t, uint8_t* room, size_t n_room,
                            uint32_t* flags, nghttp2_data_source* source, void*) {
      return read_answer(*static_cast<Http2Stream*>(source->ptr), reinterpret_cast<char*>(room),
                         n_room, flags);
    };
    const int result = nghttp2_submit_response(session, stream.id(), fields.data(), fields.size(),
                                               stream.is_bare() ? nullptr : &body);
    if (result != 0) reset(stream.id(), Reset::failed);
  } else {
    // Has no effect where the body has not waited, or no head was sent yet.
    nghttp2_session_resume_data(session, stream.id());
  }
  wake_writer();
}

void Http2Connection::go_on(int32_t id) {
  static constexpr std::string_view kName = ":status";
  static constexpr std::string_view kValue = "100";
  const nghttp2_nv status{reinterpret_cast<uint8_t*>(const_cast<char*>(kName.data())),
                          reinterpret_cast<uint8_t*>(const_cast<char*>(kValue.data())),
                          kName.size(), kValue.size(), NGHTTP2_NV_FLAG_NONE};
  nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, id, nullptr, &status, 1, nullptr);
  wake_writer();
}

void Http2Connection::reset(int32_t id, Reset reason) {
  const uint32_t code = reason == Reset::failed    ? NGHTTP2_INTERNAL_ERROR
                        : reason == Reset::gave_up ? NGHTTP2_CANCEL
                                                   : NGHTTP2_NO_ERROR;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, code);
  wake_writer();
}

}  // namespace ruv
