// Processes: other programs, started with pipes for what they read and write, under limits, and
// ended together with everything they have started.
//
// The thread that starts a process owns it: it calls turn() until the work is done, and all reading
// and writing happens there, so neither side can wait for the other for ever. Only wake() is for
// other threads. The system ends the process with its owner thread, also when this program is
// killed; what the process itself started is killed with its group, unless it made a group of its
// own.
//
// Starting copies the tables of this program's own memory for a moment (fork): about 1 ms for each
// GiB that is not mapped from files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

// Limits of each single process, inherited by what it starts. 0: that of this program.
struct ProcessLimits {
  uint64_t memory_bytes = 0;  // addresses
  uint64_t cpu_seconds = 0;
  uint64_t file_bytes = 0;  // of one file that it writes
};

struct ProcessOptions {
  // argv[0] is a path with a '/', or a name that is searched for in PATH of `environment`.
  std::vector<std::string> argv;
  // "NAME=value": all of its environment; nothing is inherited.
  std::vector<std::string> environment = {};
  // Where it runs; empty: where this program does.
  std::string folder = {};
  // Bytes that it can read from descriptors 3, 4, …; at most kMaxProcessFiles.
  std::vector<std::string> files = {};
  // User and group to become. Only a program that runs as root may set it.
  std::optional<uint32_t> user = {};
  ProcessLimits limits = {};
};

inline constexpr size_t kMaxProcessFiles = 8;
// Searched for programs where the environment has no PATH.
inline constexpr std::string_view kDefaultProgramPath = "/usr/local/bin:/usr/bin:/bin";

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;  // where no signal ended it
  int signal = 0;     // 0: it ended by itself
  bool ok() const { return signal == 0 && exit_code == 0; }
};
// "exit code 3", "signal 9 (Killed)".
std::string describe(const ProcessEnd& end);

// What happened while the owner waited.
struct ProcessTurn {
  size_t n_taken = 0;  // bytes of the input that the process has received
  std::string output;
  std::string errors;  // what it wrote to its standard error
  bool woken = false;  // wake() was called
};

class Process {
 public:
  // Fails: not_found and invalid (the program or the folder, by name), unsupported (no processes on
  // this system), out_of_memory, internal.
  static Result<Process> start(const ProcessOptions& options);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills it and its group, and waits for its end.
  ~Process();

  // Waits until the process takes some of `input`, writes something, closes its outputs or ends, or
  // wake() is called; at most timeout_ms (-1: no limit), and not at all once has_ended() and no
  // output is open. Fails: internal.
  Result<ProcessTurn> turn(std::string_view input, int64_t timeout_ms);
  // No more input will come. Bytes that were not taken are lost.
  void close_input();
  // Whether it still reads. Once false, turn() takes nothing.
  bool reads_input() const;
  // Whether output may still come, from it or from what it started.
  bool output_is_open() const;
  // How it ended; nothing while it runs. The answer changes in turn() only.
  std::optional<ProcessEnd> ended() const;

  // Memory that it and all it has started hold for themselves at this moment, in bytes: what is not
  // shared with files. 0 where the system does not say. Costs about 10 us for each process of the
  // machine.
  uint64_t memory_bytes() const;

  // Makes turn() return at once, now or at its next call. Any thread, while the object lives.
  void wake() const;
  // Asks it and its group to end (SIGTERM).
  void ask_to_end();
  // Kills it and its group; ended() follows after some turns.
  void kill();

 private:
  struct Impl;
  explicit Process(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The file that a program's name means: itself when it has a '/', else the first executable file of
// that name in the folders of `path`, which are separated by ':'. Fails: not_found, naming both.
Result<std::string> find_program(const std::string& name, std::string_view path);
// Whether this program may do anything on the system, as its administrator.
bool runs_as_root();

}  // namespace ruv
