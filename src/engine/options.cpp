// The table of generation options and the checks of their ranges. A row's name is its JSON name;
// the command line writes '-' for '_'.
#include "ruv/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/result.h"
#include "base/token_ids.h"
#include "engine/sample/step_order.h"

namespace ruv {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 53;  // exact in every JSON reader
constexpr int64_t kMaxStops = 16;
constexpr int64_t kMaxBreakers = 64;
constexpr int64_t kMaxBreakerBytes = 40;
constexpr int64_t kMaxBadWords = 256;
constexpr int64_t kMaxBadWordBytes = 256;
constexpr int64_t kMaxLogprobs = 20;
using Kind = OptionRow::Kind;

// Reads and writes one member of GenerateParams that is a bool, a whole number or a number.
template <auto kMember>
struct ParamField {
  static OptionValue get(const GenerateParams& params) { return {params.*kMember}; }
  static void set(GenerateParams& params, OptionValue value) {
    using T = std::remove_cvref_t<decltype(params.*kMember)>;
    params.*kMember = std::get<T>(std::move(value));
  }
};

template <auto kMember>
constexpr OptionRow number(const char* name, double min, double max, const char* doc) {
  return {.name = name,
          .kind = Kind::number,
          .doc = doc,
          .get = ParamField<kMember>::get,
          .set = ParamField<kMember>::set,
          .min = min,
          .max = max};
}
template <auto kMember>
constexpr OptionRow integer(const char* name, int64_t least, const char* doc) {
  return {.name = name,
          .kind = Kind::integer,
          .doc = doc,
          .get = ParamField<kMember>::get,
          .set = ParamField<kMember>::set,
          .least = least,
          .most = kMaxCount};
}
template <auto kMember>
constexpr OptionRow flag(const char* name, const char* doc) {
  return {.name = name,
          .kind = Kind::flag,
          .doc = doc,
          .get = ParamField<kMember>::get,
          .set = ParamField<kMember>::set};
}

OptionValue get_seed(const GenerateParams& params) {
  if (!params.seed) return {};
  return static_cast<int64_t>(*params.seed);
}
void set_seed(GenerateParams& params, OptionValue value) {
  params.seed = static_cast<uint64_t>(std::get<int64_t>(value));
}
OptionValue get_samplers(const GenerateParams& params) {
  if (!params.samplers) return {};
  return *params.samplers;
}
void set_samplers(GenerateParams& params, OptionValue value) {
  params.samplers.reset();
  if (auto* names = std::get_if<std::vector<std::string>>(&value))
    params.samplers = std::move(*names);
}
OptionValue get_logprobs(const GenerateParams& params) {
  if (params.n_logprobs == -1) return {};
  return int64_t{params.n_logprobs};
}
void set_logprobs(GenerateParams& params, OptionValue value) {
  params.n_logprobs = static_cast<int32_t>(std::get<int64_t>(value));
}

// A row that a model's file and a server's flags may set for all requests.
constexpr OptionRow sampling(OptionRow row) {
  row.is_sampling = true;
  return row;
}

constexpr OptionRow up_to(int64_t most, OptionRow row) {
  row.most = most;
  return row;
}

using P = GenerateParams;
constexpr std::array kRows = {
    integer<&P::max_tokens>("max_tokens", -1,
                            "tokens to generate at most; -1: until the context is full"),
    integer<&P::min_tokens>("min_tokens", 0,
                            "the answer does not end before this many tokens; 0: as it likes"),
    sampling(number<&P::temperature>("temperature", 0, 100, "0 picks the likeliest token")),
    sampling(integer<&P::top_k>("top_k", 0, "keep the k likeliest tokens; 0: all")),
    sampling(number<&P::top_p>("top_p", 0, 1, "keep the likeliest tokens up to this probability")),
    sampling(number<&P::min_p>("min_p", 0, 1, "drop tokens below this share of the likeliest")),
    sampling(number<&P::typical_p>("typical_p", 0, 1,
                                   "keep the most typical tokens up to this probability")),
    sampling(number<&P::top_n_sigma>(
        "top_n_sigma", -1, 100,
        "drop logits this many standard deviations below the largest; 0 or less: none")),
    sampling(number<&P::xtc_probability>(
        "xtc_probability", 0, 1,
        "how often tokens that reach xtc_threshold are dropped but for the least likely")),
    sampling(number<&P::xtc_threshold>("xtc_threshold", 0, 1,
                                       "see xtc_probability; above 0.5 nothing is dropped")),
    sampling(number<&P::dynatemp_range>(
        "dynatemp_range", 0, 100,
        "the temperature varies by this much with the entropy of what the cuts leave; 0: not")),
    sampling(number<&P::dynatemp_exponent>("dynatemp_exponent", 0, 100,
                                           "how it varies; 1: as the entropy does")),
    sampling(number<&P::repetition_penalty>("repetition_penalty", 0.01, 100,
                                            "divides the logits of recent tokens; 1: none")),
    sampling(integer<&P::repetition_window>("repetition_window", 0,
                                            "how many recent tokens repetition_penalty looks at")),
    sampling(number<&P::presence_penalty>("presence_penalty", -2, 2,
                                          "subtracted once from tokens already generated")),
    sampling(number<&P::frequency_penalty>("frequency_penalty", -2, 2,
                                           "subtracted for each time a token was generated")),
    sampling(number<&P::dry_multiplier>("dry_multiplier", 0, 100,
                                        "penalises tokens that continue a repetition; 0: none")),
    sampling(number<&P::dry_base>("dry_base", 1, 100,
                                  "by this factor more for each token that it is longer")),
    sampling(integer<&P::dry_allowed_length>("dry_allowed_length", 0,
                                             "shorter repetitions are not penalised")),
    sampling(integer<&P::dry_penalty_last_n>(
        "dry_penalty_last_n", -1, "how many recent tokens are looked at; -1: all of them")),
    sampling(OptionRow{.name = "dry_sequence_breakers",
                       .kind = Kind::texts,
                       .doc = "no repetition reaches over this text; may be repeated",
                       .get = ParamField<&P::dry_sequence_breakers>::get,
                       .set = ParamField<&P::dry_sequence_breakers>::set,
                       .most = kMaxBreakers,
                       .most_bytes = kMaxBreakerBytes}),
    sampling(up_to(
        2, integer<&P::mirostat>("mirostat", 0,
                                 "1 or 2: Mirostat of that version instead of all cuts; 0: not"))),
    sampling(number<&P::mirostat_tau>("mirostat_tau", 0, 100,
                                      "the surprise in bits that Mirostat aims at")),
    sampling(number<&P::mirostat_eta>("mirostat_eta", 0, 10,
                                      "how fast Mirostat learns from each token")),
    sampling(number<&P::adaptive_target>(
        "adaptive_target", -1, 1,
        "prefer tokens near this probability and steer their mean to it; below 0: not")),
    sampling(number<&P::adaptive_decay>("adaptive_decay", 0, 0.99,
                                        "how much of that mean stays after each token")),
    sampling(OptionRow{.name = "samplers",
                       .kind = Kind::texts,
                       .doc = "the steps that choose a token, in this order and no others; may be "
                              "repeated; not given: as documented",
                       .get = get_samplers,
                       .set = set_samplers,
                       .most = std::ssize(kSampleStepNames),
                       .most_bytes = kMaxBreakerBytes,
                       .words = kSampleStepNames}),
    OptionRow{.name = "seed",
              .kind = Kind::integer,
              .doc = "same seed, same answer; drawn when not given",
              .get = get_seed,
              .set = set_seed,
              .most = kMaxCount},
    OptionRow{.name = "stop",
              .kind = Kind::texts,
              .doc = "the answer ends before this text; may be repeated",
              .get = ParamField<&P::stop>::get,
              .set = ParamField<&P::stop>::set,
              .most = kMaxStops},
    integer<&P::min_indent>("n_indent", 0,
                            "the answer ends before a line that is indented less; 0: no matter"),
    integer<&P::max_predict_ms>("t_max_predict_ms", -1,
                                "the answer ends with its line after this time; 0 or less: never"),
    OptionRow{.name = "bad_words",
              .kind = Kind::texts,
              .doc = "the answer does not contain this text in its usual tokens; may be repeated",
              .get = ParamField<&P::bad_words>::get,
              .set = ParamField<&P::bad_words>::set,
              .most = kMaxBadWords,
              .most_bytes = kMaxBadWordBytes},
    flag<&P::include_stop>("include_stop", "the stop text is part of the answer, at its end"),
    OptionRow{.name = "logprobs",
              .kind = Kind::integer,
              .doc = "log-probability of each token and of the N likeliest",
              .get = get_logprobs,
              .set = set_logprobs,
              .most = kMaxLogprobs},
    flag<&P::ignore_eos>("ignore_eos", "do not stop at the model's end tokens"),
    flag<&P::context_shift>(
        "context_shift", "an answer continues where the context is full: its oldest half leaves"),
    integer<&P::n_keep>("n_keep", -1,
                        "tokens at the beginning that context_shift keeps; -1: the prompt"),
    flag<&P::token_healing>("token_healing",
                            "a prompt that ends inside a word is continued as that word"),
    flag<&P::cache_prefix>("cache_prefix",
                           "reuse the beginning of the prompt where an earlier request had it"),
    integer<&P::min_cache_tokens>("min_cache_tokens", 0,
                                  "beginnings shorter than this are neither reused nor kept"),
    flag<&P::speculative>("speculative", "guess tokens ahead and check the guesses in one step"),
    flag<&P::repair>("repair", "complete an answer that is cut off inside its form, and say so"),
};

Status check_texts(const OptionRow& row, const std::vector<std::string>& texts) {
  if (std::ssize(texts) > row.most) {
    return fail(Code::invalid, "{}: {} texts, at most {} are allowed", row.name, texts.size(),
                row.most);
  }
  for (const std::string& text : texts) {
    if (text.empty()) {
      return fail(Code::invalid, "{}: an empty text says nothing; leave it out", row.name);
    }
    if (row.most_bytes > 0 && std::ssize(text) > row.most_bytes) {
      return fail(Code::invalid, "{}: a text of {} bytes, at most {} are allowed", row.name,
                  text.size(), row.most_bytes);
    }
    if (!row.words.empty() && std::ranges::find(row.words, text) == row.words.end()) {
      return fail(Code::invalid, "{}: '{}' is none of {}", row.name, text,
                  fmt::join(row.words, ", "));
    }
  }
  return {};
}

template <class T>
Status check_range(const OptionRow& row, T value, T min, T max) {
  if (value >= min && value <= max) return {};  // not a NaN
  return fail(Code::invalid, "{}: {} is out of range [{}, {}]", row.name, value, min, max);
}

// Ok for a value of the row's type within its range.
Status check_value(const OptionRow& row, const OptionValue& value) {
  const auto* whole = std::get_if<int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (row.kind == Kind::flag && std::holds_alternative<bool>(value)) return {};
  if (row.kind == Kind::integer && whole) return check_range(row, *whole, row.least, row.most);
  if (row.kind == Kind::number && number) return check_range(row, *number, row.min, row.max);
  if (row.kind == Kind::texts && texts) return check_texts(row, *texts);
  return fail(Code::invalid, "{}: a value of another type", row.name);
}

// Ids in stop_tokens, allowed_token_ids and logit_bias must be in the vocabulary.
Status check_ids(const GenerateParams& params, int64_t n_vocab) {
  for (const auto& [id, bias] : params.logit_bias) {
    TRY(check_tokens({&id, 1}, n_vocab, "logit_bias"));
    if (!std::isfinite(bias) || std::fabs(bias) > 1000) {
      return fail(Code::invalid, "logit_bias: {} of token {} is out of range [-1000, 1000]", bias,
                  id);
    }
  }
  TRY(check_tokens(params.allowed_token_ids, n_vocab, "allowed_token_ids"));
  return check_tokens(params.stop_tokens, n_vocab, "stop_tokens");
}

// An option that says how a token is drawn, of a model's own values.
Status set_sampling(const std::string& name, double value, GenerateParams& params) {
  const auto row = std::ranges::find(kRows, name, &OptionRow::name);
  const bool is_number = row != std::end(kRows) && row->is_sampling &&
                         (row->kind == Kind::integer || row->kind == Kind::number);
  if (!is_number) return fail(Code::invalid, "{}: no number that says how a token is drawn", name);
  if (row->kind == Kind::number) return set_option(*row, params, value);
  constexpr double kMostExact = int64_t{1} << 53;
  if (!(std::fabs(value) <= kMostExact) || std::trunc(value) != value)
    return fail(Code::invalid, "{}: {} is not a whole number", name, value);
  return set_option(*row, params, static_cast<int64_t>(value));
}

}  // namespace

