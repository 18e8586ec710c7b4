#include "model/sampling_keys.h"

#include <array>

namespace ruv {
namespace {

// The whole context.
constexpr double kWholeWindow = 1 << 30;

struct SamplingKey {
  const char* key;     // after "general.sampling."
  const char* option;  // of the options table
  double least = 0;
  double most = 0;
};
constexpr std::array kKeys{
    SamplingKey{"temp", "temperature", 0, 100},
    SamplingKey{"top_k", "top_k", 0, 1 << 30},
    SamplingKey{"top_p", "top_p", 0, 1},
    SamplingKey{"min_p", "min_p", 0, 1},
    SamplingKey{"penalty_repeat", "repetition_penalty", 0.01, 100},
    SamplingKey{"penalty_last_n", "repetition_window", 0, kWholeWindow},
    SamplingKey{"typical_p", "typical_p", 0, 1},
    SamplingKey{"xtc_probability", "xtc_probability", 0, 1},
    SamplingKey{"xtc_threshold", "xtc_threshold", 0, 1},
    SamplingKey{"mirostat", "mirostat", 0, 2},
    SamplingKey{"mirostat_tau", "mirostat_tau", 0, 100},
    SamplingKey{"mirostat_eta", "mirostat_eta", 0, 10},
};

double as_number(const MetaValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return -2;  // in no range
}

}  // namespace

std::vector<std::pair<std::string, double>> read_sampling(const ModelFile& file,
                                                          std::vector<std::string>& remarks) {
  std::vector<std::pair<std::string, double>> found;
  for (const SamplingKey& row : kKeys) {
    const std::string name = std::string("general.sampling.") + row.key;
    const MetaValue* const value = file.find(name);
    if (value == nullptr) continue;
    double number = as_number(*value);
    const bool is_off = number == -1;  // as llama.cpp has it: all tokens
    if (is_off && row.most == kWholeWindow) number = kWholeWindow;
    if (is_off && row.option == std::string_view("top_k")) number = 0;
    if (number >= row.least && number <= row.most) {
      found.emplace_back(row.option, number);
    } else {
      remarks.push_back(fmt::format("'{}' is {} and not used; it must be from {} to {}", name,
                                    number, row.least, row.most));
    }
  }
  return found;
}

}  // namespace ruv
