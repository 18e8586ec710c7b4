#include "eval/checked_program.h"

#include "base/entropy.h"

namespace ruv {
namespace {

constexpr uint64_t kMemoryBytes = uint64_t{1} << 30;
constexpr uint64_t kFileBytes = uint64_t{1} << 20;

// Reads a word that the program is not given, runs the program in a namespace of its own, and says
// the word.
constexpr std::string_view kRunner =
    "import sys\n"
    "word = sys.stdin.readline()\n"
    "exec(compile(sys.stdin.read(), 'program', 'exec'), {})\n"
    "sys.stdout.write('\\n' + word)\n";

// Nothing of this program's environment is inherited.
ProcessOptions runner_options() {
  return {.argv = {"python3", "-I", "-c", std::string(kRunner)},
          .environment = {"PATH=" + std::string(kDefaultProgramPath), "HOME=/tmp", "TMPDIR=/tmp",
                          "LANG=C.UTF-8"},
          .limits = {.memory_bytes = kMemoryBytes, .file_bytes = kFileBytes}};
}

}  // namespace

Result<ProgramCheck> ProgramCheck::open(const ProgramLimits& limits) {
  TRY(find_program("python3", kDefaultProgramPath));
  return ProgramCheck(TRY(Sandbox::open()), limits);
}

Result<bool> ProgramCheck::passes(const std::string& program) const {
  const std::string word = fmt::format("{:016x}\n", draw_entropy());
  const ProcessOptions options = sandbox_.wrap({}, runner_options());
  const ProgramOutcome outcome = TRY(run_program(options, word + program, limits_));
  return outcome.stop == ProgramStop::none && outcome.end.ok() &&
         outcome.output.ends_with("\n" + word);
}

}  // namespace ruv
