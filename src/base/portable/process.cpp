// A system without processes, or where this library cannot start them yet.
#include "base/process.h"

namespace ruv {
namespace {

tl::unexpected<Status> no_processes(const std::string& name) {
  return fail(Code::unsupported, "{}: this build starts no programs on this system", name);
}

}  // namespace

// No object of the class is ever made here.
struct Process::Impl {};

Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::Process(Process&&) noexcept = default;
Process::~Process() = default;

Result<Process> Process::start(const ProcessOptions& options) {
  return no_processes(options.argv.empty() ? "" : options.argv[0]);
}
Result<ProcessTurn> Process::turn(std::string_view, int64_t) { return no_processes(""); }
void Process::close_input() {}
bool Process::reads_input() const { return false; }
bool Process::output_is_open() const { return false; }
std::optional<ProcessEnd> Process::ended() const { return std::nullopt; }
uint64_t Process::memory_bytes() const { return 0; }
void Process::wake() const {}
void Process::ask_to_end() {}
void Process::kill() {}

Result<std::string> find_program(const std::string& name, std::string_view) {
  return no_processes(name);
}
bool runs_as_root() { return false; }
std::string describe(const ProcessEnd& end) { return fmt::format("exit code {}", end.exit_code); }

}  // namespace ruv
