#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

namespace ruv {
namespace {

struct Ran {
  ProcessEnd end;
  std::string output;
  std::string errors;
};

// Gives the whole input, reads to the end.
Ran run(const ProcessOptions& options, std::string_view input = {}) {
  Result<Process> process = Process::start(options);
  EXPECT_TRUE(process) << process.error().message();
  Ran ran;
  while (process && (!process->ended() || process->output_is_open())) {
    if (input.empty()) process->close_input();
    const Result<ProcessTurn> turn = process->turn(input, -1);
    EXPECT_TRUE(turn);
    input.remove_prefix(turn->n_taken);
    if (!process->reads_input()) input = {};
    ran.output += turn->output;
    ran.errors += turn->errors;
  }
  if (process) ran.end = *process->ended();
  return ran;
}

ProcessOptions shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}, .environment = {"A=1"}};
}

TEST(Process, ReadsWritesAndEnds) {
  const Ran ran = run(shell("cat; echo $A$B >&2; exit 3"), "text");
  EXPECT_EQ(ran.output, "text");
  EXPECT_EQ(ran.errors, "1\n");
  EXPECT_EQ(ran.end.exit_code, 3);
  EXPECT_EQ(describe(ran.end), "exit code 3");
  EXPECT_FALSE(ran.end.ok());
}

TEST(Process, MoreThanAPipeHoldsGoesBothWays) {
  const std::string text(3 << 20, 'x');
  const Ran ran = run({.argv = {"cat"}}, text);
  EXPECT_TRUE(ran.output == text);
  EXPECT_TRUE(ran.end.ok());
}

TEST(Process, WhatDoesNotReadItsInputSendsNoSignalHere) {
  const Ran ran = run(shell("exec <&-; sleep 0.05; echo done"), std::string(1 << 20, 'x'));
  EXPECT_EQ(ran.output, "done\n");
}

TEST(Process, InheritsNothingButItsFiles) {
  ProcessOptions options = shell("cat <&3 <&4; ls /proc/self/fd | wc -l");
  options.files = {"three ", "four "};
  // 0, 1, 2, 3, 4 and the folder that ls reads.
  EXPECT_EQ(run(options).output, "four 6\n");
  EXPECT_EQ(run({.argv = {"env"}, .environment = {"X=y"}}).output, "X=y\n");
}

TEST(Process, RunsInItsFolder) {
  ProcessOptions options = shell("pwd");
  options.folder = "/usr";
  EXPECT_EQ(run(options).output, "/usr\n");
}

TEST(Process, WhatCannotStartIsNamed) {
  const Result<Process> none = Process::start({.argv = {"no-such-program"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::not_found);
  EXPECT_NE(none.error().message().find("'no-such-program'"), std::string::npos);
  const Result<Process> file = Process::start({.argv = {"/etc/passwd"}});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::invalid);
  const Result<Process> folder = Process::start({.argv = {"true"}, .folder = "/no/such/folder"});
  ASSERT_FALSE(folder);
  EXPECT_TRUE(folder.error().message().starts_with("/no/such/folder: "));
}

TEST(Process, LimitsHold) {
  ProcessOptions options = shell("ulimit -v; ulimit -t; ulimit -f; ulimit -c");
  options.limits = {.memory_bytes = 1 << 30, .cpu_seconds = 7, .file_bytes = 1 << 20};
  EXPECT_EQ(run(options).output, "1048576\n7\n2048\n0\n");
  ProcessOptions endless = shell("while :; do :; done");
  endless.limits.cpu_seconds = 1;
  EXPECT_NE(run(endless).end.signal, 0);
}

TEST(Process, KillReachesWhatItStarted) {
  Result<Process> process = Process::start(shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(process);
  std::string output;
  while (output.empty()) output += process->turn({}, -1)->output;
  process->kill();
  while (!process->ended() || process->output_is_open()) ASSERT_TRUE(process->turn({}, -1));
  EXPECT_EQ(process->ended()->signal, SIGKILL);
  EXPECT_EQ(describe(*process->ended()), "signal 9 (Killed)");
}

TEST(Process, CountsTheMemoryOfItsFamily) {
  Result<Process> process = Process::start(
      shell("(x=$(head -c 40000000 /dev/zero | tr '\\0' x); echo ready; sleep 1000; :) & wait"));
  ASSERT_TRUE(process);
  const uint64_t before = process->memory_bytes();
  std::string output;
  while (output.empty()) output += process->turn({}, -1)->output;
  EXPECT_GT(process->memory_bytes(), before + 30'000'000);
}

TEST(Process, IsWokenFromAnotherThread) {
  Result<Process> process = Process::start({.argv = {"cat"}});
  ASSERT_TRUE(process);
  std::thread waker([&] { process->wake(); });
  bool woken = false;
  while (!woken) woken = process->turn({}, -1)->woken;
  waker.join();
  EXPECT_FALSE(process->turn({}, 1)->woken);
}

TEST(Process, IsReapedWithItsObject) {
  std::string output;
  {
    Result<Process> process = Process::start(shell("echo $$; exec sleep 1000"));
    ASSERT_TRUE(process);
    while (output.empty()) output += process->turn({}, -1)->output;
    EXPECT_FALSE(process->ended());
    EXPECT_EQ(::kill(std::stoi(output), 0), 0);
  }
  EXPECT_EQ(::kill(std::stoi(output), 0), -1);
}

TEST(FindProgram, SearchesThePath) {
  EXPECT_EQ(*find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(*find_program("./sh", "/bin"), "./sh");
  EXPECT_FALSE(find_program("sh", "/nowhere"));
  EXPECT_FALSE(find_program("", "/bin"));
}

}  // namespace
}  // namespace ruv
