// The table of options: each row reads what it wrote, and refuses other types and ranges.
#include "ruv/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ruv {
namespace {

const OptionRow& row_of(const char* name) { return *find_generate_option(name); }

TEST(Options, ReadWhatTheyWrote) {
  for (const OptionRow& row : generate_options()) {
    std::vector<std::string> texts(row.words.begin(), row.words.end());
    if (texts.empty()) texts = {"a", "b"};
    const OptionValue values[] = {true, int64_t{1}, std::min(1.0, row.max), texts};
    for (size_t kind = 0; kind < std::size(values); ++kind) {
      GenerateParams params;
      const bool fits = kind == static_cast<size_t>(row.kind);
      EXPECT_EQ(set_option(row, params, values[kind]).ok(), fits) << row.name << kind;
      if (!fits) continue;
      EXPECT_EQ(row.get(params), values[kind]) << row.name;
    }
  }
}

TEST(Options, WordsAreThoseOfTheRow) {
  GenerateParams params;
  const Status status =
      set_option(row_of("samplers"), params, std::vector<std::string>{"top_k", "best"});
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_EQ(status.message().find("samplers: 'best' is none of penalties, "), 0U);
  EXPECT_FALSE(params.samplers);
}

TEST(Options, IntegersKeepTheirLastBit) {
  GenerateParams params;
  const int64_t largest = int64_t{1} << 53;
  ASSERT_TRUE(set_option(row_of("seed"), params, largest - 1).ok());
  EXPECT_EQ(params.seed, static_cast<uint64_t>(largest - 1));
  const Status beyond = set_option(row_of("seed"), params, largest + 1);
  EXPECT_EQ(beyond.message(), "seed: 9007199254740993 is out of range [0, 9007199254740992]");
}

TEST(Options, AModelsFileMayRecommendSampling) {
  ModelInfo info;
  const GenerateParams plain = recommended_params(info);
  EXPECT_EQ(plain.temperature, GenerateParams{}.temperature);
  EXPECT_EQ(plain.top_k, GenerateParams{}.top_k);
  // What it does not say is the model's own distribution.
  info.sampling = {{"temperature", 0.6}, {"top_k", 20}, {"unknown", 1}};
  const GenerateParams params = recommended_params(info);
  EXPECT_EQ(params.temperature, 0.6);
  EXPECT_EQ(params.top_k, 20);
  EXPECT_EQ(params.top_p, 1);
  EXPECT_EQ(params.min_p, 0);
}

TEST(Options, DefaultsOfAModelWinOverItsFileAndOverOurs) {
  ModelInfo info;
  info.defaults.sampling = {{"temperature", 0.3}, {"repetition_window", 32}};
  info.defaults.stop = {"END"};
  const GenerateParams alone = recommended_params(info);
  EXPECT_EQ(alone.temperature, 0.3);
  EXPECT_EQ(alone.repetition_window, 32);
  EXPECT_EQ(alone.stop, (std::vector<std::string>{"END"}));
  EXPECT_EQ(alone.top_k, GenerateParams{}.top_k);
  info.sampling = {{"temperature", 0.6}, {"top_k", 20}};
  const GenerateParams both = recommended_params(info);
  EXPECT_EQ(both.temperature, 0.3);
  EXPECT_EQ(both.top_k, 20);
  EXPECT_EQ(both.top_p, 1);
}

TEST(Options, DefaultsThatNoRequestCouldHaveAreRefused) {
  EXPECT_TRUE(check_defaults({}).ok());
  EXPECT_TRUE(check_defaults({.sampling = {{"top_k", 0}, {"mirostat", 2}}, .stop = {"a"}}).ok());
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, double>>{{"temperature", 101},
                                                   {"temperature", std::nan("")},
                                                   {"top_k", 1.5},
                                                   {"top_k", 1e300},
                                                   {"top_k", -1},
                                                   {"max_tokens", 3},
                                                   {"samplers", 1},
                                                   {"absent", 1}}) {
    const Status refused = check_defaults({.sampling = {{option, value}}});
    EXPECT_EQ(refused.code(), Code::invalid) << option << " " << value;
    EXPECT_EQ(refused.message().substr(0, option.size()), option);
  }
  EXPECT_FALSE(check_defaults({.stop = {""}}).ok());
  EXPECT_FALSE(check_defaults({.stop = std::vector<std::string>(17, "x")}).ok());
}

TEST(Options, AreCheckedInParamsToo) {
  const auto refusal = [](const GenerateParams& params) {
    return check_params(params, 10).message();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.temperature = 101}), "temperature: 101 is out of range [0, 100]");
  EXPECT_NE(refusal({.temperature = std::nan("")}), "");
  EXPECT_EQ(refusal({.stop = std::vector<std::string>(17, "x")}),
            "stop: 17 texts, at most 16 are allowed");
  EXPECT_EQ(refusal({.stop = {""}}), "stop: an empty text says nothing; leave it out");
  EXPECT_EQ(refusal({.n_logprobs = 21}), "logprobs: 21 is out of range [0, 20]");
  EXPECT_EQ(refusal({.stop_tokens = {10}}),
            "stop_tokens: token id 10 is not in the vocabulary of 10");
  EXPECT_EQ(refusal({.allowed_token_ids = {3, 10}}),
            "allowed_token_ids: token id 10 is not in the vocabulary of 10");
  EXPECT_EQ(refusal({.max_tokens = 3, .min_tokens = 3}), "");
  EXPECT_EQ(refusal({.max_tokens = 3, .min_tokens = 4}),
            "min_tokens: 4 is more than max_tokens, 3");
  EXPECT_EQ(refusal({.min_tokens = 4}), "");
  EXPECT_EQ(refusal({.bad_words = {std::string(256, 'x')}}), "");
  EXPECT_EQ(refusal({.bad_words = {std::string(257, 'x')}}),
            "bad_words: a text of 257 bytes, at most 256 are allowed");
  EXPECT_EQ(refusal({.bad_words = std::vector<std::string>(257, "x")}),
            "bad_words: 257 texts, at most 256 are allowed");
}

}  // namespace
}  // namespace ruv
