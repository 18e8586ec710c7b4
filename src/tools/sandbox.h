// Sandbox: programs run so that they see and change only what they are given.
//
// bubblewrap (`bwrap`) puts the program into namespaces of its own: a root that holds the system's
// programs and libraries, read-only, an empty /tmp in memory, no home folders, no other processes,
// no network. A filter of system calls closes what could lead out (syscall_filter.h), and `prlimit`
// bounds how many processes there are. When this program runs as root, the sandboxed one runs as
// user and group 65534, for which the system's limits hold.
//
// What it does not bound: the processor's time of all processes together, and what is written to
// folders given to it, which are as large as their disk.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"

namespace ruv {

// What a sandboxed program has besides the system's own folders.
struct SandboxRules {
  // Absolute paths that must exist, at the same places inside.
  std::vector<std::string> read_only = {};
  std::vector<std::string> writable = {};
  bool network = false;  // that of the machine
  std::string folder = "/tmp";
  int64_t max_processes = 64;
  int64_t tmp_bytes = int64_t{64} << 20;  // of /tmp and of /dev/shm, which are memory
};

// Immutable; any number of threads may share one.
class Sandbox {
 public:
  // Looks for what is needed and runs a program in it once. Fails: unsupported, naming what is
  // missing: bwrap, prlimit, namespaces for this user, this system or processor.
  static Result<Sandbox> open();

  // How to start the program inside. options.files must be empty and options.folder is not used.
  // A path that does not exist is reported by bwrap itself, on standard error with exit code 1.
  ProcessOptions wrap(const SandboxRules& rules, ProcessOptions options) const;

 private:
  Sandbox(std::string bwrap, std::string prlimit, std::string filter)
      : bwrap_(std::move(bwrap)), prlimit_(std::move(prlimit)), filter_(std::move(filter)) {}
  Status try_out() const;

  std::string bwrap_;
  std::string prlimit_;
  std::string filter_;
};

}  // namespace ruv
