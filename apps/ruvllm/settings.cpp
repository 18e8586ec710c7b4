#include "settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/file.h"
#include "command_table.h"
#include "nearest_name.h"

namespace ruv {
namespace {

constexpr int64_t kMostConfigBytes = 1 << 20;

// As the XDG base directory specification says: relative paths count as unset.
std::string usual_file() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config == '/') return std::string(config) + "/ruvllm/config.toml";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.config/ruvllm/config.toml";
  return {};
}

// Which file is read; empty: none.
std::string chosen_file(const std::string& given) {
  std::string path = given;
  const char* const variable = std::getenv("RUVLLM_CONFIG");
  if (path.empty() && variable != nullptr) path = variable;
  if (path == "off") return {};
  if (!path.empty()) return path;
  path = usual_file();
  return !path.empty() && file_exists(path) ? path : std::string();
}

// `key` as written in the file, for an option of a subcommand.
bool is_key_of(const OptionHelp& option, std::string_view key) {
  const std::string variable = option.variable();
  if (variable.empty() || option.name() == "--config") return false;
  std::string name = option.name().substr(2);
  if (name == key) return true;
  std::ranges::replace(name, '-', '_');
  return name == key;
}

// Keys and tables that mean nothing are refused: a typing error would else change nothing.
Status check_entry(const std::string& file, const ConfigEntry& entry,
                   const std::vector<CommandHelp>& commands) {
  std::vector<std::string> known;
  bool has_table = entry.table.empty();
  for (const CommandHelp& command : commands) {
    if (!entry.table.empty() && entry.table != command.name) continue;
    has_table = true;
    for (const OptionHelp& option : command.options) {
      if (is_key_of(option, entry.key)) return {};
      if (!option.variable().empty()) known.push_back(option.name().substr(2));
    }
  }
  if (!has_table)
    return fail(Code::invalid, "{}:{}: there is no command '{}'", file, entry.line, entry.table);
  const std::string meant = nearest_name(entry.key, known);
  return fail(Code::invalid, "{}:{}: {}has no option '{}'{}", file, entry.line,
              entry.table.empty() ? "ruvllm " : entry.table + " ", entry.key,
              meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

}  // namespace

Result<Settings> Settings::open(const std::string& path) {
  Settings settings;
  settings.file_ = chosen_file(path);
  if (settings.file_.empty()) return settings;
  const std::string text = TRY(read_text_file(settings.file_));
  if (static_cast<int64_t>(text.size()) > kMostConfigBytes)
    return fail(Code::invalid, "{}: longer than 1 MiB", settings.file_);
  Result<std::vector<ConfigEntry>> entries = parse_config(text);
  if (!entries) return failure(with_context(settings.file_, entries.error()));
  settings.entries_ = std::move(*entries);
  if (settings.entries_.empty()) return settings;
  const std::vector<CommandHelp> commands = all_command_help();
  for (const ConfigEntry& entry : settings.entries_)
    TRY(check_entry(settings.file_, entry, commands));
  return settings;
}

std::optional<Setting> Settings::find(std::string_view command, const OptionHelp& option) const {
  const std::string variable = option.variable();
  if (variable.empty()) return std::nullopt;
  if (const char* const value = std::getenv(variable.c_str()); value != nullptr)
    return Setting{{value}, variable, true};
  const ConfigEntry* best = nullptr;  // the subcommand's own table before what is for all
  for (const ConfigEntry& entry : entries_) {
    if (!entry.table.empty() && entry.table != command) continue;
    if (!is_key_of(option, entry.key)) continue;
    if (best == nullptr || !entry.table.empty()) best = &entry;
  }
  if (best == nullptr) return std::nullopt;
  return Setting{best->values, fmt::format("{}:{}: {}", file_, best->line, best->key), false};
}

std::vector<std::string> Settings::stray_variables(const CommandHelp& own) {
  std::set<std::string> stray;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("RUVLLM_")) stray.emplace(text.substr(0, text.find('=')));
  }
  const auto forget = [&](const CommandHelp& command) {
    for (const OptionHelp& option : command.options) stray.erase(option.variable());
  };
  forget(own);
  if (stray.empty()) return {};  // the usual case, in which no table is made
  for (const CommandHelp& command : all_command_help()) forget(command);
  return {stray.begin(), stray.end()};
}

}  // namespace ruv
