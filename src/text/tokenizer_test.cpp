// Both kinds on small vocabularies: rules of spaces, added tokens and bytes, and properties that
// hold for any text.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "base/test_share.h"
#include "base/utf8.h"
#include "text/end_of_turn.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::shared_ptr<const Tokenizer> made(TokenizerSpec spec) {
  auto tokenizer = Tokenizer::create(std::move(spec));
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().message();
    return nullptr;
  }
  return *tokenizer;
}

std::shared_ptr<const Tokenizer> byte_tokenizer(const std::string& pre = "gpt-2") {
  return made(byte_test_spec({"h e", "l l", "he ll", "hell o", "Ġ w", "a a", "aa aa"}, pre));
}

std::shared_ptr<const Tokenizer> piece_tokenizer() {
  return made(piece_test_spec({"▁", "h", "e", "l", "o", "a", "▁h", "el", "lo", "▁hel", "aa"}));
}

// Texts of the ids, joined by '|'.
std::string pieces(const Tokenizer& tokenizer, std::string_view text,
                   SpecialParsing special = SpecialParsing::on, bool continues = false) {
  std::vector<Token> ids;
  tokenizer.encode(text, special, continues, ids);
  std::string out;
  for (const Token id : ids) {
    out += (out.empty() ? "" : "|") + tokenizer.spec().tokens[static_cast<size_t>(id)];
  }
  return out;
}

std::string random_bytes(Rng& rng, uint64_t n) {
  std::string text;
  for (; n > 0; --n) text += static_cast<char>(rng.next());
  return text;
}

std::string random_text(Rng& rng, uint64_t n) {
  std::string text;
  const std::string_view words[] = {"hello",
                                    " ",
                                    "a",
                                    "<tool>",
                                    "<s>",
                                    "\n",
                                    "'s",
                                    "7",
                                    "\u00E9",
                                    "\u65E5",
                                    "\U0001F9D1\u200D\U0001F680",
                                    "\u2581",
                                    "aaa"};
  for (; n > 0; --n) text += words[rng.below(std::size(words))];
  return text;
}

TEST(Tokenizer, SpacesOfItsOwnAreNotDecoded) {
  TokenizerSpec spec = piece_test_spec({"▁", "h", "▁h"});
  const auto decoded = [](const Tokenizer& tokenizer, const std::vector<Token>& ids) {
    Detokenizer stream(tokenizer, false, false);
    std::string text;
    for (const Token id : ids) text += stream.push(id);
    EXPECT_EQ(text + stream.finish(), tokenizer.decode(ids, false));
    return text;
  };
  const auto one = made(spec);
  const std::vector<Token> ids = {*one->find("▁"), *one->find("▁h"), *one->find("▁h")};
  EXPECT_EQ(decoded(*one, ids), " h h");
  spec.remove_extra_spaces = true;
  EXPECT_EQ(decoded(*made(spec), ids), "h h");
}

TEST(ByteBpe, MergesByRankInsideWords) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(pieces(*tokenizer, "hello world"), "hello|Ġw|o|r|l|d");
  EXPECT_EQ(pieces(*tokenizer, "aaaaa"), "aaaa|a");
  EXPECT_EQ(pieces(*tokenizer, ""), "");
}

TEST(ByteBpe, BytesWithoutTokenAreAsIfNotThere) {
  TokenizerSpec spec = byte_test_spec({"! ?"});
  spec.kinds[0x14] = TokenKind::unused;
  EXPECT_EQ(pieces(*made(spec), "\x14!\x14\x14?\x14 \x14"), "!?|Ġ");
}

TEST(ByteBpe, IgnoreMergesTakesWholeWords) {
  TokenizerSpec spec = byte_test_spec({"x y"});
  add_test_token(spec, "xyz", TokenKind::normal);
  EXPECT_EQ(pieces(*made(spec), "xyz xy"), "xy|z|Ġ|xy");
  spec.ignore_merges = true;
  EXPECT_EQ(pieces(*made(spec), "xyz xy"), "xyz|Ġ|xy");
}

