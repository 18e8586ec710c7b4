// The tools of a server are replaced as a whole, so a registry never shows half of a new list.
#include "tools/mcp/servers.h"

#include <algorithm>
#include <set>

#include "tools/mcp/stdio_transport.h"

namespace ruv {
namespace {

// A tool of a server under its name in the registry.
class McpTool final : public Tool {
 public:
  McpTool(std::shared_ptr<McpClient> client, std::string remote_name, ToolSpec spec)
      : client_(std::move(client)), remote_name_(std::move(remote_name)), spec_(std::move(spec)) {}

  const ToolSpec& spec() const override { return spec_; }
  Result<ToolReply> call(const Json& arguments, const ToolCallTerms& terms) override {
    return client_->call_tool(remote_name_, arguments, terms);
  }

 private:
  std::shared_ptr<McpClient> client_;
  std::string remote_name_;
  ToolSpec spec_;
};

// The server's own variables replace inherited ones of the same name.
ProcessOptions process_of(const McpCommand& command, const std::vector<std::string>& inherited) {
  ProcessOptions options{.argv = command.argv, .folder = command.folder};
  for (const std::string& variable : inherited) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    const bool is_replaced = std::any_of(command.environment.begin(), command.environment.end(),
                                         [&](const auto& own) { return own.first == name; });
    if (!is_replaced) options.environment.push_back(variable);
  }
  for (const auto& [name, value] : command.environment)
    options.environment.push_back(name + "=" + value);
  return options;
}

// What came of one server: a client, or why there is none.
struct StartedClient {
  std::unique_ptr<McpClient> client;
  Status failure;
};

Result<std::unique_ptr<McpClient>> connect_to(const McpServerConfig& config,
                                              const McpServersOptions& options) {
  std::unique_ptr<McpTransport> transport;
  if (config.endpoint) {
    transport = std::make_unique<HttpTransport>(*config.endpoint);
  } else {
    transport = std::make_unique<StdioTransport>(process_of(*config.command, options.environment));
  }
  McpClientOptions client = options.client;
  if (options.on_log) {
    client.on_log = [name = config.name, log = options.on_log](std::string_view text) {
      log(name, text);
    };
  }
  return McpClient::connect(std::move(transport), std::move(client));
}

}  // namespace

// Starting a server can take seconds, so each has a thread while it starts.
McpServers McpServers::open(const std::vector<McpServerConfig>& configs,
                            const McpServersOptions& options) {
  std::vector<StartedClient> started(configs.size());
  std::vector<Thread> threads(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    const auto connect = [&, i] {
      Result<std::unique_ptr<McpClient>> client = connect_to(configs[i], options);
      if (client) {
        started[i].client = std::move(*client);
      } else {
        started[i].failure = client.error();
      }
    };
    if (!start_thread(threads[i], connect)) connect();
  }
  McpServers servers;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (threads[i].joinable()) threads[i].join();
    if (started[i].client != nullptr) {
      servers.servers_.push_back(
          {configs[i].name, std::move(started[i].client), configs[i].command.has_value()});
    } else {
      servers.failed_.push_back({configs[i].name, std::move(started[i].failure)});
    }
  }
  return servers;
}

McpServers McpServers::of(std::vector<std::pair<std::string, std::shared_ptr<McpClient>>> clients) {
  McpServers servers;
  for (auto& [name, client] : clients) servers.servers_.push_back({name, std::move(client), true});
  return servers;
}

void McpServers::refresh(ToolRegistry& registry) {
  for (Server& server : servers_) {
    if (!server.is_listed || server.client->tools_have_changed()) refresh_one(server, registry);
  }
}

void McpServers::refresh_one(Server& server, ToolRegistry& registry) {
  server.problems.clear();
  server.is_listed = true;
  const auto note = [&](Status status) {
    server.problems.push_back({server.name, std::move(status)});
  };
  Result<std::vector<McpToolPage::Listed>> listed = server.client->list_tools();
  if (!listed) return note(listed.error());
  std::vector<std::shared_ptr<Tool>> tools;
  std::set<std::string> names;
  for (McpToolPage::Listed& tool : *listed) {
    ToolSpec spec{.name = server.name + "_" + tool.name,
                  .description = std::move(tool.description),
                  .parameters = std::move(tool.input_schema),
                  .needs_consent = !(server.is_process && tool.is_harmless)};
    if (Status status = check_tool_name(spec.name); !status.ok()) {
      note(std::move(status));
    } else if (!names.insert(spec.name).second) {
      note({Code::invalid, fmt::format("the server lists '{}' twice", tool.name)});
    } else {
      tools.push_back(
          std::make_shared<McpTool>(server.client, std::move(tool.name), std::move(spec)));
    }
  }
  if (Status status = registry.set_tools("MCP server " + server.name, std::move(tools));
      !status.ok())
    note(std::move(status));
}

std::vector<McpProblem> McpServers::problems() const {
  std::vector<McpProblem> all = failed_;
  for (const Server& server : servers_)
    all.insert(all.end(), server.problems.begin(), server.problems.end());
  return all;
}

}  // namespace ruv
