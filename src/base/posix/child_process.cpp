// Between fork and exec the child may only make system calls: other threads held locks when it was
// copied. So everything that needs memory is prepared before, and a failure is sent to the parent
// through a pipe that the system closes when the program starts.
#include "base/posix/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/check.h"
#include "base/posix/system_error.h"

namespace ruv {
namespace {

// Descriptors that are to become 0, 1, 2, 3, … of the child are first moved above these numbers, so
// that none is overwritten before it is moved.
constexpr int kAboveAll = 3 + static_cast<int>(kMaxProcessFiles);

// The step of the child that failed.
enum class ChildStep : int { descriptors, folder, user, limits, program };

struct ChildFailure {
  ChildStep step;
  int error;
};

// What the child needs after fork, made before.
struct ChildPlan {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<OwnedFd> descriptors;  // to become 0, 1, 2, …
  OwnedFd report;
  pid_t parent = 0;
};

tl::unexpected<Status> no_pipe() { return system_failure("a pipe to a new process", "make it"); }

// Moved above the numbers that the child assigns.
Result<OwnedFd> raised(OwnedFd fd) {
  OwnedFd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kAboveAll));
  if (!high.is_open()) return no_pipe();
  return high;
}

struct PipeEnds {
  OwnedFd read;
  OwnedFd write;
};

Result<PipeEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_pipe();
  PipeEnds pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
  return PipeEnds{TRY(raised(std::move(pipe.read))), TRY(raised(std::move(pipe.write)))};
}

// A file without a name that holds the bytes, to be read from its beginning.
Result<OwnedFd> file_of(const std::string& bytes) {
  OwnedFd fd(::memfd_create("ruv", MFD_CLOEXEC));
  if (!fd.is_open()) return no_pipe();
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n =
        ::pwrite(fd.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return no_pipe();
    at += static_cast<size_t>(n);
  }
  return raised(std::move(fd));
}

std::string_view path_of(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kDefaultProgramPath;
}

// Null-terminated, as exec wants it. The strings must stay where they are.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Beyond `value` the system says so, beyond `value` and `grace` it kills.
bool limit(int resource, uint64_t value, uint64_t grace = 0) {
  if (value == 0) return true;
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return false;
  const auto lower = [&](uint64_t wanted) { return std::min<rlim_t>(now.rlim_max, wanted); };
  const rlimit wanted{lower(value), lower(value + grace)};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &wanted) == 0;
}

// No memory image is written when a child crashes.
bool set_limits(const ProcessLimits& limits) {
  const rlimit none{0, 0};
  return ::setrlimit(RLIMIT_CORE, &none) == 0 && limit(RLIMIT_AS, limits.memory_bytes) &&
         limit(RLIMIT_CPU, limits.cpu_seconds, 1) && limit(RLIMIT_FSIZE, limits.file_bytes);
}

bool become_user(uint32_t user) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
         ::setresuid(user, user, user) == 0;
}

// Descriptors from `first` on close when the program starts.
void close_later(unsigned first) {
  constexpr unsigned kCloseOnExec = 1U << 2;
  if (::syscall(SYS_close_range, first, ~0U, kCloseOnExec) == 0) return;
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return;
  const auto end = static_cast<int>(std::min<rlim_t>(most.rlim_cur, 65536));
  for (int fd = static_cast<int>(first); fd < end; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// A signal that this program ignores would stay ignored.
void reset_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &plain, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Where and as what the program runs; the step that failed, or nothing.
std::optional<ChildStep> prepare(const ProcessOptions& options, const ChildPlan& plan) {
  for (size_t i = 0; i < plan.descriptors.size(); ++i) {
    if (::dup2(plan.descriptors[i].get(), static_cast<int>(i)) < 0) return ChildStep::descriptors;
  }
  close_later(static_cast<unsigned>(plan.descriptors.size()));
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) return ChildStep::folder;
  if (options.user && !become_user(*options.user)) return ChildStep::user;
  if (!set_limits(options.limits)) return ChildStep::limits;
  return std::nullopt;
}

// The child's own code. A change of user clears the request to be ended with the parent, so that
// comes last.
[[noreturn]] void run_child(const ProcessOptions& options, const ChildPlan& plan) {
  ::setsid();
  reset_signals();
  ChildFailure failure{ChildStep::program, 0};
  if (const std::optional<ChildStep> step = prepare(options, plan)) {
    failure = {*step, errno};
  } else {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // it ended before that
    ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
    failure.error = errno;
  }
  [[maybe_unused]] const ssize_t n = ::write(plan.report.get(), &failure, sizeof(failure));
  ::_exit(127);
}

// All signals wait while the child is made, so that none of this program's handlers runs in it.
pid_t fork_child(const ProcessOptions& options, const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(options, plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

tl::unexpected<Status> failure_of(const ChildFailure& failure, const ProcessOptions& options,
                                  const std::string& program) {
  errno = failure.error;
  switch (failure.step) {
    case ChildStep::folder:
      return system_failure(options.folder, "run a program in this folder");
    case ChildStep::user:
      return system_failure(program, "run it as another user");
    case ChildStep::limits:
      return system_failure(program, "limit what it uses");
    case ChildStep::descriptors:
      return system_failure(program, "connect its input and output");
    case ChildStep::program:
      break;
  }
  return system_failure(program, "start it");
}

// Waits for the child's report: nothing, when its program runs.
Status await_start(pid_t pid, int report, const ProcessOptions& options,
                   const std::string& program) {
  ChildFailure failure{};
  ssize_t n = 0;
  do {
    n = ::read(report, &failure, sizeof(failure));
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof(failure))) return {};
  ::waitpid(pid, nullptr, 0);
  return failure_of(failure, options, program);
}

bool never_wait(const OwnedFd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

Result<StartedChild> start_child(const ProcessOptions& options) {
  CHECK(!options.argv.empty() && options.files.size() <= kMaxProcessFiles);
  ChildPlan plan;
  plan.program = TRY(find_program(options.argv[0], path_of(options.environment)));
  plan.argv = pointers_to(options.argv);
  plan.environment = pointers_to(options.environment);
  plan.parent = ::getpid();
  PipeEnds input = TRY(make_pipe());
  PipeEnds output = TRY(make_pipe());
  PipeEnds errors = TRY(make_pipe());
  PipeEnds report = TRY(make_pipe());
  plan.descriptors.push_back(std::move(input.read));
  plan.descriptors.push_back(std::move(output.write));
  plan.descriptors.push_back(std::move(errors.write));
  for (const std::string& bytes : options.files) plan.descriptors.push_back(TRY(file_of(bytes)));
  plan.report = std::move(report.write);

  StartedChild child{-1, std::move(input.write), std::move(output.read), std::move(errors.read)};
  if (!never_wait(child.input) || !never_wait(child.output) || !never_wait(child.errors))
    return no_pipe();
  child.pid = fork_child(options, plan);
  if (child.pid < 0) return system_failure(plan.program, "start it");
  plan.report.reset();
  TRY(await_start(child.pid, report.read.get(), options, plan.program));
  return child;
}

Result<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.find('/') != name.npos) return name;
  for (std::string_view left = path; !name.empty();) {
    const size_t end = std::min(left.find(':'), left.size());
    std::string file(left.substr(0, end));
    if (file.empty()) file = ".";
    file += "/" + name;
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(file.c_str(), X_OK) == 0)
      return file;
    if (end == left.size()) break;
    left.remove_prefix(end + 1);
  }
  return fail(Code::not_found, "there is no program '{}' in {}", name, path);
}

bool runs_as_root() { return ::geteuid() == 0; }

}  // namespace ruv
