// JSON values, the reader of JSON texts and their writer. That cost is linear is counted, not
// timed.
#include "base/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/json_writer.h"
#include "base/keyed_hash.h"
#include "base/rng.h"

namespace ruv {
namespace {

Json parsed(std::string_view text) {
  Result<Json> json = parse_json(text, "test");
  EXPECT_TRUE(json.has_value()) << text << ": " << json.error().message();
  return json ? std::move(*json) : Json();
}

std::string refusal(std::string_view text, JsonLimits limits = {}) {
  const Result<Json> json = parse_json(text, "test", limits);
  return json ? "accepted: " + json->dump() : json.error().message();
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonParse, ReadsEveryKind) {
  const Json json = parsed(
      " {\"a\": [null, true, false, -1, 18446744073709551615, 1.5e3, \"x\"],"
      "\t\"b\": {}, \"\": \"\"}\r\n");
  EXPECT_EQ(json.dump(),
            R"({"a":[null,true,false,-1,18446744073709551615,1500.0,"x"],"b":{},"":""})");
  EXPECT_EQ(json["a"][3].kind(), Json::Kind::integer);
  EXPECT_EQ(json["a"][4].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["a"][5].kind(), Json::Kind::real);
  EXPECT_EQ(parsed("\xEF\xBB\xBF[1]"), Json::array({1}));
}

TEST(JsonParse, SaysWhereAndWhat) {
  const std::pair<std::string, std::string> kCases[] = {
      {"{\"a\": 1,}", "offset 8: not valid JSON: expected a key, not '}'"},
      {"{\"a\" 1}", "offset 5: not valid JSON: expected ':' after the key, not '1'"},
      {"{\"a\":}", "offset 5: not valid JSON: expected a value, not '}'"},
      {"{1:2}", "offset 1: not valid JSON: expected a key or '}', not '1'"},
      {"{\"a\":1 \"b\":2}", "offset 7: not valid JSON: expected ',' or '}', not '\"'"},
      {"[1 2]", "offset 3: not valid JSON: expected ',' or ']', not '2'"},
      {"[1,]", "offset 3: not valid JSON: expected a value, not ']'"},
      {"[tru]", "offset 1: not valid JSON: expected a value or ']', not 't'"},
      {"[1.]", "offset 3: not valid JSON: expected a digit, not ']'"},
      {"[-]", "offset 2: not valid JSON: expected a digit, not ']'"},
      {"01", "offset 1: not valid JSON: expected the end of the text, not '1'"},
      {"{} x", "offset 3: not valid JSON: expected the end of the text, not 'x'"},
      {"", "offset 0: not valid JSON: ends too early"},
      {"[1", "offset 2: not valid JSON: ends too early"},
      {"[\"ab", "offset 4: not valid JSON: ends inside a text"},
      {"\"a\nb\"", "offset 2: not valid JSON: control characters in a text must be escaped"},
      {"\"\\x\"", "offset 2: not valid JSON: an escape has"},
      {"\"a\xFF\"", "offset 2: not valid JSON: the text is not UTF-8"},
      {"\"\xED\xA0\x80\"", "the text is not UTF-8"},
      {"\"\\ud800\"", "\\u escapes must make whole characters"},
      {"\"\\udc00\"", "\\u escapes must make whole characters"},
      {"\"\\u12g4\"", "offset 5: not valid JSON: \\u needs four hexadecimal digits"},
      {"NaN", "offset 0: not valid JSON: expected a value, not 'N'"},
      {"[1e400]", "not valid JSON: the number is out of range"},
      {"[-1e400]", "not valid JSON: the number is out of range"},
      {"[1e9999999999]", "not valid JSON: the number is out of range"},
      {"\x01", "offset 0: not valid JSON: expected a value, not byte 0x01"},
      {std::string("[1]\0", 4), "offset 3: not valid JSON: expected the end of the text, not byte"},
  };
  for (const auto& [text, wanted] : kCases) {
    const std::string message = refusal(text);
    EXPECT_TRUE(message.starts_with("test: ")) << text << ": " << message;
    EXPECT_NE(message.find(wanted), std::string::npos) << text << ": " << message;
    EXPECT_EQ(message.find("boost"), std::string::npos) << message;
    EXPECT_EQ(parse_json(text, "test").error().code(), Code::corrupt);
  }
}

TEST(JsonParse, DepthIsLimited) {
  for (const int depth : {1, 2, 32, 128}) {
    const JsonLimits limits{.depth = depth};
    EXPECT_TRUE(parse_json(nested(static_cast<size_t>(depth)), "x", limits).has_value()) << depth;
    EXPECT_NE(refusal(nested(static_cast<size_t>(depth) + 1), limits)
                  .find(fmt::format("offset {}: not valid JSON: nested deeper than the limit of {}",
                                    depth, depth)),
              std::string::npos);
  }
  std::string objects;
  for (int i = 0; i < 129; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("limit of 128"), std::string::npos);
  // Brackets count after quotes and backslashes that end nothing, and not in texts.
  for (const char* before : {R"(["\"",)", R"(["\\",)", R"(["\\\"",)", R"(["a\\\\",)"}) {
    EXPECT_NE(refusal(before + std::string(60000, '[')).find("nested deeper than the limit of 128"),
              std::string::npos);
    EXPECT_EQ(parsed(before + std::string("[[]]]")).size(), 2U);
  }
  EXPECT_EQ(parsed("[\"" + std::string(60000, '[') + "\"]").size(), 1U);
}

TEST(JsonParse, ValuesAreLimited) {
  EXPECT_TRUE(parse_json("[1,{\"a\":2}]", "x", {.values = 4}).has_value());
  EXPECT_NE(refusal("[1,{\"a\":2},3]", {.values = 4}).find("more than 4 values"),
            std::string::npos);
  EXPECT_NE(refusal("[[[]]]", {.values = 2}).find("more than 2 values"), std::string::npos);
}

TEST(JsonParse, NumbersKeepTheirValue) {
  EXPECT_EQ(parsed("-9223372036854775808").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(parsed("9223372036854775807").get<int64_t>(), INT64_MAX);
  EXPECT_EQ(parsed("-0").get<int64_t>(), 0);
  for (const char* text : {"18446744073709551616", "-9223372036854775809",
                           "123456789012345678901234567890123456789012345678901234567890"}) {
    const Json json = parsed(text);
    EXPECT_TRUE(json.is_big_integer() && json.is_number() && !json.is_number_integer()) << text;
    EXPECT_EQ(json.text(), text);
    EXPECT_EQ(json.dump(), text);
    EXPECT_EQ(json.get<double>(), std::stod(text));
  }
  EXPECT_EQ(parsed("1" + std::string(400, '0')).get<double>(), HUGE_VAL);
  // Doubles that careless readers round wrongly.
  EXPECT_EQ(parsed("2.2250738585072011e-308").get<double>(), 2.2250738585072011e-308);
  EXPECT_EQ(parsed("9007199254740993.0").get<double>(), 9007199254740992.0);
  EXPECT_EQ(parsed("0.1").get<double>(), 0.1);
  EXPECT_EQ(parsed("1e-400").get<double>(), 0);
  EXPECT_TRUE(std::signbit(parsed("-0.0").get<double>()));
}

TEST(JsonParse, TheLastOfEqualKeysCountsInTheFirstPlace) {
  EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":3})").dump(), R"({"a":3,"b":2})");
  std::string wide = "{\"a\":0";
  for (int i = 0; i < 40; ++i) wide += fmt::format(",\"k{}\":{}", i % 20, i);
  const Json json = parsed(wide + ",\"a\":{\"b\":[1]}}");
  EXPECT_EQ(json.size(), 21U);
  EXPECT_EQ(json.dump().substr(0, 19), R"({"a":{"b":[1]},"k0")");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(json.at(fmt::format("k{}", i)), i + 20);
}

TEST(JsonParse, TextsWithEscapes) {
  EXPECT_EQ(parsed(R"("\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00")").text(),
            std::string_view("\"\\/\b\f\n\r\t\0é😀", 15));
  std::string text, written;
  for (int i = 0; i < 20000; ++i) {
    text += "ab\n";
    written += "ab\\u000a";
  }
  EXPECT_EQ(parsed("[\"" + written + "\"]")[0].text(), text);
  EXPECT_EQ(parsed("{\"" + written + "\":1}").at(text), 1);
}

// Names that differ in their first bytes, their last, or only in length.
std::string wide_object(int n) {
  std::string text = "{";
  for (int i = 0; i < n; ++i) {
    text += i % 3 == 0 ? fmt::format("\"{}\":{},", i, i)
                       : fmt::format("\"a long common beginning {}\":{},", i, i);
  }
  text.back() = '}';
  return text;
}

TEST(JsonObject, LookUpsAreLinear) {
  constexpr int kMembers = 100'000;
  const std::string text = wide_object(kMembers);
  const uint64_t before = json_key_comparisons();
  const Json json = parsed(text);
  Json grown;
  for (const auto& [key, value] : json.items()) grown[key] = value;
  for (const auto& [key, value] : json.items()) ASSERT_EQ(grown.at(key), value);
  EXPECT_EQ(json.find("none"), nullptr);
  // Three walks over them; a list would need billions.
  EXPECT_LT(json_key_comparisons() - before, uint64_t{10} * 3 * kMembers);
  EXPECT_GE(json_key_comparisons() - before, uint64_t{kMembers});
  EXPECT_EQ(grown, json);
  EXPECT_EQ(json.dump(), text);
}

TEST(JsonObject, KeepsOrderWhateverIsDone) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    Json json = Json::object();
    std::vector<std::pair<std::string, int>> model;
    for (int step = 0; step < 120; ++step) {
      const std::string key = fmt::format("{:0{}}", rng.below(60), rng.below(2) * 20);
      const auto found = std::ranges::find(model, key, &std::pair<std::string, int>::first);
      if (rng.below(4) == 0) {
        EXPECT_EQ(json.erase(key), found != model.end());
        if (found != model.end()) model.erase(found);
      } else {
        json[key] = step;
        if (found != model.end()) {
          found->second = step;
        } else {
          model.emplace_back(key, step);
        }
      }
      ASSERT_EQ(json.size(), model.size());
    }
    size_t i = 0;
    const Json copy = json;
    for (const auto& [key, value] : copy.items()) {
      ASSERT_EQ(key, model[i].first);
      ASSERT_EQ(value, model[i++].second);
      ASSERT_EQ(json.at(key), value);
    }
  }
}

TEST(JsonValue, BracesMakeWhatTheyLookLike) {
  const std::string name = "a name that is too long to stand in the value";
  const Json json = {{"n", 1}, {"list", {1, "two", nullptr}}, {"inner", {{name, true}}}};
  EXPECT_EQ(json.dump(), R"({"n":1,"list":[1,"two",null],"inner":{")" + name + R"(":true}})");
  EXPECT_EQ(Json::array({{{"a", 1}}}).dump(), R"([{"a":1}])");
  EXPECT_EQ(Json(std::vector<int>{1, 2}).dump(), "[1,2]");
  EXPECT_EQ(Json(std::vector<Json>{Json::object()}).dump(), "[{}]");
}

// A sanitizer sees what would leak.
TEST(JsonValue, ElementsLeaveFromEveryPlace) {
  for (size_t i = 0; i < 3; ++i) {
    Json json = parsed(R"([{"a":[1]},{"b":[2]},{"c":[3]}])");
    Json rest = Json::array();
    for (size_t k = 0; k < 3; ++k) {
      if (k != i) rest.push_back(json[k]);
    }
    json.erase(i);
    EXPECT_EQ(json, rest) << i;
  }
}

TEST(JsonValue, CopiesAreTheirOwn) {
  Json json = parsed(R"({"a":["a text that does not fit in the value",{"b":[1,2,3]}],"c":7})");
  const Json copy = json;
  json["a"][1]["b"].push_back(4);
  json["a"].erase(0);
  json.update({{"c", 8}, {"d", 9}});
  EXPECT_EQ(copy.dump(), R"({"a":["a text that does not fit in the value",{"b":[1,2,3]}],"c":7})");
  EXPECT_EQ(json.dump(), R"({"a":[{"b":[1,2,3,4]}],"c":8,"d":9})");
  Json& self = json;
  json = self;
  EXPECT_EQ(json.size(), 3U);
  json = Json(json["a"]);
  EXPECT_EQ(json.dump(), R"([{"b":[1,2,3,4]}])");
}

TEST(JsonValue, LooksUpWithoutFailing) {
  const Json json = parsed(R"({"a":[1]})");
  EXPECT_TRUE(json["b"]["c"][3].is_null());
  EXPECT_TRUE(json["a"][1].is_null());
  EXPECT_TRUE(json["a"]["x"].is_null());
  EXPECT_FALSE(json["a"].contains("x"));
  EXPECT_EQ(json.value("n", 5), 5);
  EXPECT_EQ(json["a"].begin()->get<int8_t>(), 1);
}

TEST(JsonValue, NumbersCompareByValue) {
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(Json(uint64_t{1}), Json(int8_t{1}));
  EXPECT_NE(Json(-1), Json(UINT64_MAX));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json("1"), Json(1));
  EXPECT_EQ(parsed("99999999999999999999"), parsed("99999999999999999999"));
  EXPECT_NE(parsed("99999999999999999999"), parsed("99999999999999999998"));
}

TEST(JsonValueDeathTest, WrongUseIsOurOwnBug) {
  EXPECT_DEATH((void)Json("x").get<int>(), "");
  EXPECT_DEATH((void)Json(300).get<uint8_t>(), "");
  EXPECT_DEATH((void)Json(-1).get<uint64_t>(), "");
  EXPECT_DEATH((void)Json(1.5).get<int>(), "");
  EXPECT_DEATH((void)Json::object().at("a"), "");
  EXPECT_DEATH((void)Json::array().back(), "");
}

TEST(JsonDump, EscapesAndReplaces) {
  EXPECT_EQ(Json("\"\\\b\f\n\r\t\x01\x1f\x7f/é").dump(),
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/é\"");
  EXPECT_EQ(Json("a\xFFz").dump(), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(Json({{"\xC3", 1}}).dump(), "{\"\xEF\xBF\xBD\":1}");
}

TEST(JsonDump, NumbersAsBefore) {
  const std::pair<double, const char*> kCases[] = {
      {0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {100, "100.0"},
      {123456.75, "123456.75"},
      {1e14, "100000000000000.0"},
      {1e15, "1e+15"},
      {1.5e300, "1.5e+300"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {-1.25e-7, "-1.25e-07"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"}};
  for (const auto& [value, text] : kCases) EXPECT_EQ(Json(value).dump(), text);
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(INT64_MIN).dump(), "-9223372036854775808");
}

// Values of every size that a sort moves through its buffer arrive whole.
TEST(JsonValue, SortsKeepEveryValue) {
  for (int n = 1; n < 40; ++n) {
    std::vector<Json> values;
    for (int i = 0; i < n; ++i) {
      const Json event = {{"index", i % 3}, {"choices", {{{"text", std::string(i, 'x')}}}}};
      values.push_back(i % 5 == 4 ? Json("[DONE]") : event);
    }
    std::vector<std::string> expected;
    for (const Json& value : values) expected.push_back(value.dump());
    const auto index_of = [](const Json& value) { return value.value("index", 3); };
    std::stable_sort(values.begin(), values.end(),
                     [&](const Json& a, const Json& b) { return index_of(a) < index_of(b); });
    std::vector<std::string> came;
    for (const Json& value : values) came.push_back(value.dump());
    EXPECT_TRUE(std::is_permutation(came.begin(), came.end(), expected.begin(), expected.end()));
  }
}

TEST(JsonDump, Indents) {
  EXPECT_EQ(parsed(R"({"a":[1,{}],"b":[],"c":{"d":2}})").dump(2),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": {\n    \"d\": 2\n  }\n}");
  std::ostringstream out;
  out << Json::array({1, "x"});
  EXPECT_EQ(out.str(), "[1,\"x\"]");
}

TEST(JsonWriter, TakesValuesThatAreWritten) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_array();
  writer.written_array("");
  writer.written_array("1,{\"a\":2}");
  writer.text_or_null("");
  writer.text_or_null("x");
  writer.end_array();
  EXPECT_EQ(out, "[[],[1,{\"a\":2}],null,\"x\"]");
}

TEST(JsonWriter, GoesOnWhereItsTextWasTaken) {
  std::string out, all;
  JsonWriter writer(out);
  const auto take = [&] {
    all += out;
    out.clear();
  };
  writer.begin_object();
  take();
  writer.key("ids");
  take();
  writer.begin_array();
  for (int i = -1; i < 2; ++i) {
    writer.integer(i);
    take();
  }
  writer.end_array();
  take();
  writer.key("x");
  writer.value(Json{{"a", 1.5}});
  writer.key("none");
  writer.null();
  writer.end_object();
  take();
  EXPECT_EQ(all, R"({"ids":[-1,0,1],"x":{"a":1.5},"none":null})");
}

TEST(KeyedHash, IsSipHash) {
  // What CPython 3.11 gives under the key 0.
  const HashKey zero{0, 0};
  EXPECT_EQ(keyed_hash("a", zero), 0x407448d2b89b1813U);
  EXPECT_EQ(keyed_hash("abc", zero), 0xc03bc3a0042630f2U);
  EXPECT_EQ(keyed_hash("12345678", zero), 0x3489982430560a87U);
  EXPECT_EQ(keyed_hash("a longer text than two words", zero), 0xec7416ee36b091ceU);
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_NE(keyed_hash("abc", key), keyed_hash("abc", {key.low ^ 1, key.high}));
  EXPECT_NE(keyed_hash("abc", key), keyed_hash("abc", {key.low, key.high ^ 1}));
  EXPECT_NE(keyed_hash(std::string_view("a\0", 2), key), keyed_hash("a", key));
  EXPECT_EQ(keyed_hash("members"), keyed_hash("members"));
}

}  // namespace
}  // namespace ruv
