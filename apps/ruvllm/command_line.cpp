// CommandLine over CLI11. Numbers are read here, not by CLI11, so that "010" is ten and "1e99" or
// "nan" is a wrong call and not a surprise.
#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "base/machine.h"
#include "foreign_options.h"
#include "help_text.h"
#include "nearest_name.h"
#include "ruv/options.h"
#include "settings.h"
#include "terminal.h"

namespace ruv {
namespace {

constexpr std::string_view kSeed = "seed";

// The whole text as a number, without spaces or a plus sign.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A value that an option does not take; what it says names no option, as the place is added where
// it is caught.
struct WrongValue {
  std::string why;
};
[[noreturn]] void refuse(std::string why) { throw WrongValue{std::move(why)}; }

CommandHelp* g_described = nullptr;

Token token_of(std::string_view text) {
  const std::optional<Token> id = parse_number<Token>(text);
  if (!id || *id < 0) refuse(fmt::format("'{}' is not a token id", text));
  return *id;
}

std::pair<Token, float> bias_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) refuse(fmt::format("'{}' is not ID:BIAS", text));
  const std::optional<float> bias = parse_number<float>(text.substr(colon + 1));
  if (!bias || !std::isfinite(*bias)) refuse(fmt::format("'{}' has no number", text));
  return {token_of(text.substr(0, colon)), *bias};
}

// The text as the row's value; of several texts, this one after those before.
OptionValue value_of(const OptionRow& row, const GenerateParams& params, const std::string& text) {
  if (row.kind == OptionRow::Kind::texts) {
    auto texts = std::get<std::vector<std::string>>(row.get(params));
    texts.push_back(text);
    return texts;
  }
  const std::optional<double> number = parse_number<double>(text);
  if (!number || !std::isfinite(*number)) refuse(fmt::format("'{}' is not a number", text));
  if (row.kind == OptionRow::Kind::number) return *number;
  const std::optional<int64_t> whole = parse_number<int64_t>(text);
  if (!whole) refuse(fmt::format("{} is not a whole number", text));
  return *whole;
}

void set_row(const OptionRow& row, GenerateParams& params, const std::string& text) {
  if (row.name == kSeed && text == "-1") return;  // as elsewhere: drawn

  const Status status = set_option(row, params, value_of(row, params, text));
  if (status.ok()) return;
  // It begins with the option's name, as the flag does.
  const std::string name = std::string(row.name) + ": ";
  refuse(status.message().substr(status.message().starts_with(name) ? name.size() : 0));
}

// max_tokens becomes --max-tokens.
std::string flag_of(const OptionRow& row) {
  std::string flag = std::string("--") + row.name;
  for (char& c : flag) {
    if (c == '_') c = '-';
  }
  return flag;
}

constexpr const char* kKvHelp =
    "How the context's keys and values are stored: f16, int8 in half the memory, or int4, int2 "
    "where `ruvllm kv-gate` found that the model tolerates it";

KvType kv_type_of(const std::string& text) {
  const std::optional<KvType> found = find_kv_type(text);
  if (!found) refuse(fmt::format("'{}' is not one of f16, int8, int4, int2", text));
  return *found;
}

// The row's default; empty: it has none, or none that a line can show.
std::string preset_of(const OptionRow& row) {
  const OptionValue value = row.get(GenerateParams{});
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:g}", *number);
  return {};
}

// An option is mostly a word in lower case whose help begins with a capital letter, and the rows of
// the table are written for pages where they follow a dash.
std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// A flag of the environment or the file; nothing: the text is neither yes nor no.
std::optional<bool> switch_of(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off", ""}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::vector<std::string> split_names(std::string_view flags) {
  std::vector<std::string> names;
  while (true) {
    const size_t comma = flags.find(',');
    names.emplace_back(flags.substr(0, comma));
    if (comma == flags.npos) return names;
    flags.remove_prefix(comma + 1);
  }
}

}  // namespace

struct CommandLine::CliParser {
  CLI::App app;
};