TEST(ByteBpe, ControlTokensAreTextForUsers) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(pieces(*tokenizer, "<bos>a"), "<bos>|a");
  EXPECT_EQ(pieces(*tokenizer, "<bos>a", SpecialParsing::off), "<|b|o|s|>|a");
  EXPECT_EQ(pieces(*tokenizer, "<tool>a", SpecialParsing::off), "<tool>|a");
}

TEST(ByteBpe, PartsAreOneTextWhereOnlyTheTemplateWritesControlTokens) {
  const auto tokenizer = byte_tokenizer();
  const TextPart parts[] = {{"<bos>he", SpecialParsing::on},
                            {"llo<end>", SpecialParsing::off},
                            {"", SpecialParsing::on},
                            {"<end>", SpecialParsing::on}};
  std::vector<Token> ids;
  tokenizer->encode_parts(parts, false, ids);
  std::vector<Token> expected = {*tokenizer->find("<bos>"), *tokenizer->find("hello")};
  tokenizer->encode("<end>", SpecialParsing::off, true, expected);
  expected.push_back(*tokenizer->find("<end>"));
  EXPECT_EQ(ids, expected);
}

TEST(ByteBpe, NormalisesToNfc) {
  TokenizerSpec spec = byte_test_spec({"Ã ©"});
  EXPECT_EQ(pieces(*made(spec), "e\u0301"), "e|Ì|ģ");
  spec.normalizers = {{.kind = NormalizerKind::nfc}};
  EXPECT_EQ(pieces(*made(spec), "e\u0301"), "Ã©");
  add_test_added(spec, {.text = "\u00FC", .normalized = true});
  EXPECT_EQ(pieces(*made(spec), "au\u0308<tool>"), "a|\u00FC|<tool>");
}

TEST(ByteBpe, DecodeGivesTheTextBack) {
  Rng rng(5);
  for (const char* scheme : {"gpt-2", "llama-bpe", "qwen2", "gpt-4o", "starcoder", "deepseek-v3"}) {
    const auto tokenizer = byte_tokenizer(scheme);
    for (int i = 0; i < 200; ++i) {
      const std::string text =
          i % 2 == 0 ? random_text(rng, rng.below(30)) : random_bytes(rng, rng.below(60));
      std::vector<Token> ids;
      tokenizer->encode(text, SpecialParsing::on, false, ids);
      EXPECT_EQ(tokenizer->decode(ids, true), text);
    }
  }
}

TEST(SentencePieceBpe, ScoresDecideAndSpacesAreVisible) {
  const auto tokenizer = piece_tokenizer();
  EXPECT_EQ(pieces(*tokenizer, "hello"), "▁hel|lo");
  EXPECT_EQ(pieces(*tokenizer, "hello", SpecialParsing::on, true), "h|el|lo");
  EXPECT_EQ(pieces(*tokenizer, " a  a"), "▁|▁|a|▁|▁|a");
  EXPECT_EQ(pieces(*tokenizer, ""), "");
}

TEST(SentencePieceBpe, UnknownCharactersBecomeBytes) {
  EXPECT_EQ(pieces(*piece_tokenizer(), "a\u00E9\xFF"), "▁|a|<0xC3>|<0xA9>|<0xFF>");
  TokenizerSpec spec = piece_test_spec({"▁", "a"});
  spec.byte_fallback = false;
  EXPECT_EQ(pieces(*made(spec), "\u00E9\u00E9a\u00E9"), "▁|<unk>|a|<unk>");
}

TEST(SentencePieceBpe, TextNeverMergesIntoAControlToken) {
  const auto tokenizer =
      made(piece_test_spec({"<", "s", ">", "▁", "<s", "s>", "/", "</", "</s", "0", "x"}));
  EXPECT_EQ(pieces(*tokenizer, "<s>", SpecialParsing::off, true), "<s|>");
  EXPECT_EQ(pieces(*tokenizer, "</s>", SpecialParsing::off, true), "</|s>");
}

