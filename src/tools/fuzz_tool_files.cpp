// Any bytes as a file of command tools and as a list of MCP servers: they are refused with the
// source's name, or what is read obeys the rules that the rest relies on.
#include <cstdlib>

#include "tools/command_spec.h"
#include "tools/mcp/config.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

// Texts for the system end at a zero byte.
void expect_whole(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) expect(text.find('\0') == text.npos);
}

void check(const ruv::CommandSpec& spec) {
  expect(ruv::check_tool_name(spec.tool.name).ok());
  expect(!spec.argv.empty() && !spec.argv[0].empty());
  expect(spec.argv[0][0] == '/' || spec.argv[0].find('/') == std::string::npos);
  expect_whole(spec.argv);
  expect_whole(spec.environment);
  for (const auto* paths : {&spec.sandbox.read_only, &spec.sandbox.writable}) {
    expect_whole(*paths);
    for (const std::string& path : *paths) expect(path.starts_with('/'));
  }
  expect(spec.program.timeout_ms > 0 && spec.process.memory_bytes > 0 &&
         spec.process.cpu_seconds > 0 && spec.sandbox.max_processes > 0);
}

void check(const ruv::McpServerConfig& config) {
  expect(ruv::check_tool_name(config.name).ok());
  expect(config.command.has_value() != config.endpoint.has_value());
  if (config.command) expect_whole(config.command->argv);
  if (!config.endpoint) return;
  expect_whole(config.endpoint->headers);
  for (const std::string& header : config.endpoint->headers)
    expect(header.find_first_of("\r\n") == header.npos);
}

template <class Items>
void check_all(const ruv::Result<std::vector<Items>>& read) {
  if (!read) return expect(read.error().message().starts_with("fuzz: "));
  for (const Items& item : *read) check(item);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check_all(ruv::read_command_specs(text, "fuzz"));
  check_all(ruv::read_mcp_config(text, "fuzz"));
  return 0;
}
