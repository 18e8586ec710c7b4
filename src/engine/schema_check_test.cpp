#include "engine/schema_check.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(PlainJson, WritesNumbersAsFormsKnowThem) {
  const std::pair<std::string_view, std::string> cases[] = {
      {" { \"a b\" : [ 1 , -2.50 ] }\n", R"({"a b":[1,-2.5]})"},
      {"[1.0, 1e2, 1E+2, 12.5e1, 1.25e-3, 0.0, -0, -0.0, 0e5, 100]",
       "[1,100,100,125,0.00125,0,0,0,0,100]"},
      {R"(["1.0 \" 2.0", "\\", 3.0])", R"(["1.0 \" 2.0","\\",3])"},
      {"123456789012345678901234567890.10", "123456789012345678901234567890.1"},
      {"1e400", "1" + std::string(400, '0')},
      {"[1e401, 1e-99999999999999999999]", "[1e401,1e-99999999999999999999]"},
      {R"("unfinished)", R"("unfinished)"},
      {R"("unfinished\)", R"("unfinished\)"},
      {"[true,false,null]", "[true,false,null]"},
  };
  for (const auto& [text, plain] : cases) EXPECT_EQ(plain_json(text), plain);
}

class SchemaChecks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    engine_ = Engine::create(load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value(),
                             {.n_threads = 1, .n_ctx = 64, .max_sequences = 1})
                  .value();
  }
  static void TearDownTestSuite() { engine_.reset(); }

  static std::unique_ptr<Engine> engine_;
};
std::unique_ptr<Engine> SchemaChecks::engine_;

constexpr const char* kWeather =
    R"({"type": "object", "properties": {"city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["C", "F"]}}, "required": ["city"], "additionalProperties": false})";

TEST_F(SchemaChecks, AcceptsEverySpelling) {
  const auto check = schema_check(*engine_, kWeather);
  ASSERT_TRUE(check) << check.error().message();
  const std::string_view right[] = {
      R"({"city":"Rom"})",
      R"({"days": 3, "unit": "C", "city": "Rom"})",
      R"({"city": "Rom", "days": 3.0})",
      R"({"city": "Rom", "days": 1e1})",
      R"({"city": "R\u00f6m", "unit": "\u0043"})",
      "{\n\t\"city\"\r\n:                                                    \"Rom\"\n}",
      R"({"city": "罗马"})",
  };
  for (const auto text : right)
    EXPECT_TRUE((*check)(text).ok()) << text << (*check)(text).message();
}

// Models get these texts as results.
TEST_F(SchemaChecks, SaysWhereItBreaks) {
  const auto check = schema_check(*engine_, kWeather);
  ASSERT_TRUE(check);
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {R"({"days": 3})",
       R"(the arguments do not follow the schema: after {"days":3 there cannot be }; missing: 'city')"},
      {R"({"city": 5})",
       R"(the arguments do not follow the schema: after {"city": there cannot be 5})"},
      {R"({"city": "Rom", "days": 15})",
       R"(the arguments do not follow the schema: after {"city":"Rom","days":1 there cannot be 5})"},
      {R"({"city": "Rom", "country": "Italy, which is a country in Europe"})",
       R"(the arguments do not follow the schema: after {"city":"Rom"," there cannot be )"
       R"(country":"Italy, which is a co…)"},
      {R"({"city": "Rom", "city": "Bonn"})",
       R"(the arguments do not follow the schema: after {"city":"Rom"," there cannot be )"
       R"(city":"Bonn"})"},
      {R"({"city": ""})",
       R"(the arguments do not follow the schema: after {"city":" there cannot be "})"},
      {"[]", "the arguments do not follow the schema: after nothing there cannot be []"},
  };
  for (const auto& [text, message] : wrong) {
    const Status status = (*check)(text);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_EQ(status.message(), message);
  }
}

TEST_F(SchemaChecks, RefusesSchemasThatCannotBeHeld) {
  EXPECT_EQ(schema_check(*engine_, "{").error().code(), Code::corrupt);
  const auto elsewhere = schema_check(*engine_, R"({"$ref": "https://example.org/other"})");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code(), Code::unsupported);
}

// Forms are kept for a while; a check lives as long as its tool.
TEST_F(SchemaChecks, OutlivesItsEngine) {
  auto engine = Engine::create(load_model(RUV_SOURCE_DIR "/models/ruvltra-nano-q8_0.gguf").value(),
                               {.n_threads = 1, .n_ctx = 64, .max_sequences = 1})
                    .value();
  const SchemaCheck check = schema_check(*engine, kWeather).value();
  engine.reset();
  EXPECT_TRUE(check(R"({"city":"Rom"})").ok());
  EXPECT_FALSE(check(R"({"city":1})").ok());
}

}  // namespace
}  // namespace ruv
