// RelayedReply: the Reply of a request that came by another transport than HTTP/1.1. It keeps the
// answer without framing until the transport takes it, within the limits for slow clients. Used on
// the network thread, except post().
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <stop_token>
#include <string>

#include "net/http/budget.h"
#include "net/http/reply.h"
#include "net/http/server.h"

namespace ruv {

// Why an answer ended before its end.
enum class RelayCut {
  none,
  client,    // it is gone, or no longer wants the answer
  slow,      // it took nothing for write_timeout
  stopping,  // the server stops
  failed,    // what was to be sent could not be made
};

class RelayedReply final : public Reply, public std::enable_shared_from_this<RelayedReply> {
 public:
  // `on_ready` is called later and not inside of another function when there is something to take
  // or the answer has ended.
  RelayedReply(boost::asio::io_context& io, const ServerOptions& options, ServerBudget& budget,
               std::function<void()> on_ready)
      : io_(io),
        patience_(io),
        options_(options),
        waiting_(budget, BudgetUse::answers),
        on_ready_(std::move(on_ready)) {}

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

  // For the transport.

  // What begins detached work; there is none before.
  void set_host(std::weak_ptr<DetachHost> host) { host_ = std::move(host); }
  // Status and headers, without the body; nothing until the answer has begun.
  const std::optional<HttpResponse>& head() const { return head_; }
  // The next bytes of the body, as they were written; empty when there are none yet. They count as
  // waiting until mark_taken(), which must come within write_timeout.
  std::string take();
  void mark_taken();
  // The answer is complete and all of it was taken.
  bool at_end() const { return ended_ && queued_.empty(); }
  bool ended() const { return ended_; }
  void disconnect(RelayCut why);
  RelayCut cut() const { return cut_; }
  // Stopped by disconnect().
  std::stop_token stop_token() const { return stop_.get_token(); }
  // on_ready is not called from now on.
  void forget_transport() { on_ready_ = nullptr; }

 private:
  // False, and nothing is queued, when the budget has no room.
  bool queue(std::string bytes);
  bool make_room(uint64_t n_bytes);
  // Asks next_piece_ for a piece when nothing else is queued.
  void queue_piece();
  void note_ready();
  void end();

  boost::asio::io_context& io_;
  boost::asio::steady_timer patience_;  // runs while the transport has bytes that it took
  const ServerOptions& options_;
  BudgetShare waiting_;  // for bytes queued or taken beyond kOwnAnswerBytes
  std::function<void()> on_ready_;
  std::optional<HttpResponse> head_;
  std::deque<std::string> queued_;
  uint64_t n_queued_bytes_ = 0;  // queued or taken
  uint64_t n_taken_bytes_ = 0;
  std::function<std::string()> next_piece_;
  uint64_t n_held_bytes_ = 0;  // by next_piece_ or the route
  std::function<void()> on_disconnect_;
  std::weak_ptr<DetachHost> host_;
  std::stop_source stop_;
  RelayCut cut_ = RelayCut::none;
  bool ended_ = false;
  bool notes_ready_ = false;  // a call of on_ready_ is under way
};

}  // namespace ruv
