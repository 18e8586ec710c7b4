// The table of generation options and the checks of their ranges. A row's name is its JSON name;
// the command line writes '-' for '_'.
#include "ruv/options.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/result.h"

namespace ruv {
namespace {

constexpr double kMaxCount = 9.007199254740992e15;  // 2^53: exact as a JSON number
using Kind = OptionRow::Kind;

#define RUV_FIELD(field)                                                \
  [](const GenerateParams& p) { return static_cast<double>(p.field); }, \
      [](GenerateParams& p, double value) { p.field = static_cast<decltype(p.field)>(value); }

constexpr std::array kRows = {
    OptionRow{"max_tokens", Kind::integer, -1, kMaxCount,
              "tokens to generate at most; -1: until the context is full", RUV_FIELD(max_tokens)},
    OptionRow{"temperature", Kind::number, 0, 100, "0 picks the likeliest token",
              RUV_FIELD(temperature)},
    OptionRow{"top_k", Kind::integer, 0, kMaxCount, "keep the k likeliest tokens; 0: all",
              RUV_FIELD(top_k)},
    OptionRow{"top_p", Kind::number, 0, 1, "keep the likeliest tokens up to this probability",
              RUV_FIELD(top_p)},
    OptionRow{"min_p", Kind::number, 0, 1, "drop tokens below this share of the likeliest",
              RUV_FIELD(min_p)},
    OptionRow{"repetition_penalty", Kind::number, 0.01, 100,
              "divides the logits of recent tokens; 1: none", RUV_FIELD(repetition_penalty)},
    OptionRow{"repetition_window", Kind::integer, 0, kMaxCount,
              "how many recent tokens repetition_penalty looks at", RUV_FIELD(repetition_window)},
    OptionRow{"presence_penalty", Kind::number, -2, 2,
              "subtracted once from tokens already generated", RUV_FIELD(presence_penalty)},
    OptionRow{"frequency_penalty", Kind::number, -2, 2,
              "subtracted for each time a token was generated", RUV_FIELD(frequency_penalty)},
    OptionRow{"seed", Kind::integer, 0, kMaxCount, "same seed, same answer; drawn when not given",
              [](const GenerateParams& p) {
                return p.seed ? static_cast<double>(*p.seed)
                              : std::numeric_limits<double>::quiet_NaN();
              },
              [](GenerateParams& p, double value) { p.seed = static_cast<uint64_t>(value); }},
    OptionRow{"ignore_eos", Kind::flag, 0, 1, "do not stop at the model's end tokens",
              RUV_FIELD(ignore_eos)},
    OptionRow{"token_healing", Kind::flag, 0, 1,
              "a prompt that ends inside a word is continued as that word",
              RUV_FIELD(token_healing)},
    OptionRow{"cache_prefix", Kind::flag, 0, 1,
              "reuse the beginning of the prompt where an earlier request had it",
              RUV_FIELD(cache_prefix)},
    OptionRow{"min_cache_tokens", Kind::integer, 0, kMaxCount,
              "beginnings shorter than this are neither reused nor kept",
              RUV_FIELD(min_cache_tokens)},
    OptionRow{"speculative", Kind::flag, 0, 1,
              "guess tokens ahead and check the guesses in one step", RUV_FIELD(speculative)},
};

#undef RUV_FIELD

// Ids in stop_tokens and logit_bias must be in the vocabulary.
Status check_ids(const GenerateParams& params, int64_t n_vocab) {
  const auto check = [&](Token id, std::string_view field) -> Status {
    if (id >= 0 && id < n_vocab) return {};
    return fail(Code::invalid, "{}: token id {} is not in the vocabulary of {}", field, id,
                n_vocab);
  };
  for (const auto& [id, bias] : params.logit_bias) {
    TRY(check(id, "logit_bias"));
    if (!std::isfinite(bias) || std::fabs(bias) > 1000) {
      return fail(Code::invalid, "logit_bias: {} of token {} is out of range [-1000, 1000]", bias,
                  id);
    }
  }
  for (Token id : params.stop_tokens) TRY(check(id, "stop_tokens"));
  return {};
}

}  // namespace

std::span<const OptionRow> generate_options() { return kRows; }

const OptionRow* find_generate_option(std::string_view name) {
  for (const OptionRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Integers must be whole and flags 0 or 1.
Status set_option(const OptionRow& row, GenerateParams& params, double value) {
  const bool whole = row.kind == Kind::number || value == std::floor(value);
  if (!whole) return fail(Code::invalid, "{}: {} is not a whole number", row.name, value);
  if (!(value >= row.min && value <= row.max)) {
    return fail(Code::invalid, "{}: {} is out of range [{}, {}]", row.name, value, row.min,
                row.max);
  }
  row.set(params, value);
  return {};
}

// All rows of the table, then the fields that have none.
Status check_params(const GenerateParams& params, int64_t n_vocab) {
  GenerateParams copy;
  for (const OptionRow& row : kRows) {
    const double value = row.get(params);
    if (!std::isnan(value) || row.get(copy) == row.get(copy)) TRY(set_option(row, copy, value));
  }
  for (const std::string& stop : params.stop) {
    if (stop.empty()) return fail(Code::invalid, "stop: an empty text stops nothing; leave it out");
  }
  if (params.n_logprobs < -1 || params.n_logprobs > 20) {
    return fail(Code::invalid, "logprobs: {} is out of range [0, 20]", params.n_logprobs);
  }
  return check_ids(params, n_vocab);
}

}  // namespace ruv
