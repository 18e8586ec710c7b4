// Other threads put messages into the outbox and wake the owner, which writes as much as the server
// takes and reads meanwhile: a server that writes before it reads cannot block both.
#include "tools/mcp/stdio_transport.h"

#include "base/clock.h"
#include "tools/cut_text.h"

namespace ruv {
namespace {

// Messages that a server has not read.
constexpr size_t kMaxOutbox = 64 << 20;
constexpr size_t kKeptErrors = 4096;
constexpr int64_t kPatienceMs = 2000;

// The last bytes of what was written to standard error, as part of a message.
std::string last_words(const std::string& errors) {
  const size_t end = errors.find_last_not_of(" \r\n");
  if (end == errors.npos) return {};
  return "; it wrote: " + cut_text(std::string_view(errors).substr(0, end + 1), kKeptErrors);
}

}  // namespace

Status StdioTransport::open(McpListener& listener) {
  listener_ = &listener;
  if (!start_thread(thread_, [this] { work(); }))
    return fail(Code::unsupported, "{}: no thread could be started for it", options_.argv[0]);
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return is_started_; });
  return ended_;
}

Result<McpSent> StdioTransport::send(std::string_view message, const McpSendTerms&) {
  const Lock lock(mutex_);
  if (!ended_.ok()) return tl::unexpected<Status>(ended_);
  if (outbox_.size() + message.size() >= kMaxOutbox)
    return fail(Code::unavailable, "{}: does not read its messages", options_.argv[0]);
  outbox_.append(message);
  outbox_ += '\n';
  if (process_ != nullptr) process_->wake();
  return McpSent::on_its_way;
}

void StdioTransport::close() {
  {
    const Lock lock(mutex_);
    is_closing_ = true;
    if (process_ != nullptr) process_->wake();
  }
  if (thread_.joinable()) thread_.join();
}

// The thread that starts the process is its owner.
void StdioTransport::work() {
  Result<Process> process = Process::start(options_);
  {
    const Lock lock(mutex_);
    is_started_ = true;
    if (process) {
      process_ = &*process;
    } else {
      ended_ = process.error();
    }
    changed_.notify_all();
  }
  if (!process) return;
  serve(*process);
  {
    const Lock lock(mutex_);
    process_ = nullptr;
  }
  finish(*process);
}

// Until the server ends or breaks the protocol, or close() is called.
void StdioTransport::serve(Process& process) {
  std::string outgoing;
  size_t at = 0;  // what is before it was taken
  while (true) {
    {
      const Lock lock(mutex_);
      if (is_closing_) return;
      if (at == outgoing.size()) {
        outgoing = std::exchange(outbox_, {});
        at = 0;
      }
    }
    const Result<ProcessTurn> turn = process.turn(std::string_view(outgoing).substr(at), -1);
    if (!turn) return end_with(turn.error());
    at += turn->n_taken;
    if (const Status status = take_output(*turn); !status.ok()) return end_with(status);
    if (process.ended() || !process.reads_input()) {
      const std::string how = process.ended() ? "ended with " + describe(*process.ended())
                                              : std::string("closed its input");
      return end_with({Code::unavailable, fmt::format("{}: the server {}{}", options_.argv[0], how,
                                                      last_words(errors_))});
    }
  }
}

// Standard error is kept for the message that says why a server has ended.
Status StdioTransport::take_output(const ProcessTurn& turn) {
  errors_ += turn.errors;
  if (errors_.size() > 2 * kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  return with_context(options_.argv[0], lines_.feed(turn.output, [this](std::string_view line) {
    listener_->on_message(line);
  }));
}

void StdioTransport::end_with(Status reason) {
  {
    const Lock lock(mutex_);
    ended_ = reason;
    if (is_closing_) return;
  }
  listener_->on_closed(reason);
}

// The way to end that the protocol asks for. What the server still says is not read.
void StdioTransport::finish(Process& process) {
  const SteadyClock clock;
  process.close_input();
  for (int step = 0; step < 2; ++step) {
    const int64_t deadline_ns = clock.now_ns() + kPatienceMs * 1'000'000;
    while (!process.ended()) {
      const int64_t left_ms = (deadline_ns - clock.now_ns()) / 1'000'000;
      if (left_ms <= 0 || !process.turn({}, left_ms)) break;
    }
    if (process.ended()) return;
    if (step == 0) process.ask_to_end();
  }
}

}  // namespace ruv
