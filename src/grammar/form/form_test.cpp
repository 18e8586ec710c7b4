#include "grammar/form/form.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/test_share.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

// All single bytes, and some longer tokens that cross the borders of JSON's parts.
std::shared_ptr<const Tokenizer> json_vocabulary() {
  TokenizerSpec spec = byte_test_spec({});
  for (const std::string_view piece :
       {"\"",          "\":",        "\": ",        "\",",       "\", \"",     "\":\"",   "{\"",
        "}",           "}}",         "\"}",         "]",         "],",         "[[",      "[]",
        "{}",          "null",       "true",        "false",     "name",       "name\"",  "name\":",
        "na",          "me",         "id",          "\"id\":1,", "12",         "1,",      "1}",
        ",\"",         ", ",         "\n  \"",      "\":1,\"",   "a\"",        "ab",      "a\",\"b",
        "é",           "\\n",        "0.5",         "\",\"a\"",  "\", \"b\"]", "b\",\"a", "[\"a",
        "ab\",\"ab\"", "\":1,\"a\"", "\":1,\"b\":", "a\":2,\"ab"}) {
    add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
  }
  return test_tokenizer(spec);
}

struct JsonWorld {
  std::shared_ptr<const Tokenizer> tokenizer = json_vocabulary();
  std::shared_ptr<TokenPrefixes> prefixes = std::make_shared<TokenPrefixes>(*tokenizer);
  std::shared_ptr<FormSpace> space = std::make_shared<FormSpace>(prefixes, tokenizer->vocab_size());

  Form::Made schema(std::string_view text) {
    return Form::of_schema(space, *parse_json(text, "schema"), {});
  }
  bool accepts(const Form& form, std::string_view text) {
    const Lock guard(space->mutex());
    FormReader reader = form.reader();
    return reader.accept(text) && reader.may_end();
  }
};

struct Case {
  std::string_view schema;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

TEST(Form, AcceptsWhatASchemaAccepts) {
  const Case cases[] = {
      {R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}},
           "required": ["a"], "additionalProperties": false})",
       {R"({"a": 3})", R"({"a":17})", "{\n  \"a\": 4\n}"},
       {"{}", R"({"a": 2})", R"({"a": 3, "a": 4})", R"({"a": 3, "b": 1})", "[]", R"({"a": 3)"}},
      {R"({"oneOf": [{"properties": {"k": {"const": "x"}}, "required": ["k", "u"]},
                     {"properties": {"k": {"enum": ["x", "y"]}}, "required": ["k"]}]})",
       {R"({"k": "x"})", R"({"k": "y", "u": 1})", R"({"u": 1, "k": "y"})"},
       {R"({"k": "x", "u": 1})", R"({"u": 1, "k": "x"})", R"({"k": "z"})", "{}"}},
      {R"({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": true, "minItems": 2,
           "contains": {"const": 3}})",
       {"[3, 1]", "[1, 2, 3]", "[2,3]"},
       {"[1, 2]", "[3]", "[3, 3]", "[1, 3, 1]", "[1, 2, 3, 3]"}},
      {R"({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}})",
       {R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})", "{}", R"({"c": 1})", "5"},
       {R"({"a": 1})", R"({"c": 1, "d": 2})"}},
      {R"({"not": {"type": ["string", "object", "array", "null", "boolean"]}})",
       {"1", "-2.50", "1e5"},
       {"\"a\"", "null", "{}"}},
      {R"({"minItems": 2, "maxItems": 2, "not": {"uniqueItems": true}})",
       {"[1, 1]", "[null, null]", "[[], []]"},
       {"[1]", "[1, 2]", "[1, 1, 1]", "1"}},
      {R"({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "additionalProperties":
           {"$ref": "#/$defs/t"}, "maxProperties": 1}}})",
       {"{}", R"({"a": {"b": {}}})"},
       {R"({"a": {}, "b": {}})", R"({"a": 1})"}},
  };
  JsonWorld world;
  for (const Case& c : cases) {
    const auto form = world.schema(c.schema);
    ASSERT_TRUE(form) << form.error().message();
    for (const auto text : c.valid) EXPECT_TRUE(world.accepts(**form, text)) << c.schema << text;
    for (const auto text : c.invalid) EXPECT_FALSE(world.accepts(**form, text)) << c.schema << text;
  }
}

