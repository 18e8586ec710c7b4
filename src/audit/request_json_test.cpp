// Requests as JSON and back, each option drawn.
#include "audit/request_json.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "ruv/options.h"

namespace ruv {
namespace {

OptionValue drawn_option(const OptionRow& row, Rng& rng) {
  switch (row.kind) {
    case OptionRow::Kind::flag:
      return rng.below(2) == 0;
    case OptionRow::Kind::integer:
      return row.least +
             static_cast<int64_t>(rng.below(
                 2 + static_cast<uint64_t>(std::min<int64_t>(row.most - row.least, 1000) / 2)));
    case OptionRow::Kind::number:
      return row.min + (row.max - row.min) * rng.uniform();
    case OptionRow::Kind::texts:
      break;
  }
  std::vector<std::string> texts;
  for (uint64_t i = 0; i <= rng.below(3); ++i) {
    const bool has_words = !row.words.empty();
    texts.emplace_back(has_words ? row.words[rng.below(row.words.size())] : "\xC3\xA9\"\n");
  }
  return texts;
}

Request drawn_request(uint64_t seed) {
  Rng rng(seed);
  Request request;
  for (const OptionRow& row : generate_options()) {
    if (rng.below(4) == 0) continue;
    EXPECT_TRUE(set_option(row, request.params, drawn_option(row, rng)).ok());
  }
  request.params.seed = rng.next();
  request.params.stop_tokens = {5, 70000};
  request.params.allowed_token_ids = {static_cast<Token>(rng.below(1000))};
  request.params.shown_tokens = {2};
  request.params.logit_bias = {{3, 0.1F}, {4, -100.0F}};
  request.n_fixed_tokens = static_cast<int64_t>(rng.below(5));
  request.second_text = static_cast<int64_t>(rng.below(5));
  if (rng.below(2) == 0)
    request.reasoning = ReasoningRegion{.begin = 4, .end = {1, 2}, .max_tokens = 9, .gap = {8}};
  return request;
}

TEST(RequestJson, ComesBackAsItWas) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Request request = drawn_request(seed);
    const Json json = request_json(request, RequestTexts::with);
    const auto text = parse_json(json.dump(), "test");
    ASSERT_TRUE(text);
    const auto read = read_request_json(*text);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(request_json(read->request, RequestTexts::with), json);
    for (const OptionRow& row : generate_options())
      EXPECT_EQ(row.get(read->request.params), row.get(request.params)) << row.name;
    EXPECT_EQ(read->request.params.seed, request.params.seed);
    EXPECT_EQ(read->request.params.logit_bias, request.params.logit_bias);
    EXPECT_EQ(read->request.params.stop_tokens, request.params.stop_tokens);
    EXPECT_EQ(read->request.params.shown_tokens, request.params.shown_tokens);
    EXPECT_EQ(read->request.params.allowed_token_ids, request.params.allowed_token_ids);
    EXPECT_EQ(read->request.n_fixed_tokens, request.n_fixed_tokens);
    EXPECT_EQ(read->request.second_text, request.second_text);
  }
}

TEST(RequestJson, WithoutTextsHasNone) {
  Request request = drawn_request(1);
  request.params.stop = {"a secret"};
  request.params.bad_words = {"a secret"};
  EXPECT_NE(request_json(request, RequestTexts::with).dump().find("secret"), std::string::npos);
  EXPECT_EQ(request_json(request, RequestTexts::without).dump().find("secret"), std::string::npos);
}

TEST(RequestJson, EachMemberIsNeededAndOfItsType) {
  Request request = drawn_request(3);
  request.reasoning = ReasoningRegion{.begin = 4, .end = {1, 2}, .max_tokens = 9, .gap = {8}};
  const Json whole = request_json(request, RequestTexts::with);
  ASSERT_TRUE(read_request_json(whole));
  const auto refuses = [](const Json& json, std::string_view name) {
    const auto read = read_request_json(json);
    ASSERT_FALSE(read) << name;
    EXPECT_NE(read.error().message().find(name), std::string::npos) << read.error().message();
  };
  for (const auto& member : whole["params"].items()) {
    Json without = whole;
    without["params"].erase(member.key);
    refuses(without, member.key);
    Json wrong = whole;
    wrong["params"][member.key] = Json::object();
    refuses(wrong, member.key);
  }
  for (const char* name : {"output", "params", "n_fixed_tokens", "second_text"}) {
    Json without = whole;
    without.erase(name);
    refuses(without, name);
  }
  for (const auto& member : whole["reasoning"].items()) {
    Json without = whole;
    without["reasoning"].erase(member.key);
    refuses(without, member.key);
  }
}

}  // namespace
}  // namespace ruv
