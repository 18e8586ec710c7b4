// Models made by hand, models that SentencePiece made, against its ids, and hostile ones.
#include "format/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "fault/damage.h"
#include "format/test_folder.h"
#include "format/tokenizer_file.h"

namespace ruv::sentencepiece_model_test {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out + static_cast<char>(value);
}
std::string number(uint64_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(uint64_t field, const std::string& value) {
  return varint((field << 3) | 2) + varint(value.size()) + value;
}
std::string piece(const std::string& text, float score, uint64_t type = 1) {
  std::string body = bytes(1, text) + varint((2 << 3) | 5);
  body.append(reinterpret_cast<const char*>(&score), sizeof(score));
  if (type != 1) body += number(3, type);
  return bytes(1, body);
}

std::string pieces() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<0x41>", 0, 6) +
         piece("\u2581a", -1) + piece("<tool>", 0, 4) + piece("old", -9, 5);
}

Result<TokenizerSpec> read(const std::string& text) {
  return tokenizer_spec_from_sentencepiece(as_bytes(text), "x.model");
}
std::string error(const std::string& text) {
  const auto spec = read(text);
  return spec ? "no error"
              : fmt::format("{} {}", code_name(spec.error().code()), spec.error().message());
}
void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(SentencePieceModel, ReadsPiecesAndOptions) {
  // Unknown fields of each wire type stand between those that are read.
  const std::string unknown = number(77, 5) + bytes(78, "text") + varint((79 << 3) | 1) +
                              std::string(8, 'x') + varint((80 << 3) | 5) + "four";
  const std::string trainer =
      unknown + number(3, 2) + number(35, 1) + number(43, uint64_t(-1)) + bytes(48, "<tool>");
  const std::string normalizer = bytes(1, "identity") + number(3, 0) + number(4, 0);
  const auto spec = read(pieces() + unknown + bytes(2, trainer) + bytes(3, normalizer));
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::sentencepiece_bpe);
  EXPECT_EQ(spec->tokens.size(), 7U);
  EXPECT_EQ(spec->tokens[4], "\u2581a");
  EXPECT_EQ(spec->scores[4], -1.0F);
  EXPECT_EQ(spec->kinds,
            (std::vector<TokenKind>{TokenKind::unknown, TokenKind::control, TokenKind::control,
                                    TokenKind::byte, TokenKind::normal, TokenKind::user_defined,
                                    TokenKind::unused}));
  EXPECT_TRUE(spec->byte_fallback && spec->add_bos);
  EXPECT_FALSE(spec->add_space_prefix || spec->remove_extra_spaces || spec->add_eos);
  EXPECT_EQ(spec->unk, 0);
  EXPECT_EQ(spec->bos, 1);
  EXPECT_EQ(spec->eos, 2);
  EXPECT_EQ(spec->pad, std::nullopt);
  ASSERT_EQ(spec->added.size(), 4U);
  EXPECT_FALSE(spec->added[3].special);
}

TEST(SentencePieceModel, DefaultsAreUnigramWithAPrefix) {
  const auto spec = read(pieces() + bytes(3, bytes(2, "map")));
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::unigram);
  EXPECT_TRUE(spec->add_space_prefix && spec->remove_extra_spaces);
  EXPECT_TRUE(spec->prefix_first_only && spec->prefix_before_added);
  EXPECT_FALSE(spec->byte_fallback);
  ASSERT_EQ(spec->normalizers.size(), 1U);
  EXPECT_EQ(spec->normalizers[0].content, "map");
}

TEST(SentencePieceModel, WhatWeLackIsRefusedByName) {
  expect_part(error(pieces() + bytes(2, number(3, 3))),
              "unsupported x.model: model type 3 (\"word\")");
  expect_part(error(pieces() + bytes(2, number(3, 4))), "(\"char\")");
  expect_part(error(pieces() + bytes(2, number(24, 1))), "treat_whitespace_as_suffix");
  expect_part(error(pieces() + bytes(3, number(5, 0))), "escape_whitespaces");
}

TEST(SentencePieceModel, BrokenFilesAreCorrupt) {
  expect_part(error(""), "no pieces");
  expect_part(error(piece("a", 0, 9)), "pieces[0]: type 9");
  expect_part(error(piece("a", std::nanf(""))), "score is NaN");
  expect_part(error("\x0B"), "no known wire type");
  expect_part(error(std::string(11, '\xFF')), "longer than ten bytes");
  expect_part(error("\x0A\xFF\xFF\xFF\xFF\x0F"), "bytes");
  expect_part(error(std::string(1, '\0')), "is not a field");
  const std::string whole = pieces() + bytes(2, number(3, 2)) + bytes(3, bytes(2, "map"));
  const auto is_read = [](const std::string& text) { (void)read(text); };
  for_each_cut(whole, is_read);
  for_each_flip(whole, {0x10}, is_read);
}

TEST(SentencePieceModel, TheFileSaysWhatAnUnknownTokenShows) {
  const std::string trainer = number(3, 2);
  EXPECT_EQ(read(pieces() + bytes(2, trainer))->unknown_text, " \u2047 ");
  EXPECT_EQ(read(pieces() + bytes(2, trainer + bytes(44, "?!")))->unknown_text, "?!");
}

class SentencePieceCases : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceCases, IdsAndTextEqualTheReference) {
  const std::string name = "tokenizers/sentencepiece/" + std::string(GetParam());
  const std::string model = shared_file(name + ".model");
  if (model.empty()) GTEST_SKIP() << name;
  const auto tokenizer = open_tokenizer_file(model);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const std::string path = shared_file(name + ".cases.json");
  const Json cases = (*parse_json(*read_text_file(path), path)).at("cases");
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    std::vector<Token> ids;
    (*tokenizer)->encode(text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, one["ids"].get<std::vector<Token>>()) << text;
    EXPECT_EQ((*tokenizer)->decode(ids, false), one["decoded"].get<std::string>()) << text;
  }
  const Token unknown = *(*tokenizer)->spec().unk;
  EXPECT_EQ((*tokenizer)->decode(std::vector<Token>{unknown, unknown}, false), " \u2047  \u2047 ");
}

INSTANTIATE_TEST_SUITE_P(Files, SentencePieceCases,
                         testing::Values("llama2", "mistral-v1", "mistral-v3",
                                         "sp-test-unigram-en"));

}  // namespace
}  // namespace ruv::sentencepiece_model_test
