// Every function reads one part of a tool's description and names the member that is wrong; the
// caller puts the file and the tool's place before it.
#include "tools/command_spec.h"

#include "tools/json_members.h"

namespace ruv {
namespace {

constexpr size_t kMaxCommandTools = 1000;

// The system takes texts up to a zero byte, so one with such a byte would be cut in silence.
FieldResult<void> check_no_zero(const std::string& field, std::string_view text) {
  if (text.find('\0') == text.npos) return {};
  return invalid_field(field, fmt::format("'{}' contains a zero byte", field));
}

FieldResult<std::vector<std::string>> read_paths(const Json& tool, std::string_view name) {
  std::vector<std::string> paths = TRY(optional_texts(tool, name));
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string field = fmt::format("{}[{}]", name, i);
    TRY(check_no_zero(field, paths[i]));
    if (!paths[i].starts_with('/'))
      return invalid_field(field,
                           fmt::format("'{}' is '{}', not an absolute path", field, paths[i]));
  }
  return paths;
}

// A relative path would depend on where this program runs.
FieldResult<std::vector<std::string>> read_argv(const Json& tool) {
  if (find_field(tool, "command") == nullptr) return missing_field("command");
  std::vector<std::string> argv = TRY(optional_texts(tool, "command"));
  for (const std::string& word : argv) TRY(check_no_zero("command", word));
  if (argv.empty() || argv[0].empty())
    return invalid_field("command", "'command' names no program");
  if (argv[0].find('/') != std::string::npos && argv[0][0] != '/') {
    return invalid_field("command", fmt::format("'command' begins with '{}': give an absolute path "
                                                "or a name alone",
                                                argv[0]));
  }
  return argv;
}

// The file's variables come last; of equal names programs read the first, so each is there once.
FieldResult<std::vector<std::string>> read_environment(const Json& tool) {
  std::vector<std::pair<std::string, std::string>> variables = {
      {"PATH", std::string(kDefaultProgramPath)},
      {"HOME", "/tmp"},
      {"TMPDIR", "/tmp"},
      {"LANG", "C.UTF-8"}};
  const auto given = TRY(optional_text_members(tool, "environment"));
  for (const auto& variable : given) {
    const auto& [name, value] = variable;
    TRY(check_no_zero("environment", name + value));
    if (name.empty() || name.find('=') != name.npos)
      return invalid_field("environment", fmt::format("'environment': '{}' is not a name", name));
    std::erase_if(variables, [&](const auto& old) { return old.first == variable.first; });
    variables.push_back(variable);
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

// All limits have values, so that no tool runs without.
FieldResult<void> read_limits(const Json& tool, CommandSpec& spec) {
  const Json* given = TRY(optional_object(tool, "limits"));
  const Json none = Json::object();
  const Json& limits = given == nullptr ? none : *given;
  TRY(check_member_names(limits,
                         {"wall_s", "cpu_s", "memory_mb", "output_kb", "file_mb", "processes"}));
  constexpr int64_t kMb = 1 << 20;
  const int64_t wall_s = TRY(read_integer(limits, "wall_s", 30, {1, 86'400}));
  const int64_t cpu_s = TRY(read_integer(limits, "cpu_s", 30, {1, 86'400}));
  // Less than the first does not hold the loader's own needs.
  const int64_t memory_mb = TRY(read_integer(limits, "memory_mb", 512, {32, 1 << 20}));
  const int64_t output_kb = TRY(read_integer(limits, "output_kb", 1024, {1, 1 << 16}));
  const int64_t file_mb = TRY(read_integer(limits, "file_mb", 64, {1, 1 << 20}));
  spec.sandbox.max_processes = TRY(read_integer(limits, "processes", 64, {1, 10'000}));
  spec.sandbox.tmp_bytes = file_mb * kMb;
  spec.program = {.timeout_ms = wall_s * 1000,
                  .max_output_bytes = static_cast<size_t>(output_kb) << 10,
                  .max_memory_bytes = static_cast<uint64_t>(memory_mb * kMb)};
  spec.process = {.memory_bytes = static_cast<uint64_t>(memory_mb * kMb),
                  .cpu_seconds = static_cast<uint64_t>(cpu_s),
                  .file_bytes = static_cast<uint64_t>(file_mb * kMb)};
  return {};
}

FieldResult<CommandSpec> read_tool(const Json& tool) {
  TRY(check_member_names(
      tool, {"name", "description", "parameters", "command", "limits", "read_only", "writable",
             "network", "environment", "folder", "consent"}));
  CommandSpec spec;
  spec.tool.name = TRY(required_text(tool, "name"));
  if (const Status status = check_tool_name(spec.tool.name); !status.ok())
    return invalid_field("name", status.message());
  spec.tool.description = TRY(required_text(tool, "description"));
  if (const Json* parameters = TRY(optional_object(tool, "parameters")))
    spec.tool.parameters = *parameters;
  spec.argv = TRY(read_argv(tool));
  spec.environment = TRY(read_environment(tool));
  TRY(read_limits(tool, spec));
  spec.sandbox.read_only = TRY(read_paths(tool, "read_only"));
  spec.sandbox.writable = TRY(read_paths(tool, "writable"));
  spec.sandbox.network = TRY(read_flag(tool, "network", false));
  const bool reaches_out = spec.sandbox.network || !spec.sandbox.writable.empty();
  spec.tool.needs_consent = TRY(read_flag(tool, "consent", reaches_out));
  const std::string folder = TRY(optional_text(tool, "folder"));
  TRY(check_no_zero("folder", folder));
  if (!folder.empty()) spec.sandbox.folder = folder;
  if (!spec.sandbox.folder.starts_with('/'))
    return invalid_field("folder", "'folder' is not an absolute path");
  return spec;
}

}  // namespace

Result<std::vector<CommandSpec>> read_command_specs(std::string_view json,
                                                    std::string_view source) {
  const Json file = TRY(parse_json(json, source));
  const Json* tools = file.is_object() ? file.find("tools") : nullptr;
  if (tools == nullptr || !tools->is_array() || file.size() != 1)
    return fail(Code::invalid, "{}: must be an object {{\"tools\": […]}}", source);
  if (tools->size() > kMaxCommandTools)
    return fail(Code::invalid, "{}: {} tools, at most {}", source, tools->size(), kMaxCommandTools);
  std::vector<CommandSpec> specs;
  for (const Json& tool : *tools) {
    const std::string place = fmt::format("{}: tools[{}]", source, specs.size());
    if (!tool.is_object()) return fail(Code::invalid, "{}: must be an object", place);
    FieldResult<CommandSpec> spec = read_tool(tool);
    if (!spec) return tl::unexpected<Status>(with_context(place, status_of(spec.error())));
    specs.push_back(std::move(*spec));
  }
  return specs;
}

}  // namespace ruv
