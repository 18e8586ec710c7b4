// Completions of shells. Values that are not among a few are completed as names of files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reference.h"

namespace ruv {
namespace {

// Commands whose argument is the name of a command.
bool takes_command(const CommandHelp& command) {
  return command.name == "config" || command.name == "man";
}

std::string command_names(std::span<const CommandHelp> commands) {
  std::string names;
  for (const CommandHelp& command : commands) names += command.name + ' ';
  return names + "help version";
}

// A text between single quotes of a POSIX shell; fish escapes in another way.
std::string quoted(std::string_view text, std::string_view for_quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += for_quote;
    } else if (c == '\\' && for_quote == "\\'") {
      out += "\\\\";
    } else {
      out.push_back(c);
    }
  }
  return out + '\'';
}

// The first sentence of a help text, short enough for a list.
std::string short_help(const std::string& help) {
  constexpr size_t kMost = 70;
  std::string text = help.substr(0, help.find_first_of(";:("));
  if (text.size() > kMost) {
    const size_t space = text.rfind(' ', kMost);
    text.resize(space == text.npos ? kMost : space);
  }
  return text;
}

// The words with which an argument of a subcommand may begin; empty: any file.
std::vector<std::string> argument_words(const CommandHelp& command,
                                        std::span<const CommandHelp> commands) {
  if (takes_command(command)) {
    std::vector<std::string> names;
    for (const CommandHelp& other : commands) names.push_back(other.name);
    return names;
  }
  for (const OptionHelp& row : command.options) {
    if (!row.positional.empty() && row.names.empty()) return row.choices;
  }
  return {};
}

// "[What it does]" of zsh, where brackets and colons have a meaning.
std::string zsh_text(const std::string& help) {
  std::string out;
  for (const char c : short_help(help)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string bash_completion(std::span<const CommandHelp> commands) {
  std::string options, values, arguments;
  for (const CommandHelp& command : commands) {
    std::string names;
    for (const OptionHelp& row : command.options) {
      for (const std::string& name : row.names) {
        names += (names.empty() ? "" : " ") + name;
        if (!row.choices.empty())
          values += fmt::format("    '{} {}') words='{}' ;;\n", command.name, name,
                                fmt::join(row.choices, " "));
      }
    }
    options += fmt::format("    {}) options='{}' ;;\n", command.name, names);
    const std::vector<std::string> words = argument_words(command, commands);
    if (!words.empty())
      arguments += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(words, " "));
  }
  return fmt::format(
      R"(# Completion of ruvllm for bash: source it, or put it where bash-completion looks,
# ~/.local/share/bash-completion/completions/ruvllm.
_ruvllm() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} options='' words=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{0}' -- "$current"))
    return
  fi
  if [[ $command == help ]]; then
    COMPREPLY=($(compgen -W '{0}' -- "$current"))
    return
  fi
  case "$command $before" in
{1}  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $command in
{2}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  ((COMP_CWORD == 2)) || return
  case $command in
{3}  esac
  [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _ruvllm ruvllm
)",
      command_names(commands), values, options, arguments);
}

std::string zsh_completion(std::span<const CommandHelp> commands) {
  std::string names, cases;
  for (const CommandHelp& command : commands) {
    names += "    " + quoted(command.name + ":" + zsh_text(command.summary), R"('\'')") + '\n';
    cases += fmt::format("    {})\n      _arguments -s \\\n", command.name);
    for (const OptionHelp& row : command.options) {
      for (const std::string& name : row.names) {
        std::string spec =
            fmt::format("{}{}[{}]", row.repeats ? "*" : "", name, zsh_text(row.help));
        if (!row.is_flag()) {
          spec += row.choices.empty() ? std::string(":value:_files")
                                      : fmt::format(":value:({})", fmt::join(row.choices, " "));
        }
        cases += "        " + quoted(spec, R"('\'')") + " \\\n";
      }
    }
    const std::vector<std::string> words = argument_words(command, commands);
    cases += words.empty() ? std::string("        '*:file:_files'\n")
                           : fmt::format("        '1:what:({})'\n", fmt::join(words, " "));
    cases += "      ;;\n";
  }
  return fmt::format(
      R"(#compdef ruvllm
# Completion of ruvllm for zsh: put it in a folder of $fpath as _ruvllm.
_ruvllm() {{
  local -a commands
  commands=(
{}    'help:The options of a command'
    'version:Which version this is'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
{}  esac
}}
if [[ $funcstack[1] == _ruvllm ]]; then
  _ruvllm "$@"
else
  compdef _ruvllm ruvllm
fi
)",
      names, cases);
}

std::string fish_completion(std::span<const CommandHelp> commands) {
  std::string out =
      "# Completion of ruvllm for fish: put it in ~/.config/fish/completions/ruvllm.fish.\n";
  for (const CommandHelp& command : commands) {
    out += fmt::format("complete -c ruvllm -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       quoted(short_help(command.summary), "\\'"));
  }
  out +=
      "complete -c ruvllm -n __fish_use_subcommand -f -a help\n"
      "complete -c ruvllm -n __fish_use_subcommand -f -a version\n";
  for (const CommandHelp& command : commands) {
    const std::string start =
        fmt::format("complete -c ruvllm -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionHelp& row : command.options) {
      if (row.names.empty()) continue;
      std::string line = start;
      for (const std::string& name : row.names) {
        const bool is_long = name.starts_with("--");
        line += fmt::format(" {} {}",
                            is_long            ? "-l"
                            : name.size() == 2 ? "-s"
                                               : "-o",
                            name.substr(is_long ? 2 : 1));
      }
      if (!row.is_flag()) line += " -r";
      if (!row.choices.empty()) line += fmt::format(" -f -a '{}'", fmt::join(row.choices, " "));
      out += line + " -d " + quoted(short_help(row.help), "\\'") + '\n';
    }
    const std::vector<std::string> words = argument_words(command, commands);
    if (!words.empty()) out += fmt::format("{} -f -a '{}'\n", start, fmt::join(words, " "));
  }
  return out;
}

}  // namespace ruv
