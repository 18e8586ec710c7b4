#include "base/process.h"

#include <poll.h>
#include <signal.h>

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/posix/child_process.h"
#include "base/posix/process_memory.h"
#include "base/posix/system_error.h"

namespace ruv {
namespace {

constexpr size_t kReadBytes = 64 << 10;

// Bytes of `text` that the other end took; -1 with errno. A pipe whose reader is gone would send
// SIGPIPE, which ends most programs: it is held back and removed, unless it was pending already.
ssize_t write_quietly(int fd, std::string_view text) {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t n = ::write(fd, text.data(), text.size());
  const int error = errno;
  if (n < 0 && error == EPIPE && !was_pending) {
    const timespec now{};
    ::sigtimedwait(&pipe, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

// Appends what is there; closes the descriptor at its end.
void read_some(OwnedFd& fd, std::string& to) {
  const size_t before = to.size();
  to.resize(before + kReadBytes);
  const ssize_t n = ::read(fd.get(), to.data() + before, kReadBytes);
  const int error = errno;
  to.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
  if (n > 0 || (n < 0 && (error == EAGAIN || error == EINTR))) return;
  fd.reset();
}

}  // namespace

// The child is waited for in the destructor only: until then the system keeps its number, so that
// kill() reaches no other process.
struct Process::Impl {
  StartedChild child;
  OwnedFd handle;  // readable once the process has ended
  OwnedFd waker;
  std::optional<ProcessEnd> end;

  void give_input(std::string_view input, ProcessTurn& turn);
  void note_end();
};

void Process::Impl::give_input(std::string_view input, ProcessTurn& turn) {
  const ssize_t n = write_quietly(child.input.get(), input);
  if (n >= 0) {
    turn.n_taken = static_cast<size_t>(n);
  } else if (errno != EAGAIN && errno != EINTR) {
    child.input.reset();
  }
}

void Process::Impl::note_end() {
  siginfo_t info{};
  const auto id = static_cast<id_t>(child.pid);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  end = info.si_code == CLD_EXITED ? ProcessEnd{info.si_status, 0} : ProcessEnd{0, info.si_status};
}

Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::Process(Process&&) noexcept = default;

Process::~Process() {
  if (impl_ == nullptr) return;
  kill();
  while (::waitpid(impl_->child.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Process> Process::start(const ProcessOptions& options) {
  OwnedFd waker(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker.is_open()) return system_failure(options.argv[0], "start it");
  auto impl = std::make_unique<Impl>();
  impl->child = TRY(start_child(options));
  impl->waker = std::move(waker);
  Process process(std::move(impl));  // ends the child where what follows fails
  const StartedChild& child = process.impl_->child;
  process.impl_->handle = OwnedFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!process.impl_->handle.is_open()) return system_failure(options.argv[0], "watch it");
  return process;
}

Result<ProcessTurn> Process::turn(std::string_view input, int64_t timeout_ms) {
  Impl& my = *impl_;
  ProcessTurn turn;
  if (my.end && !output_is_open()) return turn;
  // poll() leaves out those below 0.
  std::array<pollfd, 5> watched{{{my.waker.get(), POLLIN, 0},
                                 {my.child.output.get(), POLLIN, 0},
                                 {my.child.errors.get(), POLLIN, 0},
                                 {my.end ? -1 : my.handle.get(), POLLIN, 0},
                                 {input.empty() ? -1 : my.child.input.get(), POLLOUT, 0}}};
  const int wait = timeout_ms < 0 ? -1 : static_cast<int>(std::min<int64_t>(timeout_ms, INT_MAX));
  if (::poll(watched.data(), watched.size(), wait) < 0) {
    if (errno == EINTR) return turn;
    return system_failure("a process", "wait for it");
  }
  if (watched[0].revents != 0) {
    uint64_t count = 0;
    turn.woken = ::read(my.waker.get(), &count, sizeof(count)) > 0;
  }
  if (watched[1].revents != 0) read_some(my.child.output, turn.output);
  if (watched[2].revents != 0) read_some(my.child.errors, turn.errors);
  if (watched[3].revents != 0) my.note_end();
  if (watched[4].revents != 0) my.give_input(input, turn);
  return turn;
}

void Process::close_input() { impl_->child.input.reset(); }
bool Process::reads_input() const { return impl_->child.input.is_open(); }

bool Process::output_is_open() const {
  return impl_->child.output.is_open() || impl_->child.errors.is_open();
}

std::optional<ProcessEnd> Process::ended() const { return impl_->end; }

uint64_t Process::memory_bytes() const { return memory_of_family(impl_->child.pid); }

void Process::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(impl_->waker.get(), &one, sizeof(one));
}

void Process::ask_to_end() { ::kill(-impl_->child.pid, SIGTERM); }
void Process::kill() { ::kill(-impl_->child.pid, SIGKILL); }

std::string describe(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  const char* name = ::sigdescr_np(end.signal);
  return fmt::format("signal {} ({})", end.signal, name != nullptr ? name : "unknown");
}

}  // namespace ruv