TEST(SentencePieceBpe, WhereTheSpacePrefixStands) {
  TokenizerSpec spec = piece_test_spec({"▁", "a"});
  EXPECT_EQ(pieces(*made(spec), "a<s>a"), "▁|a|<s>|▁|a");
  EXPECT_EQ(pieces(*made(spec), " a"), "▁|▁|a");
  spec.prefix_first_only = true;
  EXPECT_EQ(pieces(*made(spec), "a<s>a"), "▁|a|<s>|a");
  spec.prefix_if_missing = true;
  EXPECT_EQ(pieces(*made(spec), " a"), "▁|a");
  spec.add_space_prefix = false;
  EXPECT_EQ(pieces(*made(spec), "a a"), "a|▁|a");
}

TEST(SentencePieceBpe, ExtraSpacesAndWordsOnRequest) {
  TokenizerSpec spec = piece_test_spec({"▁", "a", "a▁", "▁a"});
  EXPECT_EQ(pieces(*made(spec), "a a"), "▁|a▁|a");
  spec.split_at_spaces = true;
  EXPECT_EQ(pieces(*made(spec), "a a"), "▁a|▁a");
  spec.remove_extra_spaces = true;
  EXPECT_EQ(pieces(*made(spec), "  a   a "), "▁a|▁a");
}

TEST(SentencePieceBpe, MergesFromAListInsteadOfScores) {
  TokenizerSpec spec = piece_test_spec({"▁", "a", "b", "ab", "▁a"});
  spec.scores.clear();
  spec.merges = {"▁ a", "a b"};
  EXPECT_EQ(pieces(*made(spec), "abab"), "▁a|b|ab");
}

