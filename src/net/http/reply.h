// Reply: where a route sends its answer, at once or piece by piece, from the moment it is called
// until long after it has returned. The server implements it over a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/http/message.h"

namespace ruv {

class Reply {
 public:
  virtual ~Reply() = default;

  // Runs `work` later on the network thread, in the order of the calls. Any thread may call it.
  // What `work` throws ends the answer: its client is gone, as far as the route is told.
  virtual void post(std::function<void()> work) = 0;

  // All others: only on the network thread, so only inside `post`.

  // The whole answer. Once, and not after begin_stream(). Where too many bytes wait for other
  // clients, the client gets 503 instead.
  virtual void send(HttpResponse response) = 0;
  // Sends status 200 and the headers of an event stream; write() and write_last() follow.
  virtual void begin_stream() = 0;
  // Queues bytes of the body. False when the client reads too slowly for more: the route should
  // stop its work, say so with write_last, and end.
  virtual bool write(std::string bytes) = 0;
  // As write, whatever the queue holds, and ends the answer.
  virtual void write_last(std::string bytes) = 0;
  // The whole answer, a JSON body in pieces: `next` gives the next one whenever the client has read
  // the last, on the network thread, and an empty one at the end. It holds n_held_bytes of memory
  // meanwhile; where that is too much beside other answers, the client gets 503 instead. Once, and
  // not after begin_stream().
  virtual void send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) = 0;
  // From now on the route keeps n_bytes of an answer that it has not sent. False, and as it was,
  // when that is too much beside other answers: the route should send an error. Not after
  // send_pieces().
  virtual bool hold(uint64_t n_bytes) = 0;
  // `action` runs once when the client goes away before the answer has ended; at once when it is
  // gone already.
  virtual void on_disconnect(std::function<void()> action) = 0;
};

// A whole answer from any thread.
inline void send_response(const std::shared_ptr<Reply>& reply, HttpResponse response) {
  reply->post(
      [reply, response = std::move(response)]() mutable { reply->send(std::move(response)); });
}

}  // namespace ruv
