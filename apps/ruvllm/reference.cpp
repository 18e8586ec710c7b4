// The reference page and the manual pages.
#include "reference.h"

#include <fmt/format.h>

#include "help_text.h"
#include "ruv/version.h"

namespace ruv {
namespace {

constexpr size_t kPageWidth = 110;
constexpr size_t kRoffWidth = 70;
constexpr const char* kSettings =
    "An option is taken from the first place that gives it: the command line, the variable RUVLLM_ "
    "with its name (RUVLLM_CTX for --ctx), the subcommand's table in the configuration file "
    "([serve]), the top of that file, the default. The file is $XDG_CONFIG_HOME/ruvllm/config.toml "
    "or ~/.config/ruvllm/config.toml, unless --config or RUVLLM_CONFIG names another one or says "
    "off. Its keys are the names of options without the dashes; flags are true or false, and "
    "options that may be repeated take lists. A key that no option has is refused.";
constexpr const char* kExample =
    "model = \"/models/qwen3-4b.gguf\"\nthreads = 8\n\n[serve]\nport = 9000\n"
    "allow-host = [\"llm.example\"]\n";

// Text of roff: nothing in it is a request or an escape.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string heading(const std::string& page) {
  return fmt::format(".TH {} 1 \"\" \"ruvllm {}\" \"User Commands\"\n.nh\n.ad l\n", page,
                     RUV_VERSION);
}

std::string roff_example(std::string_view text) {
  return fmt::format(".PP\n.nf\n.RS 4\n{}.RE\n.fi\n", roff(text));
}

void add_option(std::string& out, const OptionHelp& row) {
  const std::string preset = row.preset.empty() ? "" : fmt::format(" [{}]", row.preset);
  out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option_head(row)),
                     roff(wrapped(row.help + preset, kRoffWidth, 0)));
}

// A line of a list. Code in backticks may hold a backtick no more than it may be broken.
void add_line(std::string& out, const OptionHelp& row) {
  std::string line = fmt::format("- `{}`: {}", option_head(row), row.help);
  if (!row.preset.empty()) line += fmt::format(" [{}]", row.preset);
  out += wrapped(line, kPageWidth, 2) + '\n';
}

}  // namespace

std::string reference_page(std::span<const CommandHelp> commands) {
  std::string out =
      "# Command line\n\n<!-- cli:begin -->\n" +
      wrapped(
          "Made by the program from its tables of options: `ruvllm help COMMAND` shows the same "
          "for one command, and `ruvllm man` and `ruvllm completion` print it as manual pages "
          "and for shells. Values in brackets are defaults.",
          kPageWidth, 0) +
      "\n\n## Where options come from\n\n" + wrapped(kSettings, kPageWidth, 0) + "\n\n```text\n" +
      kExample + "```\n\n" +
      wrapped("Exit codes: 0 done, 1 the job failed, 2 the call was wrong, 130 ended by Ctrl-C.",
              kPageWidth, 0) +
      '\n';
  for (const CommandHelp& command : commands) {
    out += fmt::format("\n## {}\n\n{}\n\n```text\n{}\n", command.name,
                       wrapped(command.summary, kPageWidth, 0), usage_line(command));
    for (const CommandExample& example : command.examples)
      out += fmt::format("\n# {}\n{}\n", example.what, example.call);
    out += "```\n";
    for (const std::string& group : command.groups()) {
      if (group == kCommonGroup) continue;
      out += fmt::format("\n**{}**\n\n", group);
      for (const OptionHelp& row : command.options) {
        if (row.group == group) add_line(out, row);
      }
    }
  }
  out += "\n## Options of every command\n\n";
  if (!commands.empty()) {
    for (const OptionHelp& row : commands.front().options) {
      if (row.group == kCommonGroup) add_line(out, row);
    }
  }
  return out + "<!-- cli:end -->\n";
}

std::string program_manual(std::span<const CommandHelp> commands) {
  std::string out = heading("RUVLLM") +
                    ".SH NAME\nruvllm \\- local language models\n.SH SYNOPSIS\n"
                    ".B ruvllm\n.I COMMAND\n[OPTIONS]\n.SH COMMANDS\n";
  for (const CommandHelp& command : commands) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name),
                       roff(wrapped(command.summary, kRoffWidth, 0)));
  }
  out += fmt::format(".SH SETTINGS\n{}\n", roff(wrapped(kSettings, kRoffWidth, 0))) +
         roff_example(kExample);
  out +=
      ".SH EXIT STATUS\n0 done, 1 the job failed, 2 the call was wrong, 130 ended by Ctrl\\-C.\n"
      ".SH SEE ALSO\n";
  for (size_t i = 0; i < commands.size(); ++i) {
    out += fmt::format(".BR ruvllm\\-{} (1){}\n", roff(commands[i].name),
                       i + 1 < commands.size() ? "," : "");
  }
  return out;
}

std::string command_manual(const CommandHelp& command) {
  std::string summary = command.summary;
  if (summary.ends_with('.')) summary.pop_back();
  std::string title = "RUVLLM-" + command.name;
  for (char& c : title) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  std::string out =
      heading(roff(title)) +
      fmt::format(".SH NAME\nruvllm\\-{} \\- {}\n.SH SYNOPSIS\n{}\n.SH OPTIONS\n",
                  roff(command.name), roff(wrapped(summary, 60, 0)), roff(usage_line(command)));
  for (const std::string& group : command.groups()) {
    out += fmt::format(".SS {}\n", roff(group));
    for (const OptionHelp& row : command.options) {
      if (row.group == group) add_option(out, row);
    }
  }
  if (!command.examples.empty()) out += ".SH EXAMPLES\n";
  for (const CommandExample& example : command.examples)
    out += roff(example.what) + '\n' + roff_example(example.call + '\n');
  return out + ".SH SEE ALSO\n.BR ruvllm (1)\n";
}

}  // namespace ruv
