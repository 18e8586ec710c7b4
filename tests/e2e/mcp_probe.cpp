// The client's side of the end-to-end tests: connects to the servers of a config file and puts
// their tools into a registry, as a program with tools does. Reads commands as lines of JSON, and
// answers each with one line:
//   {"do": "list"}                                    tools, problems and what servers have logged
//   {"do": "refresh"}                                 the same after another look at the servers
//   {"do": "call", "name": …, "arguments": …}         the reply of one call
//   {"do": "call", …, "cancel_ms": n, "timeout_ms": n}  cancelled after a time, or with a limit
#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "tools/executor.h"
#include "tools/mcp/servers.h"

namespace ruv {
namespace {

struct ProbeLog {
  std::mutex mutex;
  Json lines = Json::array();
  void add(const std::string& server, std::string_view text) {
    const std::lock_guard lock(mutex);
    lines.push_back(server + ": " + std::string(text));
  }
};

Json state_of(const ToolRegistry& registry, const McpServers& servers, ProbeLog& log) {
  Json problems = Json::array();
  for (const McpProblem& problem : servers.problems())
    problems.push_back({{"server", problem.server}, {"message", problem.status.message()}});
  const std::lock_guard lock(log.mutex);
  return {{"tools", registry.definitions()}, {"problems", problems}, {"log", log.lines}};
}

Json call(const ToolRegistry& registry, const Json& line) {
  Cancellation cancellation;
  std::thread canceller;
  if (line.contains("cancel_ms")) {
    canceller = std::thread([&, ms = line["cancel_ms"].get<int64_t>()] {
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      cancellation.cancel();
    });
  }
  const ToolExecutor executor(registry, {.timeout_ms = line.value("timeout_ms", int64_t{60'000})});
  const ToolRequest request{"1", line["name"].get<std::string>(), line["arguments"].dump()};
  const ToolResult result = executor.run({&request, 1}, &cancellation).front();
  if (canceller.joinable()) canceller.join();
  return {{"text", result.text}, {"is_error", result.is_error}, {"is_refused", result.is_refused}};
}

int probe(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  const Result<std::vector<McpServerConfig>> configs =
      text ? read_mcp_config(*text, path) : tl::unexpected<Status>(text.error());
  if (!configs) {
    std::cerr << configs.error().message() << "\n";
    return 1;
  }
  ProbeLog log;
  ToolRegistry registry;
  McpServers servers = McpServers::open(
      *configs,
      {.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
       .on_log = [&](const std::string& server, std::string_view line) { log.add(server, line); }});
  servers.refresh(registry);
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = *parse_json(line, "command");
    const std::string what = command["do"].get<std::string>();
    if (what == "refresh") servers.refresh(registry);
    std::cout
        << (what == "call" ? call(registry, command) : state_of(registry, servers, log)).dump()
        << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) { return argc == 2 ? ruv::probe(argv[1]) : 2; }