// A byte after which no end is left may not come, and a schema without values is refused.
TEST(Form, ItemsThatMustDifferRunOut) {
  struct Run {
    std::string_view schema;
    std::string_view text;     // may come
    std::string_view refused;  // may not follow it
  };
  const Run runs[] = {
      {R"({"uniqueItems": true, "minItems": 3, "type": "array", "items": {"enum": [1, 2, 3]}})",
       "[1,3,", "1"},
      {R"({"uniqueItems": true, "items": {"type": "boolean"}, "type": "array"})", "[true,false",
       ","},
      // The second item needs the only value that it can have.
      {R"({"uniqueItems": true, "minItems": 2, "type": "array",
           "prefixItems": [{"enum": ["a", "b"]}, {"const": "a"}]})",
       "[", "\"a"},
      {R"({"uniqueItems": true, "minItems": 3, "type": "array", "items": {"maximum": 9},
           "prefixItems": [{"type": "integer"}, {"enum": [7, 8]}, {"enum": [7, 8]}]})",
       "[", "7,"},
      // 1.0 and 1.00 are one value; so are texts with escapes.
      {R"({"uniqueItems": true, "minItems": 2, "type": "array",
           "items": {"type": ["number", "null"], "minimum": 1, "maximum": 1}})",
       "[1.00,", "1"},
      // Objects and arrays have few values, too.
      {R"({"uniqueItems": true, "minItems": 3, "type": "array", "items": {"type": "object",
           "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false,
           "minProperties": 1}})",
       R"([{"b":2,"a":1},{"a":1},{"b":2)", ","},
      {R"({"uniqueItems": true, "minItems": 2, "type": "array",
           "items": {"type": "array", "items": {"const": 0}, "maxItems": 1}})",
       "[[0],[", "0"},
      // Two items must be equal, and the second one is a text.
      {R"({"not": {"uniqueItems": true}, "maxItems": 2, "type": "array",
           "prefixItems": [{"type": ["string", "integer"]}, {"type": "string"}]})",
       "[", "1"},
  };
  JsonWorld world;
  for (const Run& run : runs) {
    const auto form = world.schema(run.schema);
    ASSERT_TRUE(form) << run.schema << form.error().message();
    const Lock guard(world.space->mutex());
    FormReader reader = (*form)->reader();
    EXPECT_TRUE(reader.accept(run.text)) << run.schema;
    EXPECT_FALSE(reader.allows(run.refused)) << run.schema;
    EXPECT_FALSE(reader.gave_up()) << run.schema;
  }
  const std::string_view impossible[] = {
      R"({"uniqueItems": true, "minItems": 4, "type": "array", "items": {"enum": [1, 2, 3]}})",
      R"({"uniqueItems": true, "minItems": 4, "type": "array", "items": {"enum": [1, 1.0, 2, 3]}})",
      R"({"uniqueItems": true, "minItems": 3, "type": "array", "items": {"type": "boolean"}})",
      R"({"uniqueItems": true, "minItems": 3, "type": "array", "prefixItems":
          [{"enum": [1, 2]}, {"enum": [1, 2]}, {"enum": [1, 2]}]})",
      R"({"uniqueItems": true, "minItems": 2, "type": "array", "items": {"pattern": "^a$",
          "type": "string"}})",
      R"({"not": {"uniqueItems": true}, "maxItems": 2, "prefixItems":
          [{"type": "integer"}, {"type": "string"}], "type": "array"})",
      R"({"not": {"uniqueItems": true}, "type": "array", "maxItems": 1})",
  };
  for (const std::string_view schema : impossible) {
    const auto form = world.schema(schema);
    ASSERT_FALSE(form) << schema;
    EXPECT_EQ(form.error().message(), "no value satisfies the schema") << schema;
  }
}

