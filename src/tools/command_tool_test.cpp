#include "tools/command_tool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <cstdlib>

#include <fstream>
#include <thread>

#include "base/file.h"

namespace ruv {
namespace {

CommandSpec shell_spec(const std::string& script) {
  const auto specs = read_command_specs(
      Json{{"tools", Json::array({Json{{"name", "t"},
                                       {"description", ""},
                                       {"command", Json::array({"sh", "-c", script})}}})}}
          .dump(),
      "test");
  EXPECT_TRUE(specs) << specs.error().message();
  return specs->at(0);
}

// Programs in a sandbox; skipped, with the reason, where the machine has none.
class SandboxedTool : public testing::Test {
 protected:
  void SetUp() override {
    static const Result<Sandbox> sandbox = Sandbox::open();
    if (!sandbox) GTEST_SKIP() << sandbox.error().message();
    sandbox_ = std::make_shared<const Sandbox>(*sandbox);
  }

  ToolReply run(const CommandSpec& spec, const Json& arguments = Json::object()) {
    const Result<ToolReply> reply = CommandTool(spec, sandbox_).call(arguments, {});
    EXPECT_TRUE(reply) << reply.error().message();
    return reply ? *reply : ToolReply{};
  }
  ToolReply run(const std::string& script) { return run(shell_spec(script)); }

