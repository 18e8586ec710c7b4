// Subcommands about the program itself: config, completion, man, reference.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "command_line.h"
#include "command_table.h"
#include "commands.h"
#include "help_text.h"
#include "reference.h"
#include "settings.h"

namespace ruv {
namespace {

Status write_page(const std::string& path, std::string_view text) {
  FileWriter file = TRY(FileWriter::create(path, {.replace = true}));
  TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

// ruvllm.1 and a page for each command.
Status write_manuals(const std::string& folder) {
  const std::vector<CommandHelp> commands = all_command_help();
  TRY(write_page(folder + "/ruvllm.1", program_manual(commands)));
  for (const CommandHelp& command : commands) {
    const std::string path = fmt::format("{}/ruvllm-{}.1", folder, command.name);
    TRY(write_page(path, command_manual(command)));
  }
  return {};
}

// Which of the commands an argument names. Fails: not_found.
Result<CommandHelp> described(const std::string& name) {
  const Subcommand* const command = find_subcommand(name);
  if (command == nullptr) return fail(Code::not_found, "there is no command '{}'", name);
  return command_help(*command);
}

std::string joined_values(const OptionHelp& option, const Setting& setting) {
  if (option.is_secret) return "(not shown)";
  return fmt::format("{}", fmt::join(setting.values, ", "));
}

// A row for each option; without `all`, for those that a setting gives.
void print_options(const Settings& settings, const CommandHelp& command, bool all) {
  for (const OptionHelp& option : command.options) {
    if (option.variable().empty() || option.name() == "--config") continue;
    const std::optional<Setting> setting = settings.find(command.name, option);
    if (!setting && !all) continue;
    const std::string value = setting            ? joined_values(option, *setting)
                              : option.is_flag() ? "false"
                                                 : option.preset;
    const std::string source = setting ? setting->where : "default";
    fmt::print("  {:<26} {:<24} {}\n", option.name().substr(2), value, source);
  }
}

Status show_config(const std::string& file, const std::string& name) {
  const Settings settings = TRY(Settings::open(file));
  fmt::print("configuration file: {}\n", settings.file().empty() ? "none" : settings.file());
  if (!name.empty()) {
    print_options(settings, TRY(described(name)), true);
    return {};
  }
  for (const CommandHelp& command : all_command_help()) {
    const bool any = std::ranges::any_of(command.options, [&](const OptionHelp& option) {
      return option.name() != "--config" && settings.find(command.name, option).has_value();
    });
    if (any) fmt::print("{}:\n", command.name);
    print_options(settings, command, false);
  }
  return {};
}

}  // namespace

int config_command(int argc, char** argv) {
  std::string command;
  CommandLine line("config",
                   "Shows which settings hold, and where each comes from: the environment, the "
                   "configuration file or the default.");
  line.text("command", command,
            "Show every option of this command; only those that are set, of all commands, when "
            "absent");
  line.example("ruvllm config serve", "What a server would be started with");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const Status status = show_config(line.config_file(), command);
  return status.ok() ? kDone : line.failed(status);
}

int completion_command(int argc, char** argv) {
  std::string shell;
  CommandLine line("completion", "Prints the completion of commands and options for a shell.");
  line.text("shell", shell, "bash, zsh or fish");
  line.choices({"bash", "zsh", "fish"});
  line.example("source <(ruvllm completion bash)", "For this shell");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const std::vector<CommandHelp> commands = all_command_help();
  if (shell == "bash") {
    fmt::print("{}", bash_completion(commands));
  } else if (shell == "zsh") {
    fmt::print("{}", zsh_completion(commands));
  } else if (shell == "fish") {
    fmt::print("{}", fish_completion(commands));
  } else {
    return line.wrong_call("say for which shell: bash, zsh or fish");
  }
  return kDone;
}

int man_command(int argc, char** argv) {
  std::string command;
  std::string folder;
  CommandLine line("man", "Prints a manual page as roff.");
  line.text("command", command, "The page of this command; that of the program when absent");
  line.text(
      "--all", folder,
      "Write all pages into this folder, which must be there: ruvllm.1, ruvllm-run.1 and others");
  line.example("ruvllm man run | man -l -", "Read the page of `run`");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!folder.empty()) {
    const Status status = write_manuals(folder);
    return status.ok() ? kDone : line.failed(status);
  }
  if (command.empty()) {
    fmt::print("{}", program_manual(all_command_help()));
    return kDone;
  }
  const Result<CommandHelp> help = described(command);
  if (!help) return line.wrong_call(help.error().message());
  fmt::print("{}", command_manual(*help));
  return kDone;
}

int reference_command(int argc, char** argv) {
  CommandLine line("reference", "Prints the reference page docs/cli.md.");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  fmt::print("{}", reference_page(all_command_help()));
  return kDone;
}

}  // namespace ruv
