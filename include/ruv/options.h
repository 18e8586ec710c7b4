// The table of generation options: one row each, from which the command line, the HTTP server and
// the reference page take name, type, range and default.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ruv/model.h"
#include "ruv/params.h"
#include "ruv/status.h"

namespace ruv {

// monostate: not given, as an unset seed.
using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::vector<std::string>>;

struct OptionRow {
  const char* name;  // as in JSON; on the command line with '-' for '_'
  enum class Kind {
    flag,     // bool
    integer,  // int64_t, from `least` to `most`
    number,   // double, from `min` to `max`
    texts,    // at most `most` texts, none empty, none longer than `most_bytes`
  } kind;
  const char* doc;
  OptionValue (*get)(const GenerateParams&);
  // Requires: a value of the row's kind, or what get() gave.
  void (*set)(GenerateParams&, OptionValue);
  double min = 0;
  double max = 0;
  int64_t least = 0;
  int64_t most = 0;
  int64_t most_bytes = 0;                        // 0: any number
  bool is_sampling = false;                      // it says how a token is drawn
  std::span<const std::string_view> words = {};  // texts of these only; empty: any
};

// Rows for the fields of GenerateParams but those that hold token ids, which a vocabulary limits.
std::span<const OptionRow> generate_options();
// Null when no row has the name.
const OptionRow* find_generate_option(std::string_view name);
// Checks type and range, then sets. Fails: invalid, naming the option, the value and the range.
Status set_option(const OptionRow& row, GenerateParams& params, OptionValue value);
// What requests have where they say nothing: ModelInfo::sampling over sampling from the model's own
// distribution, or the defaults of GenerateParams where the model's file says nothing; and over
// both ModelInfo::defaults.
GenerateParams recommended_params(const ModelInfo& info);
// Whether each of them is what a request could ask for. Fails: invalid, naming the option.
Status check_defaults(const ModelDefaults& defaults);
// All ranges at once, for params filled by hand.
Status check_params(const GenerateParams& params, int64_t n_vocab);

}  // namespace ruv