TEST(SentencePieceBpe, DecodeDropsOnlyTheAddedSpace) {
  const auto tokenizer = piece_tokenizer();
  for (const std::string text : {"hello", " hello", "a\u00E9 \U0001F9D1", "  "}) {
    std::vector<Token> ids;
    tokenizer->encode(text, SpecialParsing::off, false, ids);
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
}

TEST(Tokenizer, PromptGetsBosAndEosAsTheModelWants) {
  TokenizerSpec spec = byte_test_spec({});
  const Token a = 'a';
  EXPECT_EQ(made(spec)->encode_prompt("a", SpecialParsing::off), std::vector<Token>{a});
  spec.add_bos = true;
  spec.add_eos = true;
  EXPECT_EQ(made(spec)->encode_prompt("a", SpecialParsing::off),
            (std::vector<Token>{*spec.bos, a, *spec.eos}));
  spec.lead = {'x', 'y'};
  spec.trail = {'z'};
  EXPECT_EQ(made(spec)->encode_prompt("a", SpecialParsing::off),
            (std::vector<Token>{'x', 'y', a, 'z'}));
  spec.add_bos = spec.add_eos = false;
  EXPECT_EQ(made(spec)->encode_prompt("a", SpecialParsing::off), std::vector<Token>{a});
}

TEST(Tokenizer, BrokenTablesAreNamed) {
  const auto message = [](auto&& change) {
    TokenizerSpec spec = piece_test_spec({"a"});
    change(spec);
    const auto tokenizer = Tokenizer::create(std::move(spec));
    return tokenizer ? std::string("no error") : tokenizer.error().message();
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(message([](TokenizerSpec& s) { s.tokens.clear(); }), "tokens is empty");
  says(message([](TokenizerSpec& s) { s.kinds.pop_back(); }), "kinds");
  says(message([](TokenizerSpec& s) { s.scores.pop_back(); }), "scores");
  says(message([](TokenizerSpec& s) { s.scores[5] = NAN; }), "scores[5]");
  says(message([](TokenizerSpec& s) { s.eos = 260; }), "eos is 260");
  says(message([](TokenizerSpec& s) { s.pad = -1; }), "pad is -1");
  says(message([](TokenizerSpec& s) { s.end_of_turn = {1, 999}; }), "end_of_turn");
  says(message([](TokenizerSpec& s) { s.added[0].id = 999; }), "added");
  says(message([](TokenizerSpec& s) { s.lead = {0, 260}; }), "lead is 260");
  says(message([](TokenizerSpec& s) { s.trail = {-1}; }), "trail is -1");
  says(message([](TokenizerSpec& s) {
         s.add_bos = true;
         s.bos.reset();
       }),
       "add_bos");
}

TEST(Tokenizer, EndsOfAnswer) {
  TokenizerSpec spec = byte_test_spec({});
  add_test_added(spec, {.text = "<|im_end|>", .special = true});
  add_test_token(spec, "<|eot_id|>", TokenKind::normal);
  spec.end_of_turn = find_end_of_turn(spec);
  const auto tokenizer = made(spec);
  EXPECT_TRUE(tokenizer->ends_answer(*tokenizer->find("<end>")));
  EXPECT_TRUE(tokenizer->ends_answer(*tokenizer->find("<|im_end|>")));
  EXPECT_FALSE(tokenizer->ends_answer(*tokenizer->find("<|eot_id|>")));
  EXPECT_FALSE(tokenizer->ends_answer('a'));
}

// "begin-end" of each token, joined by '|'.
std::string places(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  TokenSink sink(&ids, &spans);
  const TextPart part{text, SpecialParsing::on};
  tokenizer.encode_parts({&part, 1}, false, sink);
  EXPECT_EQ(ids.size(), spans.size());
  EXPECT_EQ(sink.at(), text.size());
  std::string out;
  for (const TokenSpan& span : spans) {
    out += fmt::format("{}{}-{}", out.empty() ? "" : "|", span.begin, span.end);
  }
  return out;
}

TEST(TokenSpans, AreBytesOfTheTextThatWasGiven) {
  TokenizerSpec bytes = byte_test_spec({"h e", "Ġ he"});
  EXPECT_EQ(places(*made(bytes), "he<bos> he"), "0-2|2-7|7-10");
  bytes.add_space_prefix = true;
  EXPECT_EQ(places(*made(bytes), "hex<bos>x he"), "0-2|2-3|3-8|8-8|8-9|9-12");
  bytes.normalizers = {{.kind = NormalizerKind::nfc}};
  // The composed character is two bytes, which share the three that were written.
  EXPECT_EQ(places(*made(bytes), " e\u0301x"), "0-1|1-4|1-4|4-5");
}

TEST(TokenSpans, OfPiecesWithSpacesAndPrefixes) {
  TokenizerSpec pieces = piece_test_spec({"▁", "a", "▁a", "▁▁"});
  EXPECT_EQ(places(*made(pieces), "a a"), "0-1|1-3");
  EXPECT_EQ(places(*made(pieces), "ba"), "0-0|0-1|1-2");
  EXPECT_EQ(places(*made(pieces), "a\u2581a\u2581"), "0-1|1-5|5-8");
  EXPECT_EQ(places(*made(pieces), "\u00E9a<s>b"), "0-0|0-1|1-2|2-3|3-6|6-6|6-7");
  pieces.remove_extra_spaces = true;
  EXPECT_EQ(places(*made(pieces), "  a   a "), "2-3|3-7");
  pieces.byte_fallback = false;
  EXPECT_EQ(places(*made(pieces), "xxa"), "0-0|0-2|2-3");
}

TEST(TokenSpans, TileAnyText) {
  Rng rng(31);
  TokenizerSpec normalized = byte_test_spec({"h e", "Ã ©"});
  normalized.normalizers = {{.kind = NormalizerKind::nfc}};
  TokenizerSpec unknown = piece_test_spec({"▁", "a", "hel", "h", "e", "l", "el"});
  unknown.byte_fallback = false;
  for (const auto& tokenizer :
       {byte_tokenizer(), piece_tokenizer(), made(normalized), made(unknown)}) {
    for (int i = 0; i < 200; ++i) {
      const std::string text =
          i % 3 == 0 ? random_bytes(rng, rng.below(30)) : random_text(rng, rng.below(20));
      std::vector<Token> ids;
      std::vector<TokenSpan> spans;
      TokenSink sink(&ids, &spans);
      const TextPart part{text, SpecialParsing::on};
      tokenizer->encode_parts({&part, 1}, false, sink);
      std::vector<Token> plain;
      tokenizer->encode(text, SpecialParsing::on, false, plain);
      EXPECT_EQ(ids, plain);
      EXPECT_EQ(tokenizer->count(text, SpecialParsing::on), ids.size());
      uint32_t end = 0;
      for (size_t t = 0; t < spans.size(); ++t) {
        const bool shares = t > 0 && spans[t] == spans[t - 1];
        EXPECT_TRUE(shares || spans[t].begin == end) << text;
        EXPECT_LE(spans[t].begin, spans[t].end);
        end = spans[t].end;
      }
      EXPECT_EQ(end, text.size());
    }
  }
}

// Each byte its own token is every split at once; streams cut between tokens give whole characters.
TEST(Detokenizer, StreamEqualsTheWholeAndNeverCutsACharacter) {
  Rng rng(9);
  for (const auto& tokenizer : {made(byte_test_spec({})), piece_tokenizer()}) {
    for (int i = 0; i < 300; ++i) {
      const std::string text =
          i % 3 == 0 ? random_bytes(rng, rng.below(30)) : random_text(rng, rng.below(15));
      std::vector<Token> ids;
      tokenizer->encode(text, SpecialParsing::on, false, ids);
      Detokenizer stream(*tokenizer, true, false);
      std::string out;
      for (const Token id : ids) {
        const std::string part = stream.push(id);
        EXPECT_TRUE(is_valid_utf8(part));
        out += part;
      }
      out += stream.finish();
      EXPECT_EQ(out, tokenizer->valid_text(tokenizer->decode(ids, true)));
    }
  }
}

// Vocabularies learned from text have no token for bytes that no character has.
TEST(Tokenizer, BytesWithoutATokenAreReadAsAReplacement) {
  TokenizerSpec spec = byte_test_spec({});
  for (const int byte : {0xC0, 0xFF, 0x03})
    spec.kinds[static_cast<size_t>(byte)] = TokenKind::unused;
  for (const int byte : {0xC0, 0xFF, 0x03})
    spec.tokens[static_cast<size_t>(byte)] = "<none" + std::to_string(byte) + ">";
  const auto tokenizer = made(spec);
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  TokenSink sink(&ids, &spans);
  const TextPart part{
      "a\xFF"
      "b\xFE\xC0",
      SpecialParsing::off};
  tokenizer->encode_parts({&part, 1}, false, sink);
  EXPECT_EQ(tokenizer->decode(ids, false),
            "a\uFFFD"
            "b\xFE\uFFFD");
  ASSERT_EQ(spans.size(), 9U);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(spans[i].begin, 1U);
    EXPECT_EQ(spans[i].end, 2U);
  }
  EXPECT_EQ(spans[8].end, 5U);
  EXPECT_EQ(tokenizer->decode(test_ids(*tokenizer, "x\x03y"), false), "xy");  // as the packages do
}

TEST(Detokenizer, HoldsBackHalfACharacterAndEndsItWithAReplacement) {
  const auto tokenizer = made(byte_test_spec({}));
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.push(0xE6), "");
  EXPECT_EQ(stream.push(0x97), "");
  EXPECT_EQ(stream.push(0xA5), "\u65E5");
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.push('a'), "\uFFFDa");
  EXPECT_EQ(stream.push(0xC3), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push(*tokenizer->find("<end>")), "");
}

