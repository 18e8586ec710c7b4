// CommandLine over CLI11. Numbers are read here, not by CLI11, so that "010" is ten and "1e99" or
// "nan" is a wrong call and not a surprise.
#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "base/machine.h"
#include "nearest_name.h"
#include "ruv/options.h"

namespace ruv {
namespace {

// The whole text as a number, without spaces or a plus sign.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Caught by CLI11 and reported by parse() as a wrong call.
[[noreturn]] void refuse(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError(flag, why);
}

Token token_of(const std::string& flag, std::string_view text) {
  const std::optional<Token> id = parse_number<Token>(text);
  if (!id || *id < 0) refuse(flag, fmt::format("'{}' is not a token id", text));
  return *id;
}

std::pair<Token, float> bias_of(const std::string& flag, std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) refuse(flag, fmt::format("'{}' is not ID:BIAS", text));
  const std::optional<float> bias = parse_number<float>(text.substr(colon + 1));
  if (!bias || !std::isfinite(*bias)) refuse(flag, fmt::format("'{}' has no number", text));
  return {token_of(flag, text.substr(0, colon)), *bias};
}

// The text as the row's value; of several texts, this one after those before.
OptionValue value_of(const std::string& flag, const OptionRow& row, const GenerateParams& params,
                     const std::string& text) {
  if (row.kind == OptionRow::Kind::texts) {
    auto texts = std::get<std::vector<std::string>>(row.get(params));
    texts.push_back(text);
    return texts;
  }
  const std::optional<double> number = parse_number<double>(text);
  if (!number || !std::isfinite(*number)) refuse(flag, fmt::format("'{}' is not a number", text));
  if (row.kind == OptionRow::Kind::number) return *number;
  const std::optional<int64_t> whole = parse_number<int64_t>(text);
  if (!whole) refuse(flag, fmt::format("{} is not a whole number", text));
  return *whole;
}

void set_row(const std::string& flag, const OptionRow& row, GenerateParams& params,
             const std::string& text) {
  const Status status = set_option(row, params, value_of(flag, row, params, text));
  if (status.ok()) return;
  // It begins with the option's name, as the flag does.
  const std::string name = std::string(row.name) + ": ";
  refuse(flag, status.message().substr(status.message().starts_with(name) ? name.size() : 0));
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
  if (!found) refuse("--kv", fmt::format("'{}' is not one of f16, int8, int4, int2", text));
  return *found;
}

// The row's text with its default.
std::string help_of(const OptionRow& row) {
  const OptionValue value = row.get(GenerateParams{});
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{} [{}]", row.doc, *whole);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return fmt::format("{} [{:g}]", row.doc, *number);
  }
  return row.doc;
}

}  // namespace

struct CommandLine::CliParser {
  CLI::App app;

  template <class F>
  CLI::Option* option(const char* flags, F read, const std::string& help, const char* type) {
    return app.add_option_function<std::string>(flags, read, help)->type_name(type);
  }
  // Appends one value each time the flag is given, in order.
  template <class F>
  void repeated(const char* flags, F read, const char* help, const char* type) {
    repeated_all(
        flags,
        [read](const std::vector<std::string>& values) {
          for (const std::string& value : values) read(value);
        },
        help, type);
  }
  // The same, all at once.
  template <class F>
  void repeated_all(const char* flags, F read, const char* help, const char* type) {
    app.add_option_function<std::vector<std::string>>(flags, read, help)
        ->allow_extra_args(false)
        ->type_name(type);
  }
};

CommandLine::CommandLine(const char* command, const char* help)
    : command_(command), parser_(std::make_unique<CliParser>()) {
  parser_->app.description(help);
  parser_->app.name(std::string("ruvllm ") + command);
  parser_->app.get_formatter()->column_width(34);
  parser_->app.allow_extras();  // parse() says what is wrong with them
}

CommandLine::~CommandLine() = default;

void CommandLine::text(const char* flags, std::string& value, const char* help) {
  parser_->option(
      flags, [&value](const std::string& text) { value = text; }, help, "TEXT");
}

void CommandLine::words(const char* name, std::vector<std::string>& values, const char* help) {
  words_ = &values;
  parser_->option(
      name, [&values](const std::string& text) { values.push_back(text); }, help, "TEXT");
}

void CommandLine::texts(const char* flags, std::vector<std::string>& values, const char* help) {
  parser_->repeated(
      flags, [&values](const std::string& text) { values.push_back(text); }, help, "TEXT");
}

void CommandLine::flag(const char* flags, bool& value, const char* help) {
  parser_->app.add_flag_callback(
      flags, [&value] { value = true; }, help);
}

void CommandLine::integer(const char* flags, int64_t& value, int64_t min, int64_t max,
                          const char* help) {
  const std::string name = flags;
  parser_->option(
      flags,
      [&value, min, max, name](const std::string& text) {
        const std::optional<int64_t> number = parse_decimal(text);
        if (!number) refuse(name, fmt::format("'{}' is not a whole number", text));
        if (*number < min || *number > max)
          refuse(name, fmt::format("{} is not within {} to {}", *number, min, max));
        value = *number;
      },
      help, "N");
}

