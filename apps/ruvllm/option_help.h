// What is known of a subcommand and its options without running it: help, reference page, manual
// pages, completions and `ruvllm config` are made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ruv {

struct OptionHelp {
  std::vector<std::string> names;  // "--model", "-m"; the first with two dashes is its name
  std::string positional = {};     // "text": it may be given without a name; empty: it may not
  std::string type = {};           // "N" in "--ctx N"; empty: a flag
  std::string help = {};
  std::string preset = {};  // what holds when it is absent; empty: the help says
  std::string group = {};
  std::vector<std::string> choices = {};  // all values, where they are few; empty: not so
  bool repeats = false;
  bool is_secret = false;  // its value is not shown

  bool is_flag() const { return type.empty(); }
  // "--model"; empty: it has no such name.
  std::string name() const;
  // "RUVLLM_MODEL"; empty: no variable sets it.
  std::string variable() const;
};

// A call as it is typed, and what it is good for.
struct CommandExample {
  std::string call;
  std::string what;
};

struct CommandHelp {
  std::string name;
  std::string summary;
  std::vector<OptionHelp> options = {};
  std::vector<CommandExample> examples = {};

  // By any of its names; null: there is none.
  const OptionHelp* find(std::string_view option) const;
  // Groups in the order in which they are shown.
  std::vector<std::string> groups() const;
};

// The group of options that are positional, and of those that every subcommand has.
inline constexpr const char* kArgumentGroup = "Arguments";
inline constexpr const char* kCommonGroup = "The program";
inline constexpr const char* kOwnGroup = "Options";

}  // namespace ruv