// A character that is broken off is one U+FFFD; SentencePiece gives one for each of its bytes.
TEST(Detokenizer, MistakesAreReplacedAsThePackagesDo) {
  struct Row {
    const char* bytes;
    const char* text;
    const char* pieces_text;
  };
  constexpr Row kRows[] = {
      {"\xE2\x82", "\uFFFD", "\uFFFD\uFFFD"},
      {"\xE2\x82"
       "A",
       "\uFFFDA", "\uFFFD\uFFFDA"},
      {"\xF0\x9F\x98", "\uFFFD", "\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", "\uFFFD\U0001F600", "\uFFFD\uFFFD\uFFFD\U0001F600"},
      {"\xFF\xFE", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
      {"\xC0\x80", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD"},
  };
  for (const auto& tokenizer : {made(byte_test_spec({})), made(piece_test_spec({}))}) {
    const bool pieces = tokenizer->spec().kind == TokenizerKind::sentencepiece_bpe;
    for (const Row& row : kRows) {
      Detokenizer stream(*tokenizer);
      std::string streamed;
      std::vector<Token> ids;
      for (const char* c = row.bytes; *c != 0; ++c) {
        ids.push_back(static_cast<uint8_t>(*c) + (pieces ? 3 : 0));
        streamed += stream.push(ids.back());
      }
      streamed += stream.finish();
      EXPECT_EQ(streamed, pieces ? row.pieces_text : row.text) << row.bytes;
      EXPECT_EQ(tokenizer->valid_text(tokenizer->decode(ids, false)), streamed) << row.bytes;
    }
  }
}

TEST(Detokenizer, AnUnknownTokenShowsTheTextOfTheModel) {
  TokenizerSpec spec = piece_test_spec({"\u2581h"});
  spec.unknown_text = " \u2047 ";
  const auto tokenizer = made(spec);
  const Token h = *tokenizer->find("\u2581h");
  const Token unknown = *tokenizer->spec().unk;
  const Token bos = *tokenizer->spec().bos;
  const std::pair<std::vector<Token>, std::string> rows[] = {
      {{unknown}, " \u2047 "},
      {{bos, unknown}, " \u2047 "},
      {{unknown, unknown}, " \u2047  \u2047 "},
      {{h, unknown, h}, "h \u2047  h"},
      {{unknown, h}, " \u2047  h"},
  };
  for (const auto& [ids, text] : rows) {
    EXPECT_EQ(tokenizer->decode(ids, false), text);
    Detokenizer stream(*tokenizer, false, false);
    std::string streamed;
    for (const Token id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.finish(), text);
  }
  EXPECT_EQ(tokenizer->decode(rows[0].first, true), "<unk>");
  spec.unknown_text.clear();
  EXPECT_EQ(made(spec)->decode(rows[2].first, false), "");
}

TEST(Detokenizer, AnAnswerKeepsItsFirstSpaceAndATextDoesNot) {
  const auto tokenizer = piece_tokenizer();
  const Token first = *tokenizer->find("▁h");
  EXPECT_EQ(Detokenizer(*tokenizer).push(first), " h");
  Detokenizer whole(*tokenizer, false, false);
  EXPECT_EQ(whole.push(*tokenizer->find("<s>")), "");
  EXPECT_EQ(whole.push(first), "h");
  EXPECT_EQ(whole.push(first), " h");
}

TEST(Tokenizer, AMegabyteWithoutAWordBoundary) {
  constexpr size_t kSize = 1'000'000 / kTestShare;
  std::string astronauts;
  while (astronauts.size() < kSize) astronauts += "\U0001F9D1\u200D\U0001F680";
  for (const auto& tokenizer :
       {byte_tokenizer("llama-bpe"), byte_tokenizer("gpt-4o"), byte_tokenizer("falcon"),
        byte_tokenizer("deepseek-llm"), piece_tokenizer()}) {
    for (const std::string& text :
         {std::string(kSize, 'a'), std::string(kSize, ' '), std::string(kSize, '\n'),
          std::string(kSize, 'A'), std::string(kSize, '<'), astronauts}) {
      std::vector<Token> ids;
      tokenizer->encode(text, SpecialParsing::on, false, ids);
      EXPECT_EQ(tokenizer->decode(ids, true), text);
    }
  }
}

}  // namespace
}  // namespace ruv