void CommandLine::threads(int& n_threads) {
  n_threads_ = &n_threads;
  parser_->option(
      "--threads,-t",
      [&n_threads](const std::string& text) {
        const std::optional<int64_t> number = parse_decimal(text);
        if (!number || *number < 0 || *number > 1024)
          refuse("--threads", fmt::format("'{}' is not within 0 to 1024", text));
        n_threads = static_cast<int>(*number);
      },
      "Threads that compute; 0: one per core", "N");
}

void CommandLine::kv(std::optional<KvType>& type) {
  parser_->option(
      "--kv", [&type](const std::string& text) { type = kv_type_of(text); },
      fmt::format("{}; when absent int8, or f16 for heads narrower than {}", kKvHelp, kNarrowHead),
      "TYPE");
}

void CommandLine::kv(KvType& type) {
  parser_->option(
      "--kv", [&type](const std::string& text) { type = kv_type_of(text); },
      fmt::format("{} [{}]", kKvHelp, kv_type_name(type)), "TYPE");
}

// What is on unless switched off has the flag --no-….
void CommandLine::add_flag(const OptionRow& row, GenerateParams& params) {
  const bool is_on = std::get<bool>(row.get(GenerateParams{}));
  const std::string flag = is_on ? "--no-" + flag_of(row).substr(2) : flag_of(row);
  const std::string help = is_on ? fmt::format("Do not {}", row.doc) : row.doc;
  parser_->app.add_flag_callback(
      flag, [&row, &params, is_on] { row.set(params, !is_on); }, help);
}

void CommandLine::add_row(const OptionRow& row, GenerateParams& params) {
  const std::string flag = flag_of(row);
  const auto read = [&row, &params, flag](const std::string& text) {
    set_row(flag, row, params, text);
  };
  using Kind = OptionRow::Kind;
  if (row.kind == Kind::flag) {
    add_flag(row, params);
  } else if (row.kind == Kind::texts) {
    // Those that are given replace the default.
    const auto read_all = [&row, &params, read](const std::vector<std::string>& texts) {
      row.set(params, std::vector<std::string>());
      for (const std::string& text : texts) read(text);
    };
    parser_->repeated_all(flag.c_str(), read_all, row.doc, "TEXT");
  } else {
    parser_->option(flag.c_str(), read, help_of(row), row.kind == Kind::integer ? "N" : "X");
  }
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
    if (row.is_sampling && !this->given(flag_of(row).c_str())) row.set(params, row.get(usual));
  }
  return params;
}

void CommandLine::generation(GenerateParams& params, std::string_view without) {
  for (const OptionRow& row : generate_options()) {
    if (row.name != without) add_row(row, params);
  }
  parser_->repeated(
      "--stop-token",
      [&params](const std::string& text) {
        params.stop_tokens.push_back(token_of("--stop-token", text));
      },
      "The answer ends at this id; may be repeated", "ID");
  parser_->repeated(
      "--allowed-token",
      [&params](const std::string& text) {
        params.allowed_token_ids.push_back(token_of("--allowed-token", text));
      },
      "Only this id and others so given may come; may be repeated", "ID");
  parser_->repeated(
      "--logit-bias",
      [&params](const std::string& text) {
        params.logit_bias.push_back(bias_of("--logit-bias", text));
      },
      "Added to the logit of one token; may be repeated", "ID:BIAS");
}

std::string CommandLine::unknown_option(std::string_view text) const {
  const std::string name(text.substr(0, text.find('=')));
  std::vector<std::string> names;
  for (const CLI::Option* known : parser_->app.get_options()) {
    for (const std::string& long_name : known->get_lnames()) names.push_back("--" + long_name);
  }
  const std::string meant = name.starts_with("--") ? nearest_name(name, names) : "";
  return fmt::format("there is no option '{}'{}", name,
                     meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
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

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
    if (const std::string objection = take_extras(parser_->app.remaining()); !objection.empty())
      return wrong_call(objection);
    if (n_threads_ != nullptr && *n_threads_ > available_cores())
      note(fmt::format("--threads {} on {} cores: threads that share a core slow each other down",
                       *n_threads_, available_cores()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", parser_->app.help());
    return kDone;
  } catch (const CLI::ParseError& error) {
    return wrong_call(error.what());
  }
}

bool CommandLine::given(const char* flag) const { return parser_->app.count(flag) > 0; }

void CommandLine::note(std::string_view message) const {
  std::fflush(stdout);
  fmt::print(stderr, "ruvllm {}: {}\n", command_, message);
}

int CommandLine::wrong_call(std::string_view message) const {
  note(message);
  fmt::print(stderr, "`ruvllm {} --help` lists its options\n", command_);
  return kWrongCall;
}

int CommandLine::failed(const Status& status) const {
  note(status.message());
  return kJobFailed;
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
