// LocalReply: the Reply of a request that comes from the same process. The thread that waits for
// the answer runs what routes post, so that it needs no thread of its own. It is woken for what is
// posted soon only where it has not been woken a moment ago: the processor's cores compute, and a
// model may make a token faster than a thread is woken and has read it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "net/http/reply.h"
#include "net/openai/vector_job.h"

namespace ruv {

// What stands for the server's network thread: all that is posted for the requests of one model
// runs while this is held.
using NetworkTurn = std::mutex;

class LocalReply final : public Reply {
 public:
  // What is posted soon is run at most this long after the work before, or at once.
  static constexpr std::chrono::milliseconds kMoment{2};

  // `turn` must outlive the reply.
  explicit LocalReply(NetworkTurn& turn) : turn_(turn) {}

  void post(std::function<void()> work) override;
  bool is_patient() const override { return true; }
  void post_soon(std::function<void()> work) override;
  void send(HttpResponse response) override;
  using Reply::begin_stream;
  void begin_stream(std::string_view content_type) override;
  bool write(std::string bytes) override;
  void write_last(std::string bytes) override;
  void send_pieces(uint64_t n_held_bytes, std::function<std::string()> next) override;
  bool hold(uint64_t) override { return true; }
  void on_disconnect(std::function<void()> action) override;
  std::unique_ptr<Detached> detach() override { return nullptr; }

  // Ends the answer with vectors instead of a body. Inside post().
  void send_vectors(VectorResult vectors);

  // For the caller. One thread waits and takes; any thread may cancel.

  enum class State {
    waiting,    // the time is over
    piece,      // take() has bytes
    ended,      // all of the answer was taken
    cancelled,  // by cancel()
    failed,     // no memory was left for what was to be sent
  };
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  // Works on the answer until there is something to say; no deadline: as long as that takes.
  State wait(Deadline deadline);
  // All bytes of the body that are there.
  std::string take();
  // Not inside post().
  void cancel();
  // Once the answer has begun.
  int status() const { return status_; }
  bool is_stream() const { return is_stream_; }
  std::optional<VectorResult>& vectors() { return vectors_; }
  std::stop_token stop_token() const { return stop_.get_token(); }

 private:
  using Works = std::vector<std::function<void()>>;
  // The works that wake the waiting thread.
  enum class Wakes : uint8_t { nothing, urgent, all };
  void push(std::function<void()> work, bool is_urgent);
  // All posted works; none in time: `is_late`.
  Works next_works(Deadline deadline, bool& is_late);
  // Waits for works of this kind or the end. False: neither came in time.
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Wakes wakes);
  void run(const std::function<void()>& work);
  // Holding turn_:
  void disconnect(State why);
  void make_piece();
  void end();

  // From now on posted work is dropped.
  void close();

  NetworkTurn& turn_;
  std::stop_source stop_;

  std::mutex mutex_;  // guards what follows; may be taken while turn_ is held
  std::condition_variable wake_;
  Works works_;
  bool has_urgent_ = false;  // one of the works was posted to be run at once
  Wakes wakes_ = Wakes::nothing;
  bool closed_ = false;      // nothing more is posted
  bool comes_fast_ = false;  // works came within a moment of those before
  // When works were last taken to be run.
  std::chrono::steady_clock::time_point taken_at_ = {};

  // Used while turn_ is held.
  std::deque<std::string> pieces_;
  std::function<std::string()> next_piece_;
  std::function<void()> on_disconnect_;
  std::optional<VectorResult> vectors_;
  int status_ = 0;
  bool is_stream_ = false;
  bool ended_ = false;
  State cut_ = State::waiting;  // `waiting`: not cut
};

}  // namespace ruv
