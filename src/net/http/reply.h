// Reply: the destination of a route's answer, at once or piece by piece, usable from the moment the
// route is called until long after it has returned. The server implements it over a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/http/detached.h"
#include "net/http/message.h"
#include "net/http/request_record.h"

namespace ruv {

class Reply {
 public:
  virtual ~Reply() = default;

  // Runs `work` later on the network thread, in the order of the calls. May be called from any
  // thread. An exception in `work` ends the answer as if its client had disconnected.
  virtual void post(std::function<void()> work) = 0;
  // Whether the reader takes what comes within a moment at once, rather than each piece by itself:
  // post_soon() is for what may wait for that. Constant. Any thread.
  virtual bool is_patient() const { return false; }
  // As post, but the work may be run a moment later, and is run at the latest with what is posted
  // next.
  virtual void post_soon(std::function<void()> work) { post(std::move(work)); }

  // All other functions may be called only on the network thread, that is inside `post`.

  // Sends the whole answer. Once, and not after begin_stream(). If too many bytes wait for other
  // clients, the client gets 503 instead.
  virtual void send(HttpResponse response) = 0;
  // Sends status 200 and the headers of a stream; write() and write_last() follow.
  virtual void begin_stream(std::string_view content_type) = 0;
  void begin_stream() { begin_stream("text/event-stream; charset=utf-8"); }
  // Queues bytes of the body. False when the client reads too slowly: the route should stop its
  // work, report that with write_last, and end.
  virtual bool write(std::string bytes) = 0;
  // As write, but never refused, and ends the answer.
  virtual void write_last(std::string bytes) = 0;
  // Sends the whole answer, a JSON body, in pieces: `next` returns the next one on the network
  // thread whenever the client has read the last, and an empty one at the end. It holds
  // n_held_bytes of memory meanwhile; if that is too much besides other answers, the client gets
  // 503 instead. Once, and not after begin_stream().
  virtual void send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) = 0;
  // Declares that the route now keeps n_bytes of an answer that it has not sent. False, with
  // nothing changed, if that is too much besides other answers: the route should send an error. Not
  // after send_pieces().
  virtual bool hold(uint64_t n_bytes) = 0;
  // `action` runs once when the client disconnects before the answer has ended; at once if it
  // already has.
  virtual void on_disconnect(std::function<void()> action) = 0;
  // Begins work that continues when this answer has ended. Null: its client is gone. Before the
  // answer ends.
  virtual std::unique_ptr<Detached> detach() = 0;
  // What is noted before the answer begins can be in its headers.
  RequestNotes& notes() { return notes_; }
  // Keeps what the answer is made with until the reply is destroyed. Once, and before the reply is
  // shared with other threads.
  void keep(std::shared_ptr<const void> used) { used_ = std::move(used); }
  const std::shared_ptr<const void>& kept() const { return used_; }

 private:
  RequestNotes notes_;
  std::shared_ptr<const void> used_;
};

// A whole answer from any thread.
inline void send_response(const std::shared_ptr<Reply>& reply, HttpResponse response) {
  reply->post(
      [reply, response = std::move(response)]() mutable { reply->send(std::move(response)); });
}

}  // namespace ruv