std::span<const OptionRow> generate_options() { return kRows; }

const OptionRow* find_generate_option(std::string_view name) {
  for (const OptionRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

GenerateParams recommended_params(const ModelInfo& info) {
  GenerateParams params;
  if (!info.sampling.empty()) {
    params.temperature = 1;
    params.top_k = 0;
    params.top_p = 1;
    params.min_p = 0;
  }
  // The file's reader and check_defaults have looked at them; what is not in our range stays as it
  // was.
  for (const auto* list : {&info.sampling, &info.defaults.sampling}) {
    for (const auto& [name, value] : *list) (void)set_sampling(name, value, params);
  }
  (void)set_option(*find_generate_option("stop"), params, info.defaults.stop);
  return params;
}

Status check_defaults(const ModelDefaults& defaults) {
  GenerateParams params;
  for (const auto& [name, value] : defaults.sampling) TRY(set_sampling(name, value, params));
  return set_option(*find_generate_option("stop"), params, defaults.stop);
}

Status set_option(const OptionRow& row, GenerateParams& params, OptionValue value) {
  TRY(check_value(row, value));
  row.set(params, std::move(value));
  return {};
}

Status check_prompt_logprobs(const GenerateParams& params) {
  const int32_t n = params.n_prompt_logprobs;
  if (n < -1 || n > kMaxLogprobs) {
    return fail(Code::invalid, "prompt_logprobs: {} is out of range [-1, {}]", n, kMaxLogprobs);
  }
  if (n < 0 || !params.token_healing) return {};
  return fail(Code::invalid, "prompt_logprobs: not with token_healing, which takes tokens back");
}

// All rows of the table, then the fields that have none.
Status check_params(const GenerateParams& params, int64_t n_vocab) {
  for (const OptionRow& row : kRows) {
    const OptionValue value = row.get(params);
    if (!std::holds_alternative<std::monostate>(value)) TRY(check_value(row, value));
  }
  TRY(check_prompt_logprobs(params));
  TRY(check_samplers(params));
  if (params.max_tokens >= 0 && params.min_tokens > params.max_tokens) {
    return fail(Code::invalid, "min_tokens: {} is more than max_tokens, {}", params.min_tokens,
                params.max_tokens);
  }
  return check_ids(params, n_vocab);
}

}  // namespace ruv
