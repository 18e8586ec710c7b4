// The program: finds the subcommand in a table and runs it. What is true of every subcommand
// (version, help, broken checks, lost output, memory) is here.
#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/mapped_ranges.h"
#include "command_line.h"
#include "command_table.h"
#include "help_text.h"
#include "kernels/kernels.h"
#include "nearest_name.h"
#include "ruv/version.h"
#include "terminal.h"

namespace ruv {
namespace {

void print_usage(FILE* stream) { fmt::print(stream, "{}", program_help(text_width())); }

int unknown_command(std::string_view name) {
  std::vector<std::string> names{"help", "version"};
  for (const Subcommand& command : subcommands()) names.emplace_back(command.name);
  const std::string advice = command_advice(name);
  const std::string meant = nearest_name(name, names);
  fmt::print(stderr, "ruvllm: no command '{}'{}; `ruvllm help` lists them\n", name,
             !advice.empty() ? "; " + advice
             : meant.empty() ? ""
                             : fmt::format("; did you mean '{}'?", meant));
  return kWrongCall;
}

int show_help(int argc, char** argv) {
  if (argc < 3) {
    print_usage(stdout);
    return kDone;
  }
  const Subcommand* command = find_subcommand(argv[2]);
  if (command == nullptr) return unknown_command(argv[2]);
  std::string name = command->name;
  std::string flag = "--help";
  std::array<char*, 3> call = {name.data(), flag.data(), nullptr};
  return command->function(2, call.data());
}

// The library ignores a RUV_ISA it cannot honour; a program must say so.
bool isa_is_possible() {
  const char* isa = std::getenv("RUV_ISA");
  if (isa == nullptr || *isa == '\0' || find_kernels(isa) != nullptr) return true;
  std::string names;
  for (const Kernels* table : all_kernels())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", table->isa);
  fmt::print(stderr, "ruvllm: RUV_ISA={}: this machine runs {}\n", isa, names);
  return false;
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return kWrongCall;
  }
  const std::string_view name = argv[1];
  if (name == "help" || name == "--help" || name == "-h") return show_help(argc, argv);
  if (name == "--version" || name == "version") {
    fmt::print("ruvllm {}\n", RUV_VERSION);
    return kDone;
  }
  const Subcommand* command = find_subcommand(name);
  if (command == nullptr) return unknown_command(name);
  if (!isa_is_possible()) return kWrongCall;
  if (is_for_another_processor()) {
    fmt::print(stderr,
               "ruvllm: built for another processor and slow on this one; build it again here\n");
  }
  return command->function(argc - 1, argv + 1);
}

int dispatch_guarded(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "ruvllm: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "ruvllm: internal error: {}\n", error.what());
  }
  return kJobFailed;
}

[[noreturn]] void report_broken_check(const char* condition, const char* file, int line) {
  fmt::print(stderr, "ruvllm: internal error: {}:{}: CHECK({}) failed; please report this\n", file,
             line, condition);
  std::abort();
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  ruv::set_check_handler(ruv::report_broken_check);
  // A limit on the size of files is then an error of the write, and a mapped file that becomes
  // shorter an error of the read.
  ::signal(SIGXFSZ, SIG_IGN);
  ruv::guard_mapped_files();
  int code = ruv::dispatch_guarded(argc, argv);
  if (code == ruv::kDone && std::ferror(stdin) != 0) {
    fmt::print(stderr, "ruvllm: stdin could not be read to its end\n");
    code = ruv::kJobFailed;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "ruvllm: the output could not be written\n");
  return code == ruv::kDone ? ruv::kJobFailed : code;
}
