#include "tools/mcp/config.h"

#include "tools/json_members.h"
#include "tools/tool.h"

namespace ruv {
namespace {

constexpr size_t kMaxServers = 100;

FieldResult<void> check_plain(const std::string& field, std::string_view text,
                              std::string_view forbidden) {
  if (text.find_first_of(forbidden) == text.npos) return {};
  return invalid_field(field, fmt::format("'{}' contains a character that is not allowed", field));
}

// A name as RFC 9110 has it, and a value on one line.
FieldResult<std::string> read_header(const std::string& name, const std::string& value) {
  const std::string field = "headers." + name;
  const bool is_token =
      !name.empty() &&
      name.find_first_not_of(
          "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") ==
          name.npos;
  if (!is_token) return invalid_field(field, fmt::format("'{}' is not a header's name", field));
  TRY(check_plain(field, value, std::string_view("\r\n\0", 3)));
  // libcurl sends a header without a value only in this form.
  return value.empty() ? name + ";" : name + ": " + value;
}

// Nothing in an address or a header may end its line: it is sent as it is.
FieldResult<McpEndpoint> read_endpoint(const Json& server) {
  TRY(check_member_names(server, {"type", "url", "headers"}));
  McpEndpoint endpoint{.url = TRY(required_text(server, "url"))};
  if (!endpoint.url.starts_with("http://") && !endpoint.url.starts_with("https://"))
    return invalid_field("url", "'url' must begin with http:// or https://");
  TRY(check_plain("url", endpoint.url, std::string_view("\r\n \0", 4)));
  const auto headers = TRY(optional_text_members(server, "headers"));
  for (const auto& [name, value] : headers)
    endpoint.headers.push_back(TRY(read_header(name, value)));
  return endpoint;
}

// The command is searched for in PATH of the environment that the caller gives.
FieldResult<McpCommand> read_command(const Json& server) {
  TRY(check_member_names(server, {"type", "command", "args", "env", "cwd"}));
  const std::string_view zero("\0", 1);
  McpCommand command;
  command.argv.push_back(TRY(required_text(server, "command")));
  if (command.argv[0].empty()) return invalid_field("command", "'command' is empty");
  const std::vector<std::string> words = TRY(optional_texts(server, "args"));
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  for (const std::string& word : command.argv) TRY(check_plain("args", word, zero));
  command.environment = TRY(optional_text_members(server, "env"));
  for (const auto& [name, value] : command.environment) {
    TRY(check_plain("env." + name, name, std::string_view("=\0", 2)));
    TRY(check_plain("env." + name, value, zero));
  }
  command.folder = TRY(optional_text(server, "cwd"));
  TRY(check_plain("cwd", command.folder, zero));
  return command;
}

// Whether the server is reached over HTTP.
FieldResult<bool> is_http(const Json& server) {
  const bool has_url = find_field(server, "url") != nullptr;
  const std::string type = TRY(optional_text(server, "type"));
  if (type == "sse") {
    return invalid_field("type",
                         "'type' \"sse\" is the transport of an older revision; \"http\" "
                         "is spoken here",
                         FieldError::Kind::unsupported);
  }
  const bool http = type == "http" || type == "streamable-http";
  if (!type.empty() && !http && type != "stdio")
    return invalid_field("type", fmt::format("'type' \"{}\" is unknown; \"stdio\" and \"http\" are "
                                             "spoken here",
                                             type));
  if (!type.empty() && http != has_url)
    return invalid_field("type", fmt::format("'type' is \"{}\", but the server has {}", type,
                                             has_url ? "an url" : "no url"));
  return has_url;
}

FieldResult<McpServerConfig> read_server(const std::string& name, const Json& server) {
  if (const Status status = check_tool_name(name); !status.ok())
    return invalid_field(name, "a server's name begins its tools' names: " + status.message());
  McpServerConfig config{.name = name};
  if (TRY(is_http(server))) {
    config.endpoint = TRY(read_endpoint(server));
  } else {
    config.command = TRY(read_command(server));
  }
  return config;
}

}  // namespace

Result<std::vector<McpServerConfig>> read_mcp_config(std::string_view json,
                                                     std::string_view source) {
  const Json file = TRY(parse_json(json, source));
  const Json* servers = file.is_object() ? file.find("mcpServers") : nullptr;
  if (servers == nullptr || !servers->is_object())
    return fail(Code::invalid, "{}: must be an object with \"mcpServers\", an object", source);
  if (const FieldResult<void> known = check_member_names(file, {"mcpServers"}); !known)
    return tl::unexpected<Status>(with_context(source, status_of(known.error())));
  if (servers->size() > kMaxServers)
    return fail(Code::invalid, "{}: {} servers, at most {}", source, servers->size(), kMaxServers);
  std::vector<McpServerConfig> configs;
  for (const auto& [name, server] : servers->items()) {
    const std::string place = fmt::format("{}: mcpServers.{}", source, name);
    if (!server.is_object()) return fail(Code::invalid, "{}: must be an object", place);
    FieldResult<McpServerConfig> config = read_server(std::string(name), server);
    if (!config) return tl::unexpected<Status>(with_context(place, status_of(config.error())));
    configs.push_back(std::move(*config));
  }
  return configs;
}

}  // namespace ruv
