// CommandLine: what a subcommand accepts, declared in a few lines; parsing, help, ranges and exit
// codes are the same for all of them, and so are the other places that an option may come from:
// RUVLLM_<OPTION> and the configuration file (settings.h). CLI11 parses, in one translation unit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "option_help.h"
#include "ruv/kv_type.h"
#include "ruv/options.h"
#include "ruv/params.h"

namespace ruv {

class Settings;

inline constexpr int kDone = 0;
inline constexpr int kJobFailed = 1;
inline constexpr int kWrongCall = 2;
inline constexpr int kInterrupted = 130;

class CommandLine {
 public:
  CommandLine(const char* command, const char* help);
  ~CommandLine();

  // `flags` as "--model,-m"; a name without dashes is positional. The variable keeps its value when
  // the flag is absent, which is then what the help shows as the default, and must live until
  // parse() returns.
  void text(const char* flags, std::string& value, const char* help);
  // Positional: all free arguments, in order.
  void words(const char* name, std::vector<std::string>& values, const char* help);
  // May be given several times, one text each.
  void texts(const char* flags, std::vector<std::string>& values, const char* help);
  void flag(const char* flags, bool& value, const char* help);
  // A text that `ruvllm config` does not show.
  void secret(const char* flags, std::string& value, const char* help);
  // Decimal; outside [min, max] is a wrong call.
  void integer(const char* flags, int64_t& value, int64_t min, int64_t max, const char* help);
  void threads(int& n_threads);
  // --kv f16, int8, …; another word is a wrong call. Nothing: what suits the model.
  void kv(std::optional<KvType>& type);
  void kv(KvType& type);
  // Every row of generate_options() but the one named `without`, --stop-token, --allowed-token and
  // --logit-bias.
  void generation(GenerateParams& params, std::string_view without = {});
  // Those of the rows that say how a token is drawn.
  void sampling(GenerateParams& params);
  // The params of such flags where they were given, elsewhere what suits the model. Requires:
  // parse() returned nothing.
  GenerateParams params_for(const ModelInfo& info, const GenerateParams& given) const;

  // What follows is shown under this title in the help.
  void group(const char* title);
  const std::string& group() const { return group_; }
  // All values of the option that was declared last, for help and completion; whether another one
  // is refused is up to the subcommand.
  void choices(std::vector<std::string> values);
  void example(const char* call, const char* what);
  // Options of which one is enough: where one is given, those that a weaker place gives do not
  // count (the command line before the environment before the file).
  void alternatives(std::vector<std::string> flags);

  // The exit code to leave with (help was shown, or the call is wrong); nothing: the call is right.
  std::optional<int> parse(int argc, char** argv);
  // Whether the user gave the flag, here or elsewhere. Requires: parse() returned nothing.
  bool given(const char* flag) const;

  // The value of --config.
  const std::string& config_file() const { return config_file_; }

  // Prints "ruvllm <command>: <message>" to stderr; the exit code to return.
  int wrong_call(std::string_view message) const;
  int failed(const Status& status) const;  // of what Ctrl-C stopped: kInterrupted
  // The same prefix without ending anything.
  void note(std::string_view message) const;
  // The same in red at a terminal: something went wrong.
  void error(std::string_view message) const;

 private:
  struct CliParser;
  // Sets a variable from the texts that were given. Throws: WrongValue.
  using Read = std::function<void(const std::vector<std::string>&)>;
  OptionHelp& add(const char* flags, const std::string& help, const char* type, bool repeats,
                  Read read);
  void add_row(const OptionRow& row, GenerateParams& params);
  void add_flag(const OptionRow& row, GenerateParams& params);
  void add_common();
  std::string unknown_option(std::string_view text) const;
  std::string take_extras(const std::vector<std::string>& extras);
  // What the environment and the file say. Fails: as Settings::open, invalid (a wrong value).
  Status take_settings();
  int strength_of(size_t row, const Settings& settings) const;
  bool is_outdone(size_t row, const std::vector<int>& strengths) const;

  std::string command_;
  std::string group_;
  CommandHelp help_;
  std::vector<Read> reads_;        // of the rows of help_
  std::vector<bool> set_outside_;  // by a setting, likewise
  std::vector<std::vector<std::string>> alternatives_;
  std::string config_file_;
  bool quiet_ = false;
  bool verbose_ = false;
  const int* n_threads_ = nullptr;
  std::vector<std::string>* words_ = nullptr;
  std::unique_ptr<CliParser> parser_;
};

// Options declared while it lives are of this group.
class OptionGroup {
 public:
  OptionGroup(CommandLine& line, const char* title) : line_(line), before_(line.group()) {
    line.group(title);
  }
  ~OptionGroup() { line_.group(before_.c_str()); }
  OptionGroup(const OptionGroup&) = delete;
  OptionGroup& operator=(const OptionGroup&) = delete;

 private:
  CommandLine& line_;
  std::string before_;
};

// While it lives, parse() only hands over what it would accept, and ends the subcommand. Main
// thread only.
class DescribeScope {
 public:
  explicit DescribeScope(CommandHelp& out);
  ~DescribeScope();
  DescribeScope(const DescribeScope&) = delete;
  DescribeScope& operator=(const DescribeScope&) = delete;
};

// An option of the table from a text, as on the command line. Fails: invalid.
Status set_option_text(const OptionRow& row, GenerateParams& params, const std::string& text);
// A whole decimal number, or nothing.
std::optional<int64_t> parse_decimal(std::string_view text);
// Ids separated by commas. Fails: invalid, quoting the part that is not an id.
Result<std::vector<Token>> parse_ids(std::string_view text);
// One line of JSON on stdout; bytes that are not UTF-8 become U+FFFD.
void print_json_line(const Json& json);

}  // namespace ruv