DescribeScope::DescribeScope(CommandHelp& out) { g_described = &out; }
DescribeScope::~DescribeScope() { g_described = nullptr; }

CommandLine::CommandLine(const char* command, const char* help)
    : command_(command), group_(kOwnGroup), parser_(std::make_unique<CliParser>()) {
  help_.name = command;
  help_.summary = help;
  parser_->app.name(std::string("ruvllm ") + command);
  parser_->app.allow_extras();  // parse() says what is wrong with them
}

CommandLine::~CommandLine() = default;

OptionHelp& CommandLine::add(const char* flags, const std::string& help, const char* type,
                             bool repeats, Read read) {
  OptionHelp row{.names = {}, .type = type, .help = help, .group = group_, .repeats = repeats};
  for (std::string& name : split_names(flags)) {
    if (name.starts_with('-')) {
      row.names.push_back(std::move(name));
    } else {
      row.positional = std::move(name);
    }
  }
  if (row.names.empty()) row.group = kArgumentGroup;
  const std::string first = row.names.empty() ? row.positional : row.names.front();
  const auto checked = [read, first](const std::vector<std::string>& values) {
    try {
      read(values);
    } catch (const WrongValue& wrong) {
      throw CLI::ValidationError(first, wrong.why);
    }
  };
  if (row.is_flag()) {
    parser_->app.add_flag_callback(flags, [read] { read({}); });
  } else if (repeats && !row.names.empty()) {
    parser_->app.add_option_function<std::vector<std::string>>(flags, checked)
        ->allow_extra_args(false);
  } else {
    parser_->app.add_option_function<std::string>(
        flags, [checked](const std::string& value) { checked({value}); });
  }
  help_.options.push_back(std::move(row));
  reads_.push_back(std::move(read));
  return help_.options.back();
}

void CommandLine::group(const char* title) { group_ = title; }

void CommandLine::choices(std::vector<std::string> values) {
  help_.options.back().choices = std::move(values);
}

void CommandLine::example(const char* call, const char* what) {
  help_.examples.push_back({call, what});
}

void CommandLine::alternatives(std::vector<std::string> flags) {
  alternatives_.push_back(std::move(flags));
}

void CommandLine::text(const char* flags, std::string& value, const char* help) {
  add(flags, help, "TEXT", false, [&value](const auto& texts) { value = texts.front(); }).preset =
      value;
}

void CommandLine::secret(const char* flags, std::string& value, const char* help) {
  text(flags, value, help);
  help_.options.back().is_secret = true;
}

void CommandLine::words(const char* name, std::vector<std::string>& values, const char* help) {
  words_ = &values;
  add(name, help, "TEXT", true,
      [&values](const auto& texts) { values.insert(values.end(), texts.begin(), texts.end()); });
}

void CommandLine::texts(const char* flags, std::vector<std::string>& values, const char* help) {
  add(flags, help, "TEXT", true, [&values](const auto& texts) { values = texts; });
}

void CommandLine::flag(const char* flags, bool& value, const char* help) {
  add(flags, help, "", false, [&value](const auto&) { value = true; });
}

void CommandLine::integer(const char* flags, int64_t& value, int64_t min, int64_t max,
                          const char* help) {
  const auto read = [&value, min, max](const std::vector<std::string>& texts) {
    const std::optional<int64_t> number = parse_decimal(texts.front());
    if (!number) refuse(fmt::format("'{}' is not a whole number", texts.front()));
    if (*number < min || *number > max)
      refuse(fmt::format("{} is not within {} to {}", *number, min, max));
    value = *number;
  };
  OptionHelp& row = add(flags, help, "N", false, read);
  // What lies outside means "absent", and the help says what then holds.
  if (value >= min && value <= max) row.preset = fmt::format("{}", value);
}

