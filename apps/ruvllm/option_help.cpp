#include "option_help.h"

#include <algorithm>

namespace ruv {

std::string OptionHelp::name() const {
  for (const std::string& name : names) {
    if (name.starts_with("--")) return name;
  }
  return {};
}

std::string OptionHelp::variable() const {
  const std::string option = name();
  if (option.empty() || option == "--help") return {};
  std::string variable = "RUVLLM_";
  for (const char c : option.substr(2)) {
    const bool is_small = c >= 'a' && c <= 'z';
    variable += c == '-' ? '_' : is_small ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

const OptionHelp* CommandHelp::find(std::string_view option) const {
  for (const OptionHelp& row : options) {
    if (row.positional == option || std::ranges::find(row.names, option) != row.names.end())
      return &row;
  }
  return nullptr;
}

std::vector<std::string> CommandHelp::groups() const {
  std::vector<std::string> found;
  const auto add = [&](const std::string& group) {
    if (std::ranges::find(found, group) == found.end()) found.push_back(group);
  };
  // Those of the subcommand itself first, the common ones last.
  for (const char* const first : {kArgumentGroup, kOwnGroup}) {
    for (const OptionHelp& row : options) {
      if (row.group == first) add(row.group);
    }
  }
  for (const OptionHelp& row : options) {
    if (row.group != kCommonGroup) add(row.group);
  }
  add(kCommonGroup);
  return found;
}

}  // namespace ruv
