#include "tool_box.h"

#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "engine/schema_check.h"
#include "ruv/version.h"
#include "shown_text.h"
#include "tools/command_tool.h"

namespace ruv {
namespace {

constexpr size_t kShownNote = 400;

// What a server that is a process gets of this program's environment: no keys, no tokens.
std::vector<std::string> server_environment() {
  std::vector<std::string> out;
  for (const char* name :
       {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

// Arguments are checked as calls are held, so a model that is not held gets to read what is wrong.
ArgumentCheckMaker check_maker(Engine& engine) {
  return [&engine](const ToolSpec& spec) -> Result<ArgumentCheck> {
    return TRY(schema_check(engine, spec.parameters.dump()));
  };
}

}  // namespace

void add_tool_flags(CommandLine& line, ToolUse& use) {
  const OptionGroup group(line, "Tools");
  line.texts("--tools", use.files,
             "File that describes programs the model may call (docs/tools.md); may be repeated");
  line.texts("--mcp", use.servers,
             "File that lists MCP servers whose tools the model may call; may be repeated");
  line.flag("--yes", use.yes, "Run every call without asking");
  line.integer("--max-rounds", use.max_rounds, 1, 1000, "Answers of one turn whose calls are run");
  line.text("--tool-choice", use.choice,
            "auto; required: the first answer calls a tool; or the name of that tool");
  line.flag("--unsandboxed", use.unsandboxed,
            "Run the programs of --tools with all your rights, outside the sandbox");
}

std::string objection_to(const CommandLine& line, const ToolUse& use) {
  if (use.any()) return {};
  for (const char* flag : {"--yes", "--max-rounds", "--tool-choice", "--unsandboxed"}) {
    if (line.given(flag)) return std::string(flag) + " needs --tools or --mcp";
  }
  return {};
}

ToolBox::ToolBox(const CommandLine& line, Engine& engine)
    : line_(line), registry_(check_maker(engine)) {}

Result<std::unique_ptr<ToolBox>> ToolBox::open(const CommandLine& line, const ToolUse& use,
                                               Engine& engine) {
  std::unique_ptr<ToolBox> box(new ToolBox(line, engine));
  for (const std::string& file : use.files) {
    TRY(box->registry_.set_tools(file, TRY(open_command_tools(file, use.unsandboxed))));
  }
  TRY(box->open_servers(use.servers));
  return box;
}

Status ToolBox::open_servers(const std::vector<std::string>& files) {
  std::vector<McpServerConfig> configs;
  for (const std::string& file : files) {
    for (McpServerConfig& config : TRY(read_mcp_config(TRY(read_text_file(file)), file))) {
      for (const McpServerConfig& other : configs) {
        if (other.name == config.name)
          return fail(Code::invalid, "{}: another file has a server '{}', too", file, config.name);
      }
      configs.push_back(std::move(config));
    }
  }
  if (configs.empty()) return {};
  McpServersOptions options;
  options.environment = server_environment();
  options.client.version = RUV_VERSION;
  options.on_log = [&line = line_](const std::string& server, std::string_view text) {
    line.note(fmt::format("MCP server {}: {}", server, shown_text(text, kShownNote)));
  };
  servers_ = McpServers::open(configs, options);
  return {};
}

void ToolBox::say_problems() {
  for (const McpProblem& problem : servers_.problems()) {
    const std::string note = fmt::format("MCP server {}: {}", problem.server,
                                         shown_text(problem.status.message(), kShownNote));
    if (said_.emplace(note, true).second) line_.note(note);
  }
}

TemplateValue ToolBox::offered() {
  servers_.refresh(registry_);
  say_problems();
  if (registry_.revision() == revision_) return offered_;
  revision_ = registry_.revision();
  const Json all = registry_.definitions();
  Json usable = Json::array();
  size_t i = 0;
  for (const ToolRegistry::Entry& entry : registry_.tools()) {
    const Status checked = entry->check_schema();
    if (checked.ok()) {
      usable.push_back(all[i++]);
      continue;
    }
    ++i;
    const std::string note =
        fmt::format("the tool '{}' of {} is left out: its schema cannot be checked: {}",
                    entry->spec().name, entry->source(), shown_text(checked.message(), kShownNote));
    if (said_.emplace(note, true).second) line_.note(note);
  }
  offered_ = usable.empty() ? TemplateValue() : TemplateValue(std::move(usable));
  return offered_;
}

}  // namespace ruv
