// Answers that are cut off anywhere, and what ends them.
#include <gtest/gtest.h>

#include "grammar/form/test_masks.h"
#include "grammar/form/test_schemas.h"

namespace ruv {
namespace {

struct EndingForms {
  MaskVocabulary vocabulary{test_tokenizer(byte_test_spec({}))};
  std::shared_ptr<FormSpace> space = vocabulary.space();

  // The text and what ends it; "none" where nothing is found.
  std::string ended(const Form& form, std::string_view begun) {
    const Lock guard(space->mutex());
    FormReader reader = form.reader();
    if (!reader.accept(begun)) return "refused";
    const auto ending = reader.ending(4096);
    if (!ending) return "none";
    EXPECT_TRUE(ending->empty() || reader.accept(*ending)) << *ending;
    EXPECT_TRUE(reader.may_end()) << begun << " | " << *ending;
    return std::string(begun) + *ending;
  }
  std::string ended(const char* schema, std::string_view begun) {
    const auto form = Form::of_schema(space, parse_json(schema, "schema").value(), {});
    EXPECT_TRUE(form);
    return ended(**form, begun);
  }
};

TEST(FormEnding, ClosesWhatIsOpen) {
  EndingForms forms;
  EXPECT_EQ(forms.ended("{}", R"({"a": [1, {"b": "te)"), R"({"a": [1, {"b": "te"}]})");
  EXPECT_EQ(forms.ended("{}", R"({"a": tr)"), R"({"a": true})");
  EXPECT_EQ(forms.ended("{}", R"([1, 2)"), "[1, 2]");
  EXPECT_EQ(forms.ended("{}", R"("a\u00)"), R"("a\u001a")");
  EXPECT_EQ(forms.ended("{}", "[1]"), "[1]");
}

TEST(FormEnding, WritesWhatIsRequired) {
  EndingForms forms;
  const char* const schema = R"({"type": "object", "properties": {
      "name": {"type": "string", "minLength": 3}, "kind": {"enum": ["first", "second"]},
      "n": {"type": "integer", "minimum": 10}, "more": {"type": "string"}},
      "required": ["name", "kind", "n"]})";
  for (const char* begun : {"{", R"({"na)", R"({"name": "a)", R"({"name": "abc", "other": 1, )",
                            R"({"more": "x", "kind")"}) {
    const std::string whole = forms.ended(schema, begun);
    const auto value = parse_json(whole, "whole");
    ASSERT_TRUE(value) << begun << ": " << whole;
    EXPECT_TRUE(value->contains("name") && value->contains("kind") && value->contains("n"));
    EXPECT_LT(whole.size(), 90U) << whole;
  }
}

TEST(FormEnding, CountsAndReferences) {
  EndingForms forms;
  EXPECT_EQ(forms.ended(R"({"type": "array", "minItems": 3, "uniqueItems": true})", "[1,2").size(),
            std::string("[1,2,0]").size());
  const char* const tree = R"({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object",
      "properties": {"left": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]}},
      "required": ["left"], "additionalProperties": false}}})";
  EXPECT_EQ(forms.ended(tree, R"({"left": {)"), R"({"left": {"left":null}})");
}

TEST(FormEnding, OfGrammarsAndPatterns) {
  EndingForms forms;
  const auto grammar = [&](const char* text, Form::Syntax syntax, std::string_view begun) {
    const auto form = Form::of_grammar(forms.space, syntax, text, {}, {});
    EXPECT_TRUE(form);
    return forms.ended(**form, begun);
  };
  constexpr const char* kSums = R"g(root ::= sum
sum ::= sum "+" part | part
part ::= "(" sum ")" | [0-9]{2,4} | "pi")g";
  EXPECT_EQ(grammar(kSums, Form::Syntax::gbnf, "(1"), "(10)");
  EXPECT_EQ(grammar(kSums, Form::Syntax::gbnf, "((12+("), "((12+(pi)))");
  EXPECT_EQ(grammar(kSums, Form::Syntax::gbnf, "p"), "pi");
  constexpr const char* kCalls = R"(start: call{1,3}
call: "<call>" body "</call>"
body: %json {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}})";
  EXPECT_EQ(grammar(kCalls, Form::Syntax::lark, R"(<call>{"ci)"), R"(<call>{"city":""}</call>)");
  EXPECT_EQ(grammar(kCalls, Form::Syntax::lark, R"(<call>{"city":"a"}</call><)"),
            R"(<call>{"city":"a"}</call><call>{"city":""}</call>)");
  const auto pattern = Form::of_pattern(forms.space, "[a-f]+-(day|night)", {});
  ASSERT_TRUE(pattern);
  EXPECT_EQ(forms.ended(**pattern, "fa"), "fa-day");
}

// A search that finds nothing ends soon.
TEST(FormEnding, OfWhatIsTooLong) {
  EndingForms forms;
  EXPECT_EQ(forms.ended(R"({"type": "string", "minLength": 100000})", "\"a"), "none");
  EXPECT_EQ(forms.ended(R"({"type": "array", "minItems": 5000})", "[0"), "none");
}

TEST(FormEnding, OfAnyTextOfRandomSchemas) {
  EndingForms forms;
  Rng rng(47);
  size_t n_begun = 0;
  size_t n_ended = 0;
  const std::vector<Json> documents = small_documents();
  for (int i = 0; i < 150; ++i) {
    const Json schema = RandomSchemas(rng, 2020).root();
    if (forms.space->is_worn()) forms.space = forms.vocabulary.space();
    const auto form = Form::of_schema(forms.space, schema, {});
    if (!form) continue;
    for (int n = 0; n < 20; ++n) {
      const std::string text = documents[rng.below(documents.size())].dump();
      const std::string begun = text.substr(0, rng.below(text.size() + 1));
      const std::string whole = forms.ended(**form, begun);
      if (whole == "refused") continue;
      ++n_begun;
      n_ended += whole != "none";
    }
  }
  // One schema among them takes more steps than a search may.
  EXPECT_GT(n_begun, 500U);
  EXPECT_GE(n_ended * 1000, n_begun * 995) << n_begun - n_ended << " of " << n_begun;
}

}  // namespace
}  // namespace ruv
