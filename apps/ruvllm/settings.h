// Settings: values of options that are not on the command line. A variable RUVLLM_<OPTION> comes
// before the configuration file, a TOML file in which keys at the top are for every subcommand that
// has the option, and those of a table for that subcommand: [serve].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config_file.h"
#include "option_help.h"

namespace ruv {

struct Setting {
  std::vector<std::string> values;
  std::string where;  // "RUVLLM_CTX", "config.toml:3: ctx"
  bool is_variable = false;
};

class Settings {
 public:
  // `path`: of --config; empty: RUVLLM_CONFIG, else the usual place, where no file need be; "off":
  // none. Fails: as reading the file; invalid (not TOML, or a key that no option has).
  static Result<Settings> open(const std::string& path);

  // What an option of a subcommand is set to; nothing: it is not.
  std::optional<Setting> find(std::string_view command, const OptionHelp& option) const;
  // The file; empty: none is read.
  const std::string& file() const { return file_; }
  // Variables named RUVLLM_… that belong to no option of `own` or of another subcommand.
  static std::vector<std::string> stray_variables(const CommandHelp& own);

 private:
  std::string file_;  // as messages name it
  std::vector<ConfigEntry> entries_;
};

}  // namespace ruv