// Where every token of the vocabulary is tried by itself, the same tokens may come.
// Limits further away than a token reaches are counted, and come within reach in the end.
TEST(Form, CountsTheCharactersOfLongStrings) {
  JsonWorld world;
  const std::string_view characters[] = {"a", "é", "中", "😀", "\\n", "\\u0007", "name"};
  struct Limits {
    uint32_t min, max;
  };
  Rng rng(12);
  for (const Limits limits : {Limits{0, 60}, {50, 60}, {60, 60}, {40, 100'000}, {58, UINT32_MAX}}) {
    std::string schema = R"({"type":["string","null"],"minLength":)" + std::to_string(limits.min);
    if (limits.max != UINT32_MAX) schema += ",\"maxLength\":" + std::to_string(limits.max);
    const auto form = world.schema(schema + "}");
    ASSERT_TRUE(form);
    const Lock guard(world.space->mutex());
    for (int round = 0; round < 24 / int{kTestShare}; ++round) {
      FormReader reader = (*form)->reader();
      ASSERT_TRUE(reader.accept("\""));
      for (uint32_t n = 0; n < 70;) {
        TokenMask mask(world.tokenizer->vocab_size());
        reader.allow(mask);
        for (Token id = 0; id < world.tokenizer->vocab_size(); ++id) {
          if (world.prefixes->bytes(id).empty()) continue;
          ASSERT_EQ(mask.has(id), reader.allows(world.prefixes->bytes(id)))
              << schema << " after " << n << ": " << world.prefixes->bytes(id);
        }
        FormReader closed = reader;
        const bool is_right = n >= limits.min && n <= limits.max;
        ASSERT_EQ(closed.accept("\"") && closed.may_end(), is_right) << schema << " at " << n;
        const std::string_view next = characters[rng.below(std::size(characters))];
        const uint32_t size = next == "name" ? 4 : 1;
        ASSERT_EQ(reader.accept(next), n + size <= limits.max) << schema << " at " << n;
        if (n + size <= limits.max) n += size;
        if (n == limits.max || n + size > limits.max) break;
      }
    }
  }
}

// The states of a string do not grow with its length.
TEST(Form, LongStringsNeedNoLanguages) {
  JsonWorld world;
  const auto form = world.schema(R"({"type":"string","minLength":9000,"maxLength":65535})");
  ASSERT_TRUE(form);
  const Lock guard(world.space->mutex());
  FormReader reader = (*form)->reader();
  ASSERT_TRUE(reader.accept("\"é"));
  ASSERT_TRUE(reader.accept("a"));
  const size_t before = world.space->languages().size();
  ASSERT_TRUE(reader.accept(std::string(65'000, 'x')));
  EXPECT_LT(world.space->languages().size(), before + 1000);
  EXPECT_FALSE(reader.allows(std::string(600, 'x')));
  EXPECT_TRUE(reader.accept(std::string(533, 'x') + "\"") && reader.may_end());
}

// Nodes of the vocabulary that are visited while a text is read.
uint64_t visits_of_masks(std::string_view schema, std::string_view text, bool warm) {
  JsonWorld world;
  const auto form = world.schema(schema);
  EXPECT_TRUE(form);
  if (!form) return 0;
  if (warm) (*form)->warm();
  const Lock guard(world.space->mutex());
  const uint64_t before = world.space->masks().n_visited();
  FormReader reader = (*form)->reader();
  for (const char byte : text) {
    TokenMask mask(world.tokenizer->vocab_size());
    reader.allow(mask);
    EXPECT_TRUE(mask.has(static_cast<uint8_t>(byte))) << text << ": " << byte;
    EXPECT_TRUE(reader.accept(std::string_view(&byte, 1)));
  }
  return world.space->masks().n_visited() - before;
}

TEST(Form, WarmFindsTheMasksOfPatterns) {
  const std::string_view strings = R"({"type": "string", "pattern": "^[^@]+@[^@.]+[.][^@]+$"})";
  const std::string_view text = R"("ab@me.id")";
  EXPECT_LT(visits_of_masks(strings, text, true), 40U);
  EXPECT_GT(visits_of_masks(strings, text, false), 400U);
  const std::string_view keys =
      R"({"type": "object", "patternProperties": {"^[^@]+@[^@.]+$": {"type": "null"}},
          "additionalProperties": false})";
  const std::string_view object = R"({"ab@me":null})";
  EXPECT_LT(visits_of_masks(keys, object, true) * 2, visits_of_masks(keys, object, false));
}

TEST(Form, MasksAreThoseOfTokensTriedOneByOne) {
  const std::string_view schemas[] = {
      R"({"type": "object", "properties": {"name": {"type": "string"}, "id": {"type": "integer"}},
          "required": ["id"]})",
      R"({"type": "object", "properties": {"name": {"enum": ["a", "ab", "abc"]}},
          "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": {"maximum": 12}})",
      R"({"type": "array", "items": {"enum": ["a", "b", "ab", 1, 12]}, "uniqueItems": true})",
      R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 2})",
      R"({"type": "array", "items": {"enum": ["a", "b", "ab", "abc"]}, "uniqueItems": true})",
      R"({"type": "array", "items": {"type": "string", "maxLength": 2, "pattern": "^[ab]*$"},
          "uniqueItems": true})",
      R"({"anyOf": [{"type": "array", "items": {"type": "string"}, "uniqueItems": true},
                    {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}]})",
      R"({"type": "string", "pattern": "^[^e]*b?[an]*$", "minLength": 3, "maxLength": 40})",
      R"({"type": "string", "pattern": "^[\\w-]{2,30}$", "minLength": 5, "maxLength": 20})",
      R"({"type": "string", "pattern": "é|me", "minLength": 12, "maxLength": 14})",
      R"({"type": "object", "patternProperties": {"^(a|b|ab)$": {"type": "integer"}},
          "additionalProperties": false})",
      "{}",
      R"({"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "b$"}]})",
  };
  JsonWorld world;
  Rng rng(7);
  size_t n_masks = 0;
  for (const std::string_view schema : schemas) {
    const auto form = world.schema(schema);
    ASSERT_TRUE(form) << form.error().message();
    for (int round = 0; round < 24 / int{kTestShare}; ++round) {
      const Lock guard(world.space->mutex());
      FormReader reader = (*form)->reader();
      std::string text;
      for (int step = 0; step < 40 && !reader.only_ends(); ++step, ++n_masks) {
        TokenMask mask(world.tokenizer->vocab_size());
        reader.allow(mask);
        std::vector<Token> allowed;
        for (Token id = 0; id < world.tokenizer->vocab_size(); ++id) {
          const std::string_view bytes = world.prefixes->bytes(id);
          const bool fits = !bytes.empty() && reader.allows(bytes);
          ASSERT_EQ(mask.has(id), fits) << schema << "\n" << text << " then '" << bytes << "'";
          if (fits) allowed.push_back(id);
        }
        ASSERT_FALSE(allowed.empty()) << schema << "\n" << text;
        // Long tokens are rare among all and cross the most borders.
        Token id = allowed[rng.below(allowed.size())];
        for (int i = 0; i < 3 && world.prefixes->bytes(id).size() < 2; ++i) {
          id = allowed[rng.below(allowed.size())];
        }
        text += world.prefixes->bytes(id);
        ASSERT_TRUE(reader.accept(world.prefixes->bytes(id)));
      }
    }
  }
  EXPECT_GT(n_masks, 1000U / kTestShare);
}

}  // namespace
}  // namespace ruv
