#include "format/hf_sampling.h"

#include <array>

#include "base/file.h"
#include "base/json.h"
#include "format/decimal.h"

namespace ruv {
namespace {

constexpr const char* kFile = "generation_config.json";

// A member, its key, and the value that samples as without it.
struct GenerationKey {
  const char* member;
  const char* key;  // null: we do not have it
  double neutral;
};
constexpr std::array kKeys{
    GenerationKey{"temperature", "general.sampling.temp", -1},
    GenerationKey{"top_k", "general.sampling.top_k", -1},
    GenerationKey{"top_p", "general.sampling.top_p", -1},
    GenerationKey{"min_p", "general.sampling.min_p", -1},
    GenerationKey{"repetition_penalty", "general.sampling.penalty_repeat", -1},
    GenerationKey{"typical_p", "general.sampling.typical_p", -1},
    GenerationKey{"epsilon_cutoff", nullptr, 0},
    GenerationKey{"eta_cutoff", nullptr, 0},
    GenerationKey{"num_beams", nullptr, 1},
    GenerationKey{"no_repeat_ngram_size", nullptr, 0},
    GenerationKey{"penalty_alpha", nullptr, 0},
};

void read_member(const Json& config, const GenerationKey& row, MetaMap& metadata,
                 std::vector<std::string>& remarks) {
  const Json* const value = config.find(row.member);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_number()) {
    remarks.push_back(fmt::format("{}: '{}' is not a number and not used", kFile, row.member));
  } else if (row.key != nullptr) {
    metadata.insert_or_assign(row.key, value->is_number_integer()
                                           ? MetaValue(value->get<int64_t>())
                                           : MetaValue(value->get<double>()));
  } else if (value->get<double>() != row.neutral) {
    remarks.push_back(fmt::format("{}: '{}' is not used: we do not sample so", kFile, row.member));
  }
}

}  // namespace

void read_generation_config(const std::string& folder, MetaMap& metadata,
                            std::vector<std::string>& remarks) {
  const Result<std::string> text = read_text_file(folder + "/" + kFile);
  if (!text) return;
  const Result<Json> config = parse_json(*text, kFile, {.depth = 16, .values = 100'000});
  if (!config || !config->is_object()) {
    remarks.push_back(fmt::format("{} is not a JSON object and not used", kFile));
    return;
  }
  // Greedy answers have no use for the other values.
  if (const Json* samples = config->find("do_sample"); samples != nullptr && *samples == false) {
    metadata.insert_or_assign("general.sampling.temp", 0.0);
    return;
  }
  for (const GenerationKey& row : kKeys) read_member(*config, row, metadata, remarks);
  // transformers looks at the whole text.
  if (metadata.contains("general.sampling.penalty_repeat")) {
    metadata.insert_or_assign("general.sampling.penalty_last_n", int64_t{-1});
  }
}

Json generation_config_of(const MetaMap& metadata) {
  Json config = Json::object();
  for (const GenerationKey& row : kKeys) {
    const auto found = row.key == nullptr ? metadata.end() : metadata.find(row.key);
    if (found == metadata.end()) continue;
    if (const auto* number = std::get_if<int64_t>(&found->second)) config[row.member] = *number;
    const auto* real = std::get_if<double>(&found->second);
    if (real != nullptr) config[row.member] = shortest_number(*real);
  }
  if (config.empty()) return config;
  const Json* const temperature = config.find("temperature");
  const bool is_greedy = temperature != nullptr && temperature->get<double>() == 0;
  if (is_greedy) config.erase("temperature");
  config["do_sample"] = !is_greedy;
  return config;
}

}  // namespace ruv
