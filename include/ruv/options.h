// The table of generation options: one row each, from which the command line, the HTTP server and
// the reference page take name, type, range and default.
#pragma once

#include <span>
#include <string_view>

#include "ruv/params.h"
#include "ruv/status.h"

namespace ruv {

struct OptionRow {
  const char* name;  // as in JSON; on the command line with '-' for '_'
  enum class Kind { integer, number, flag } kind;
  double min;
  double max;
  const char* doc;
  double (*get)(const GenerateParams&);
  void (*set)(GenerateParams&, double);
};

// Rows for the scalar fields of GenerateParams.
std::span<const OptionRow> generate_options();
// Null when no row has the name.
const OptionRow* find_generate_option(std::string_view name);
// Checks kind and range, then sets. Fails: invalid, naming the option, the value and the range.
Status set_option(const OptionRow& row, GenerateParams& params, double value);
// All ranges at once, for params filled by hand.
Status check_params(const GenerateParams& params, int64_t n_vocab);

}  // namespace ruv