  std::shared_ptr<const Sandbox> sandbox_;
};

// A folder that every user may write to.
std::string open_folder() {
  std::string path = testing::TempDir() + "sandbox.XXXXXX";
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  ::chmod(path.c_str(), 0777);
  return path;
}

TEST_F(SandboxedTool, ReadsArgumentsAndAnswers) {
  EXPECT_EQ(run(shell_spec("cat"), Json{{"a", 1}}).text, "{\"a\":1}\n");
  const ToolReply failed = run("echo out; echo why >&2; exit 3");
  EXPECT_TRUE(failed.is_error);
  EXPECT_EQ(failed.text, "error: the program ended with exit code 3\nwhy\n\nout\n");
}

TEST_F(SandboxedTool, SeesNothingOfThisMachineButItsPrograms) {
  EXPECT_EQ(run("ls / | tr '\\n' ' '; ls -A /tmp; ls /home /root 2>/dev/null; id -u; hostname")
                .text.find("home"),
            std::string::npos);
  EXPECT_EQ(run("env | sort | cut -d= -f1 | grep -v -e PWD -e SHLVL -e '^_' | tr '\\n' ' '").text,
            "HOME LANG PATH TMPDIR ");
  // Its own processes only: bwrap's, the shell, and those of the pipe.
  EXPECT_LE(std::stoi(run("ls -d /proc/[0-9]* | wc -l").text), 6);
  const ToolReply hidden = run("cat '" + std::string(RUV_SOURCE_DIR) + "/CMakeLists.txt'");
  EXPECT_TRUE(hidden.is_error);
}

TEST_F(SandboxedTool, WritesOnlyWhereItMay) {
  for (const char* place :
       {"/usr/x", "/etc/x", "/x", "/var/x", "/dev/x", "/proc/sys/kernel/hostname"}) {
    const ToolReply reply = run(std::string("echo x > ") + place);
    EXPECT_TRUE(reply.is_error) << place;
  }
  EXPECT_FALSE(file_exists("/usr/x"));
  EXPECT_EQ(run("echo x > /dev/null && echo x > /dev/shm/x && cat /dev/shm/x").text, "x\n");
  const std::string folder = open_folder();
  const std::string file = "/tmp" + folder.substr(folder.rfind('/')) + "-file";
  EXPECT_EQ(run("echo x > " + file + " && cat " + file).text, "x\n");
  EXPECT_FALSE(file_exists(file));
  CommandSpec spec = shell_spec("echo kept > " + folder + "/file && cat " + folder + "/file");
  spec.sandbox.writable = {folder};
  EXPECT_EQ(run(spec).text, "kept\n");
  EXPECT_EQ(*read_text_file(folder + "/file"), "kept\n");
  spec.sandbox.writable.clear();
  spec.sandbox.read_only = {folder};
  const ToolReply refused = run(spec);
  EXPECT_NE(refused.text.find("Read-only"), std::string::npos) << refused.text;
  spec.sandbox.read_only = {folder + "/none"};
  EXPECT_NE(run(spec).text.find("bwrap: "), std::string::npos);
}

TEST_F(SandboxedTool, HasNoNetwork) {
  if (!find_program("python3", kDefaultProgramPath)) GTEST_SKIP() << "python3 is missing";
  const auto python = [](const char* code) {
    CommandSpec spec = shell_spec("");
    spec.argv = {"python3", "-c", code};
    return spec;
  };
  EXPECT_EQ(run(python("import socket; print([n for _, n in socket.if_nameindex()])")).text,
            "['lo']\n");
  const ToolReply connected =
      run(python("import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"));
  EXPECT_TRUE(connected.is_error);
  EXPECT_NE(connected.text.find("unreachable"), std::string::npos) << connected.text;
  const ToolReply machine = run(python("import socket; socket.socket(40, socket.SOCK_STREAM)"));
  EXPECT_NE(machine.text.find("Address family not supported"), std::string::npos) << machine.text;
}

TEST_F(SandboxedTool, ClosedCallsAreRefused) {
  for (const char* command : {"unshare -U true", "mount -t tmpfs none /tmp", "chroot /usr true",
                              "nsenter -t 1 -n true"}) {
    EXPECT_TRUE(run(command).is_error) << command;
  }
}

TEST_F(SandboxedTool, AForkBombIsContained) {
  CommandSpec spec = shell_spec("f() { f | f & f | f & wait; }; f");
  spec.sandbox.max_processes = 20;
  spec.program.timeout_ms = 1500;
  run(spec);  // ends by itself when it cannot grow, else at its time
  // The limit itself: of 50 sleeping processes, some cannot be started.
  CommandSpec sleepers =
      shell_spec("for i in $(seq 50); do sleep 100 & done; ls -d /proc/[0-9]* | wc -l");
  sleepers.sandbox.max_processes = 20;
  const ToolReply limited = run(sleepers);
  EXPECT_TRUE(limited.is_error);
  EXPECT_NE(limited.text.find("fork"), std::string::npos) << limited.text;
}

TEST_F(SandboxedTool, MemoryIsLimited) {
  if (!find_program("python3", kDefaultProgramPath)) GTEST_SKIP() << "python3 is missing";
  CommandSpec spec = shell_spec("");
  spec.argv = {"python3", "-c", "b = bytearray(10 << 30); print(len(b))"};
  const ToolReply reply = run(spec);
  EXPECT_TRUE(reply.is_error);
  EXPECT_NE(reply.text.find("MemoryError"), std::string::npos) << reply.text;
  // Several processes that keep to their own limit.
  spec.argv = {"python3", "-c",
               "import os, time\nfor i in range(4): os.fork()\nb = bytearray(100 << 20)\n"
               "b[::4096] = b'x' * (len(b) // 4096)\ntime.sleep(1000)"};
  EXPECT_EQ(run(spec).text,
            "error: the program was stopped because it used more than 536870912 bytes of memory");
  CommandSpec disk = shell_spec("head -c 200000000 /dev/zero > /tmp/large");
  EXPECT_TRUE(run(disk).is_error);
  disk = shell_spec("for i in 1 2 3 4; do head -c 30000000 /dev/zero > /tmp/$i || exit 9; done");
  EXPECT_NE(run(disk).text.find("exit code 9"), std::string::npos);
}

TEST_F(SandboxedTool, TimeIsLimited) {
  CommandSpec sleeper = shell_spec("echo begun; sleep 1000");
  sleeper.program.timeout_ms = 300;
  EXPECT_EQ(run(sleeper).text, "error: the program was stopped after 300 ms\nbegun\n");
  CommandSpec busy = shell_spec("while :; do :; done");
  busy.process.cpu_seconds = 1;
  EXPECT_NE(run(busy).text.find("1 s of processor time"), std::string::npos);
  // A daemon that leaves the group ends with its namespace.
  CommandSpec daemon = shell_spec("setsid sleep 1000 & echo left");
  EXPECT_EQ(run(daemon).text, "left\n");
}

TEST_F(SandboxedTool, EndlessOutputIsStopped) {
  CommandSpec spec = shell_spec("yes");
  spec.program.max_output_bytes = 1000;
  const ToolReply reply = run(spec);
  EXPECT_TRUE(reply.text.starts_with(
      "error: the program was stopped because it wrote more than 1000 bytes\ny\ny\n"));
  EXPECT_LT(reply.text.size(), 1200u);
}

TEST_F(SandboxedTool, IsCancelled) {
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.cancel(); });
  const auto reply = CommandTool(shell_spec("sleep 1000"), sandbox_)
                         .call(Json::object(), {.cancellation = &cancellation});
  canceller.join();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), Code::cancelled);
}

TEST(UnsandboxedTool, RunsWhereItWasAskedFor) {
  const std::string path = testing::TempDir() + "tools.json";
  std::ofstream(path) << R"({"tools":[{"name":"t","description":"d","command":["cat"]}]})";
  const auto tools = open_command_tools(path, true);
  ASSERT_TRUE(tools) << tools.error().message();
  EXPECT_EQ(tools->at(0)->call(Json{{"a", "ä"}}, {})->text, "{\"a\":\"ä\"}\n");
  CommandSpec sleeper = shell_spec("sleep 1000");
  sleeper.program.timeout_ms = 100;
  EXPECT_EQ(CommandTool(sleeper, nullptr).call(Json::object(), {})->text,
            "error: the program was stopped after 100 ms");
}

}  // namespace
}  // namespace ruv
