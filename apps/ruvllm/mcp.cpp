// ruvllm mcp: the model as an MCP server on standard input and output, started by the program that
// uses it. Messages are lines; whatever else there is to say goes to standard error.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "command_line.h"
#include "commands.h"
#include "mcp_tools.h"
#include "open_engine.h"
#include "open_model.h"
#include "ruv/version.h"
#include "tools/mcp/message_lines.h"
#include "tools/mcp/server.h"

namespace ruv {
namespace {

struct McpCall {
  std::string model;
  LoadCall load;
  EngineCall engine;
};

void write_message(std::string_view message) {
  std::fwrite(message.data(), 1, message.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

// Until stdin ends; calls that run then are finished. Fails: corrupt, when a message is too long.
Status answer_lines(McpServer& server) {
  MessageLines lines(kMaxRpcBytes);
  std::array<char, 65536> bytes{};
  while (true) {
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    TRY(lines.feed({bytes.data(), static_cast<size_t>(n)},
                   [&](std::string_view line) { server.receive(line); }));
  }
  server.finish();
  return {};
}

Status serve_mcp(const CommandLine& line, const McpCall& call) {
  const ChosenModel chosen = TRY(chosen_model(call.model));
  const std::shared_ptr<const Model> model =
      TRY(open_model(chosen, call.engine.n_threads, call.load));
  const std::unique_ptr<Engine> engine = TRY(open_engine(line, chosen.path, model, call.engine));
  ToolRegistry registry;
  TRY(registry.set_tools("ruvllm", model_tools(*engine)));
  McpServer server(registry, {.name = "ruvllm", .version = RUV_VERSION}, write_message);
  return answer_lines(server);
}

}  // namespace

int mcp_command(int argc, char** argv) {
  McpCall call;
  call.engine.max_sequences = 4;
  CommandLine line("mcp", "Offers the model as an MCP server on stdin and stdout.");
  line.example("ruvllm mcp -m qwen.gguf", "The command that a client of MCP starts");
  line.text("--model,-m", call.model, kModelHelp);
  add_load_flags(line, call.load);
  line.threads(call.engine.n_threads);
  line.kv(call.engine.kv_type);
  line.integer("--ctx,-c", call.engine.n_ctx, 0, int64_t{1} << 24,
               "Longest prompt and answer in tokens; 0: what the model was trained for");
  line.integer("--parallel", call.engine.max_sequences, 1, 1024,
               "Calls that are answered at the same time");
  add_cache_flags(line, call.engine.cache);
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const Status status = serve_mcp(line, call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