void CommandLine::threads(int& n_threads) {
  n_threads_ = &n_threads;
  const auto read = [&n_threads](const std::vector<std::string>& texts) {
    const std::optional<int64_t> number = parse_decimal(texts.front());
    if (!number || *number < 0 || *number > 1024)
      refuse(fmt::format("'{}' is not within 0 to 1024", texts.front()));
    n_threads = static_cast<int>(*number);
  };
  add("--threads,-t", "Threads that compute; 0: one per core", "N", false, read).preset =
      fmt::format("{}", n_threads);
}

void CommandLine::kv(std::optional<KvType>& type) {
  add("--kv",
      fmt::format("{}; when absent int8, or f16 for heads narrower than {}", kKvHelp, kNarrowHead),
      "TYPE", false, [&type](const auto& texts) { type = kv_type_of(texts.front()); });
  choices({"f16", "int8", "int4", "int2"});
}

void CommandLine::kv(KvType& type) {
  add("--kv", kKvHelp, "TYPE", false, [&type](const auto& texts) {
    type = kv_type_of(texts.front());
  }).preset = kv_type_name(type);
  choices({"f16", "int8", "int4", "int2"});
}

// What is on unless switched off has the flag --no-….
void CommandLine::add_flag(const OptionRow& row, GenerateParams& params) {
  const bool is_on = std::get<bool>(row.get(GenerateParams{}));
  const std::string flag = is_on ? "--no-" + flag_of(row).substr(2) : flag_of(row);
  const std::string help = is_on ? fmt::format("Do not {}", row.doc) : sentence(row.doc);
  add(flag.c_str(), help, "", false,
      [&row, &params, is_on](const auto&) { row.set(params, !is_on); });
}

void CommandLine::add_row(const OptionRow& row, GenerateParams& params) {
  const std::string flag = flag_of(row);
  const OptionGroup group(*this, row.is_sampling ? "Sampling" : "The answer");
  using Kind = OptionRow::Kind;
  if (row.kind == Kind::flag) return add_flag(row, params);
  const bool is_list = row.kind == Kind::texts;
  // Texts that are given replace the default.
  const auto read = [&row, &params, is_list](const std::vector<std::string>& texts) {
    if (is_list) row.set(params, std::vector<std::string>());
    for (const std::string& text : texts) set_row(row, params, text);
  };
  const char* const type = is_list ? "TEXT" : row.kind == Kind::integer ? "N" : "X";
  const bool is_seed = row.name == kSeed;
  OptionHelp& added =
      add(flag.c_str(), sentence(row.doc) + (is_seed ? ", or -1" : ""), type, is_list, read);
  added.preset = preset_of(row);
  for (const std::string_view word : row.words) added.choices.emplace_back(word);
}

void CommandLine::sampling(GenerateParams& params) {
  for (const OptionRow& row : generate_options()) {
    if (row.is_sampling) add_row(row, params);
  }
}

GenerateParams CommandLine::params_for(const ModelInfo& info, const GenerateParams& given) const {
  GenerateParams params = given;
  const GenerateParams usual = recommended_params(info);
  for (const OptionRow& row : generate_options()) {
    if (!row.is_sampling && row.name != std::string_view("stop")) continue;
    // Servers take no --stop.
    const std::string flag = flag_of(row);
    const bool is_given = help_.find(flag) != nullptr && this->given(flag.c_str());
    if (!is_given) row.set(params, row.get(usual));
  }
  return params;
}

void CommandLine::generation(GenerateParams& params, std::string_view without) {
  for (const OptionRow& row : generate_options()) {
    if (row.name != without) add_row(row, params);
  }
  const OptionGroup group(*this, "The answer");
  add("--stop-token", "The answer ends at this id; may be repeated", "ID", true,
      [&params](const auto& texts) {
        for (const std::string& text : texts) params.stop_tokens.push_back(token_of(text));
      });
  add("--allowed-token", "Only this id and others so given may come; may be repeated", "ID", true,
      [&params](const auto& texts) {
        for (const std::string& text : texts) params.allowed_token_ids.push_back(token_of(text));
      });
  add("--logit-bias", "Added to the logit of one token; may be repeated", "ID:BIAS", true,
      [&params](const auto& texts) {
        for (const std::string& text : texts) params.logit_bias.push_back(bias_of(text));
      });
}

