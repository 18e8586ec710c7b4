#include "help_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace ruv {
namespace {

size_t columns_of(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).size) ++n;
  return n;
}

void add_option(std::string& out, const OptionHelp& row, size_t width) {
  const size_t indent = width < 70 ? 8 : 28;
  const std::string head = "  " + option_head(row);
  const bool own_line = columns_of(head) + 2 > indent;
  out += head;
  if (own_line) {
    out += '\n' + std::string(indent, ' ');
  } else {
    out.append(indent - columns_of(head), ' ');
  }
  const std::string preset = row.preset.empty() ? "" : fmt::format(" [{}]", row.preset);
  out += wrapped(row.help + preset, width, indent) + '\n';
}

}  // namespace

std::string wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const size_t size = columns_of(word);
    if (column > indent && column + 1 + size > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += size;
  }
  return out;
}

std::string option_head(const OptionHelp& row) {
  if (row.names.empty()) return row.positional + (row.repeats ? "..." : "");
  std::string head;
  // Short names first, as everywhere.
  for (const size_t dashes : {size_t{1}, size_t{2}}) {
    for (const std::string& name : row.names) {
      if ((name.starts_with("--") ? 2U : 1U) != dashes) continue;
      head += (head.empty() ? "" : ", ") + name;
    }
  }
  return row.is_flag() ? head : head + ' ' + row.type;
}

std::string usage_line(const CommandHelp& command) {
  std::string line = fmt::format("ruvllm {} [OPTIONS]", command.name);
  for (const OptionHelp& row : command.options) {
    if (!row.positional.empty())
      line += fmt::format(" [{}]{}", row.positional, row.repeats ? "..." : "");
  }
  return line;
}

std::string help_text(const CommandHelp& command, size_t width) {
  std::string out = wrapped(command.summary, width, 0) + "\n\nUsage: " + usage_line(command) + '\n';
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const CommandExample& example : command.examples) {
    out += fmt::format("  {}\n      {}\n", example.call, wrapped(example.what, width, 6));
  }
  for (const std::string& group : command.groups()) {
    out += fmt::format("\n{}:\n", group);
    for (const OptionHelp& row : command.options) {
      if (row.group == group) add_option(out, row, width);
    }
  }
  return out + '\n' +
         wrapped(fmt::format("Each option is also a variable (--ctx: RUVLLM_CTX) and a key of the "
                             "configuration file; `ruvllm config {}` shows what holds.",
                             command.name),
                 width, 0) +
         '\n';
}

}  // namespace ruv
