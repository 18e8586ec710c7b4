// Vocabularies by hand, the published one against its cases, and hostile ones.
#include "format/rwkv_vocab.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "format/test_folder.h"
#include "format/tokenizer_file.h"

namespace ruv::rwkv_vocab_test {
namespace {

std::string error(std::string_view text) {
  const auto spec = tokenizer_spec_from_rwkv(text, "x");
  return spec ? "no error"
              : fmt::format("{} {}", code_name(spec.error().code()), spec.error().message());
}
void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RwkvVocab, ReadsTextsAndBytes) {
  const auto spec = tokenizer_spec_from_rwkv(
      "1 '\\x00' 1\n2 b'\\xff\\\\' 2\r\n3 '\\x80é' 4\n5 \" 'a' \" 5\n6 '\\t\\n\\r\\'\"' 5\n"
      "7 '\\u3042\\U0001f600' 7\n",
      "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::rwkv_world);
  EXPECT_TRUE(spec->raw_tokens);
  ASSERT_EQ(spec->tokens.size(), 8U);
  EXPECT_EQ(spec->kinds[0], TokenKind::control);
  EXPECT_EQ(spec->tokens[1], std::string(1, '\0'));
  EXPECT_EQ(spec->tokens[2], "\xFF\\");
  EXPECT_EQ(spec->tokens[3], "\u0080é");
  EXPECT_EQ(spec->kinds[4], TokenKind::unused);
  EXPECT_EQ(spec->tokens[5], " 'a' ");
  EXPECT_EQ(spec->tokens[6], "\t\n\r'\"");
  EXPECT_EQ(spec->tokens[7], "\u3042\U0001F600");
  EXPECT_EQ(spec->eos, 0);
}

TEST(RwkvVocab, WhatIsBrokenIsNamed) {
  for (const char* line : {"1", "1 'a'", "x 'a' 1", "1 'a' x", "1 a 1", "1 'a\" 1", "1 ' 1",
                           "1 '\\' 1", "1 '\\x1' 1", "1 b'\\u0041' 1", "1 '\\U00110000' 4"}) {
    expect_part(error("2 'b' 1\n" + std::string(line)), "corrupt x: line 2: no id");
  }
  expect_part(error("1 'a' 2"), "line 1: 1 bytes, but the line says 2");
  expect_part(error("1 '' 0"), "line 1: 0 bytes");
  expect_part(error("0 'a' 1"), "id 0 is outside");
  expect_part(error("9999 'a' 1"), "id 9999 is outside");
  expect_part(error("1 'a' 1\n1 'b' 1"), "line 2: id 1 appears twice");
  expect_part(error("\n"), "no tokens");
  EXPECT_TRUE(looks_like_rwkv("1 '\\x00' 1\n"));
  EXPECT_FALSE(looks_like_rwkv("IQ== 0"));
}

TEST(RwkvVocab, EscapesOfGgufFiles) {
  EXPECT_EQ(unescape_rwkv("\\xff\\n\\\\x"), "\xFF\n\\x");
  EXPECT_EQ(unescape_rwkv("é"), "é");
  EXPECT_EQ(unescape_rwkv("a\\"), std::nullopt);
  EXPECT_EQ(unescape_rwkv("\\xf"), std::nullopt);
}

TEST(RwkvVocab, IdsEqualTheReference) {
  const std::string folder = shared_file("tokenizers/rwkv-world");
  if (folder.empty()) GTEST_SKIP() << "tokenizers/rwkv-world";
  const auto tokenizer = open_tokenizer_file(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const Json cases = (*parse_json(*read_text_file(folder + "/cases.json"), folder)).at("cases");
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    std::vector<Token> ids;
    (*tokenizer)->encode(text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, one["ids"].get<std::vector<Token>>()) << text;
    EXPECT_EQ((*tokenizer)->decode(ids, false), text);
  }
}

}  // namespace
}  // namespace ruv::rwkv_vocab_test
