// Exchange: the Reply of one request. It queues the answer, as AnswerFrames frames it, for its
// connection to write, within the limits for slow clients. Used on the network thread, except
// post().
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <stop_token>
#include <string>

#include "net/http/answer_frames.h"
#include "net/http/budget.h"
#include "net/http/reply.h"
#include "net/http/server.h"

namespace ruv {

class Exchange final : public Reply, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, const ServerOptions& options, ServerBudget& budget,
           std::unique_ptr<AnswerFrames> frames)
      : io_(io),
        wake_(io),
        options_(options),
        waiting_(budget, BudgetUse::answers),
        frames_(std::move(frames)) {}

  void post(std::function<void()> work) override;
  void send(HttpResponse response) override;
  using Reply::begin_stream;
  void begin_stream(std::string_view content_type) override;
  bool write(std::string bytes) override;
  void write_last(std::string bytes) override;
  void send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) override;
  bool hold(uint64_t n_bytes) override;
  void on_disconnect(std::function<void()> action) override;
  std::unique_ptr<Detached> detach() override;

  // For the connection, on the network thread.

  // What begins detached work; there is none before.
  void set_host(std::weak_ptr<DetachHost> host) { host_ = std::move(host); }
  // The next bytes to write, produced now if the answer comes in pieces; empty when there are none
  // yet.
  std::string take_queued();
  // take_queued's bytes have been written.
  void mark_written();
  bool ended() const { return ended_; }
  // take_queued may have bytes.
  bool has_queued() const { return !queued_.empty() || next_piece_ != nullptr; }
  // The answer's; 0 until it has begun.
  int status() const { return status_; }
  // The client is gone, or counts as gone.
  void disconnect();
  bool disconnected() const { return disconnected_; }
  // Stopped by disconnect().
  std::stop_token stop_token() const { return stop_.get_token(); }
  // Cancelled when something is queued or the answer ends.
  boost::asio::steady_timer& wake() { return wake_; }
  // Nothing has been queued for a while: queues a comment where the answer is a stream of events.
  void beat();

 private:
  // One write, or several small ones.
  struct Block {
    std::string bytes = {};
    int64_t n_writes = 0;
    int64_t n_bytes = 0;
  };
  // Adds the headers that the notes ask for.
  void add_noted(HeaderLines& lines);
  // False, and nothing is queued, when the budget has no room.
  bool queue(std::string bytes);
  // False when the budget has no room for n_bytes more.
  bool make_room(int64_t n_bytes);
  // Asks next_piece_ for a piece when nothing else is queued.
  void queue_piece();
  // The answer is complete: no more bytes will be queued.
  void end();

  boost::asio::io_context& io_;
  boost::asio::steady_timer wake_;
  const ServerOptions& options_;
  BudgetShare waiting_;  // for bytes queued or in flight beyond kOwnAnswerBytes
  std::unique_ptr<AnswerFrames> frames_;
  std::deque<Block> queued_;
  int64_t n_waiting_ = 0;  // writes and bytes that are queued or in flight
  int64_t n_waiting_bytes_ = 0;
  Block in_flight_;  // taken by the connection and not written yet, without its bytes
  std::function<std::string()> next_piece_;
  uint64_t n_held_bytes_ = 0;  // by next_piece_ or the route
  std::function<void()> on_disconnect_;
  std::weak_ptr<DetachHost> host_;
  std::stop_source stop_;
  int status_ = 0;
  bool begun_ = false;
  bool is_events_ = false;  // the answer is a stream of server-sent events
  bool ended_ = false;
  bool disconnected_ = false;
};

}  // namespace ruv
