#include "net/openai/structural_tag.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

// What the grammar of a structural tag accepts.
class StructuralTag : public testing::Test {
 protected:
  bool accepts(const char* value, std::string_view text) {
    const auto grammar = structural_tag_grammar("tag", *parse_json(value, "value"));
    EXPECT_TRUE(grammar) << grammar.error().message;
    if (!grammar) return false;
    const auto form = Form::of_grammar(space_, Form::Syntax::lark, *grammar, {}, {});
    EXPECT_TRUE(form) << form.error().message() << "\n" << *grammar;
    if (!form) return false;
    const Lock guard(space_->mutex());
    FormReader reader = (*form)->reader();
    return reader.accept(text) && reader.may_end();
  }
  static std::string refusal(const char* value) {
    const auto grammar = structural_tag_grammar("tag", *parse_json(value, "value"));
    return grammar ? "" : grammar.error().param;
  }

  std::shared_ptr<const Tokenizer> tokenizer_ = test_tokenizer(byte_test_spec({}));
  std::shared_ptr<FormSpace> space_ = std::make_shared<FormSpace>(
      std::make_shared<TokenPrefixes>(*tokenizer_), tokenizer_->vocab_size());
};

// The old spelling and the new one are the same grammar.
TEST_F(StructuralTag, TriggersBeginTags) {
  const char* old = R"({"type": "structural_tag", "triggers": ["<fn="], "structures": [
      {"begin": "<fn=a>", "schema": {"type": "integer"}, "end": "</fn>"},
      {"begin": "<fn=b>", "schema": {"type": "null"}, "end": "</fn>"}]})";
  const char* triggered = R"({"type": "structural_tag", "format": {"type": "triggered_tags",
      "triggers": ["<fn="], "tags": [
      {"begin": "<fn=a>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}},
       "end": "</fn>"},
      {"begin": "<fn=b>", "content": {"type": "json_schema", "json_schema": {"type": "null"}},
       "end": "</fn>"}]}})";
  for (const char* value : {old, triggered}) {
    for (const auto text :
         {"", "hi < fn", "<fn=a>12</fn>", "so: <fn=b>null</fn> and <fn=a>0</fn>!"}) {
      EXPECT_TRUE(accepts(value, text)) << text;
    }
    for (const auto text :
         {"<fn=", "<fn=c>1</fn>", "<fn=a>null</fn>", "<fn=b>null", "x<fn=b>1</fn>"}) {
      EXPECT_FALSE(accepts(value, text)) << text;
    }
  }
}

// Each flag changes what is accepted.
TEST_F(StructuralTag, FlagsOfTriggeredTags) {
  const std::string tags = R"("triggers": ["<"], "tags": [{"begin": "<", "end": ">",
      "content": {"type": "regex", "pattern": "[a-z]+"}}])";
  const auto with = [&](const std::string& flags) {
    return R"({"type": "structural_tag", "format": {"type": "triggered_tags", )" + tags + flags +
           "}}";
  };
  EXPECT_FALSE(accepts(with(R"(, "at_least_one": true)").c_str(), "text"));
  EXPECT_TRUE(accepts(with(R"(, "at_least_one": true)").c_str(), "text <a> <b>"));
  EXPECT_TRUE(accepts(with(R"(, "stop_after_first": true)").c_str(), "text <a>"));
  EXPECT_FALSE(accepts(with(R"(, "stop_after_first": true)").c_str(), "text <a> "));
  EXPECT_FALSE(accepts(with(R"(, "excludes": ["no"])").c_str(), "no <a>"));
  EXPECT_TRUE(accepts(with(R"(, "excludes": ["no"])").c_str(), "n <no>"));
}

// Free text ends where the tag around it does.
TEST_F(StructuralTag, FormatsNest) {
  const char* value = R"({"type": "structural_tag", "format": {"type": "sequence", "elements": [
      {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": ["</think>", "|"]},
      {"type": "or", "elements": [{"type": "const_string", "value": "yes"},
         {"type": "tags_with_separator", "separator": ", ", "at_least_one": true, "tags": [
           {"type": "tag", "begin": "[", "content": {"type": "json_schema",
            "json_schema": {"type": "boolean"}}, "end": "]"}]}]}]}})";
  for (const auto text : {"<think>hm</think>yes", "<think>|[true]", "<think>a|[true], [false]"}) {
    EXPECT_TRUE(accepts(value, text)) << text;
  }
  for (const auto text : {"<think>hm</think>", "<think>a|b|yes", "<think>|[true],[false]", "yes"}) {
    EXPECT_FALSE(accepts(value, text)) << text;
  }
}

TEST_F(StructuralTag, WhatIsNotKnownIsRefusedByItsPlace) {
  EXPECT_EQ(refusal(R"({"type": "structural_tag"})"), "tag.format");
  EXPECT_EQ(refusal(R"({"format": {"type": "grammar", "grammar": ""}})"), "tag.format.type");
  EXPECT_EQ(refusal(R"({"format": {"type": "any_text", "x": 1}})"), "tag.format.x");
  EXPECT_EQ(refusal(R"({"format": {"type": "sequence", "elements": [3]}})"),
            "tag.format.elements[0]");
  const char* other_begin = R"({"triggers": ["<"], "structures": [
      {"begin": "[", "schema": {}, "end": "]"}]})";
  EXPECT_EQ(refusal(other_begin), "tag.tags[0].begin");
  const char* empty_trigger = R"({"triggers": [""], "structures": [
      {"begin": "[", "schema": {}, "end": "]"}]})";
  EXPECT_EQ(refusal(empty_trigger), "tag.triggers");
  EXPECT_EQ(refusal(R"("text")"), "tag");
}

}  // namespace
}  // namespace ruv