// Those of every subcommand. A short name is taken where the subcommand has not used it.
void CommandLine::add_common() {
  const OptionGroup group(*this, kCommonGroup);
  const auto with_short = [&](const char* name, const char* short_name) {
    return help_.find(short_name) == nullptr ? fmt::format("{},{}", name, short_name)
                                             : std::string(name);
  };
  flag(with_short("--quiet", "-q").c_str(), quiet_,
       "Print no progress, speeds and remarks; warnings and errors stay");
  flag(with_short("--verbose", "-v").c_str(), verbose_, "Say more about what is done");
  text("--config", config_file_,
       "Configuration file, or off; $XDG_CONFIG_HOME/ruvllm/config.toml or "
       "~/.config/ruvllm/config.toml when absent");
  help_.options.push_back(
      {.names = {"-h", "--help"}, .help = "Print this help", .group = kCommonGroup});
  reads_.emplace_back();
}

std::string CommandLine::unknown_option(std::string_view text) const {
  const std::string name(text.substr(0, text.find('=')));
  const std::string start = fmt::format("there is no option '{}'", name);
  if (const std::string known = advice_on(name, help_); !known.empty()) return start + "; " + known;
  std::vector<std::string> names;
  for (const OptionHelp& row : help_.options) {
    if (!row.name().empty()) names.push_back(row.name());
  }
  const std::string meant = name.starts_with("--") ? nearest_name(name, names) : "";
  return start + (meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

// Arguments that no option and no single positional took. Returns an objection, or nothing.
std::string CommandLine::take_extras(const std::vector<std::string>& extras) {
  bool all_free = false;  // after "--" nothing is an option
  std::vector<std::string> free;
  for (const std::string& text : extras) {
    if (!all_free && text == "--") {
      all_free = true;
      continue;
    }
    const bool is_option = text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9');
    if (is_option && !all_free) return unknown_option(text);
    free.push_back(text);
  }
  if (words_ != nullptr) {
    words_->insert(words_->end(), free.begin(), free.end());
  } else if (!free.empty()) {
    return fmt::format("unexpected argument '{}'", free.front());
  }
  return {};
}

// 3: the command line, 2: the environment, 1: the file, 0: absent.
int CommandLine::strength_of(size_t row, const Settings& settings) const {
  const OptionHelp& option = help_.options[row];
  const std::string& name = option.names.empty() ? option.positional : option.names.front();
  if (name == "-h") return 0;
  if (parser_->app.count(name) > 0) return 3;
  const std::optional<Setting> found = settings.find(command_, option);
  if (!found) return 0;
  return found->is_variable ? 2 : 1;
}

bool CommandLine::is_outdone(size_t row, const std::vector<int>& strengths) const {
  const OptionHelp& option = help_.options[row];
  for (const std::vector<std::string>& set : alternatives_) {
    const auto is_member = [&](const OptionHelp& other) {
      return std::ranges::any_of(set, [&](const std::string& flag) {
        return other.positional == flag ||
               std::ranges::find(other.names, flag) != other.names.end();
      });
    };
    if (!is_member(option)) continue;
    for (size_t i = 0; i < strengths.size(); ++i) {
      if (strengths[i] > strengths[row] && is_member(help_.options[i])) return true;
    }
  }
  return false;
}

Status CommandLine::take_settings() {
  const Settings settings = TRY(Settings::open(config_file_));
  std::vector<int> strengths;
  for (size_t i = 0; i < help_.options.size(); ++i) strengths.push_back(strength_of(i, settings));
  set_outside_.assign(help_.options.size(), false);
  for (size_t i = 0; i < help_.options.size(); ++i) {
    if (strengths[i] == 0 || strengths[i] == 3 || is_outdone(i, strengths)) continue;
    const OptionHelp& option = help_.options[i];
    const Setting setting = *settings.find(command_, option);
    if (option.is_flag()) {
      const std::optional<bool> on =
          setting.values.size() == 1 ? switch_of(setting.values.front()) : std::nullopt;
      if (!on) return fail(Code::invalid, "{}: neither true nor false", setting.where);
      if (!*on) continue;
    } else if (!option.repeats && setting.values.size() != 1) {
      return fail(Code::invalid, "{}: one value is needed, not a list", setting.where);
    }
    set_outside_[i] = true;
    try {
      reads_[i](setting.values);
    } catch (const WrongValue& wrong) {
      return fail(Code::invalid, "{}: {}", setting.where, wrong.why);
    }
  }
  return {};
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  add_common();
  if (g_described != nullptr) {
    *g_described = std::move(help_);
    return kDone;
  }
  try {
    parser_->app.parse(argc, argv);
    if (const std::string objection = take_extras(parser_->app.remaining()); !objection.empty())
      return wrong_call(objection);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(help_, text_width()));
    return kDone;
  } catch (const CLI::ParseError& error) {
    return wrong_call(error.what());
  }
  if (const Status status = take_settings(); !status.ok()) {
    return status.code() == Code::invalid ? wrong_call(status.message()) : failed(status);
  }
  if (quiet_ && verbose_) return wrong_call("--quiet and --verbose contradict each other");
  set_talk(quiet_ ? Talkative::quiet : verbose_ ? Talkative::verbose : Talkative::usual);
  for (const std::string& name : Settings::stray_variables(help_))
    note(fmt::format("{} is set, but no option has this name", name));
  if (n_threads_ != nullptr && *n_threads_ > available_cores())
    note(fmt::format("--threads {} on {} cores: threads that share a core slow each other down",
                     *n_threads_, available_cores()));
  return std::nullopt;
}

bool CommandLine::given(const char* flag) const {
  if (parser_->app.count(flag) > 0) return true;
  const OptionHelp* const row = help_.find(flag);
  return row != nullptr && set_outside_[static_cast<size_t>(row - help_.options.data())];
}

void CommandLine::note(std::string_view message) const {
  std::fflush(stdout);
  fmt::print(stderr, "ruvllm {}: {}\n", command_, message);
}

int CommandLine::wrong_call(std::string_view message) const {
  error(message);
  fmt::print(stderr, "`ruvllm {} --help` lists its options\n", command_);
  return kWrongCall;
}

void CommandLine::error(std::string_view message) const {
  std::fflush(stdout);
  const TerminalStyle style = style_of(stderr);
  fmt::print(stderr, "{}ruvllm {}: {}{}\n", style.red, command_, message, style.reset);
}

int CommandLine::failed(const Status& status) const {
  error(status.message());
  return status.code() == Code::cancelled ? kInterrupted : kJobFailed;
}

Status set_option_text(const OptionRow& row, GenerateParams& params, const std::string& text) {
  if (row.kind == OptionRow::Kind::flag) {
    const std::optional<bool> on = switch_of(text);
    if (!on) return fail(Code::invalid, "{}: neither true nor false", row.name);
    row.set(params, *on);
    return {};
  }
  try {
    if (row.kind == OptionRow::Kind::texts) row.set(params, std::vector<std::string>());
    set_row(row, params, text);
  } catch (const WrongValue& wrong) {
    return fail(Code::invalid, "{}: {}", row.name, wrong.why);
  }
  return {};
}

std::optional<int64_t> parse_decimal(std::string_view text) { return parse_number<int64_t>(text); }

Result<std::vector<Token>> parse_ids(std::string_view text) {
  std::vector<Token> ids;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::optional<Token> id = parse_number<Token>(part);
    if (!id || *id < 0) return fail(Code::invalid, "'{}' is not a token id", part);
    ids.push_back(*id);
    if (comma == text.npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

void print_json_line(const Json& json) { fmt::print("{}\n", json.dump()); }

}  // namespace ruv
