// The plain validator's own tests: compared with by others, it must be right by itself.
#include "grammar/schema/test_validator.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

struct ValidatorCase {
  int draft;
  std::string_view schema;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

TEST(TestValidator, KnowsTheKeywords) {
  const ValidatorCase cases[] = {
      {4, R"({"minimum": 1, "exclusiveMinimum": true})", {"1.5", "\"a\""}, {"1", "1.0"}},
      {2020, R"({"type": "integer", "multipleOf": 0.5})", {"1.0", "2"}, {"1.5", "\"1\""}},
      {2020, R"({"enum": [{"a": 1, "b": [2]}]})", {R"({"b": [2.0], "a": 1})"}, {R"({"a": 1})"}},
      {2020, R"({"minLength": 2, "pattern": "^é"})", {"\"éb\""}, {"\"é\"", "\"be\""}},
      {7,
       R"({"items": [{"type": "null"}], "additionalItems": false})",
       {"[]", "[null]"},
       {"[1]", "[null, null]"}},
      {2020, R"({"contains": {"const": 1}, "maxContains": 1})", {"[2, 1]"}, {"[]", "[1, 1]"}},
      {2020,
       R"({"contains": {"const": 1}, "minContains": 0, "unevaluatedItems": false})",
       {"[]", "[1, 1]"},
       {"[2]"}},
      {2019, R"({"contains": {"const": 1}, "unevaluatedItems": false})", {"0"}, {"[1]"}},
      {2020,
       R"({"properties": {"a": true}, "patternProperties": {"^a": {"maximum": 1}},
                 "additionalProperties": false})",
       {R"({"a": 1, "ab": 0})"},
       {R"({"a": 2})", R"({"b": 1})"}},
      {2020,
       R"({"anyOf": [{"properties": {"a": true}, "required": ["b"]}, {"properties":
                 {"c": true}}], "unevaluatedProperties": false})",
       {R"({"c": 1})", "{}"},
       {R"({"a": 1})", R"({"b": 1, "a": 1})"}},
      {2020,
       R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
                 "then": {"required": ["b"]}, "else": {"maxProperties": 0},
                 "unevaluatedProperties": {"type": "null"}})",
       {"{}", R"({"a": 1, "b": null})"},
       {R"({"a": 1})", R"({"a": 1, "b": 1})", R"({"b": 1})"}},
      {7,
       R"({"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}})",
       {R"({"a": 1, "b": 1})", R"({"c": 1})"},
       {R"({"a": 1})", R"({"c": 1, "b": 2})"}},
      {2020,
       R"({"$ref": "#/$defs/x", "maxItems": 1, "$defs": {"x": {"items": {"$ref": "#"}}}})",
       {"[[]]", "1"},
       {"[1, 2]", "[[1, 2]]"}},
      {7,
       R"({"$ref": "#/definitions/x", "maxItems": 1, "definitions": {"x": true}})",
       {"[1, 2]"},
       {}},
      {2020, R"({"uniqueItems": true})", {"[1, true, \"1\"]"}, {"[1, 1.0]", "[{}, {}]"}},
      {2020,
       R"({"propertyNames": {"maxLength": 1}, "minProperties": 1})",
       {R"({"a": 1})"},
       {"{}", R"({"ab": 1})"}},
  };
  for (const ValidatorCase& c : cases) {
    const Json schema = *parse_json(c.schema, "schema");
    const TestValidator validator(schema, c.draft);
    for (const auto text : c.valid) {
      EXPECT_TRUE(validator.valid(*parse_json(text, "value"))) << c.schema << ' ' << text;
    }
    for (const auto text : c.invalid) {
      EXPECT_FALSE(validator.valid(*parse_json(text, "value"))) << c.schema << ' ' << text;
    }
  }
}

}  // namespace
}  // namespace ruv
