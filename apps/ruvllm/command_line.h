// CommandLine: what a subcommand accepts, declared in a few lines; parsing, help, ranges and exit
// codes are the same for all of them. CLI11 parses, in one translation unit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "ruv/kv_type.h"
#include "ruv/options.h"
#include "ruv/params.h"

namespace ruv {

inline constexpr int kDone = 0;
inline constexpr int kJobFailed = 1;
inline constexpr int kWrongCall = 2;
inline constexpr int kInterrupted = 130;

class CommandLine {
 public:
  CommandLine(const char* command, const char* help);
  ~CommandLine();

  // `flags` as "--model,-m"; a name without dashes is positional. The variable keeps its value when
  // the flag is absent, and must live until parse() returns.
  void text(const char* flags, std::string& value, const char* help);
  // Positional: all free arguments, in order.
  void words(const char* name, std::vector<std::string>& values, const char* help);
  // May be given several times, one text each.
  void texts(const char* flags, std::vector<std::string>& values, const char* help);
  void flag(const char* flags, bool& value, const char* help);
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

  // The exit code to leave with (help was shown, or the call is wrong); nothing: the call is right.
  std::optional<int> parse(int argc, char** argv);
  // Whether the user gave the flag. Requires: parse() returned nothing.
  bool given(const char* flag) const;

  // Prints "ruvllm <command>: <message>" to stderr; the exit code to return.
  int wrong_call(std::string_view message) const;
  int failed(const Status& status) const;
  // The same prefix without ending anything.
  void note(std::string_view message) const;

 private:
  struct CliParser;
  void add_row(const OptionRow& row, GenerateParams& params);
  void add_flag(const OptionRow& row, GenerateParams& params);
  std::string unknown_option(std::string_view text) const;
  std::string take_extras(const std::vector<std::string>& extras);

  std::string command_;
  const int* n_threads_ = nullptr;
  std::vector<std::string>* words_ = nullptr;
  std::unique_ptr<CliParser> parser_;
};

// A whole decimal number, or nothing.
std::optional<int64_t> parse_decimal(std::string_view text);
// Ids separated by commas. Fails: invalid, quoting the part that is not an id.
Result<std::vector<Token>> parse_ids(std::string_view text);
// One line of JSON on stdout; bytes that are not UTF-8 become U+FFFD.
void print_json_line(const Json& json);

}  // namespace ruv
