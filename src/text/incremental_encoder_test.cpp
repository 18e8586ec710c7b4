// However a prompt changes, the ids are those of a full encode; where it grows, old ones are kept.
#include "text/incremental_encoder.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

struct Piece {
  std::string text;
  SpecialParsing special;
};

std::vector<Token> expect_full(IncrementalEncoder& encoder, const Tokenizer& tokenizer,
                               const std::vector<Piece>& pieces) {
  std::vector<TextPart> parts;
  for (const Piece& piece : pieces) parts.push_back({piece.text, piece.special});
  std::vector<Token> full;
  tokenizer.encode_parts(parts, false, full);
  EXPECT_EQ(encoder.encode(parts), full);
  return full;
}

TEST(IncrementalEncoder, KeepsTheSectionsOfAChatThatGrows) {
  const auto tokenizer = *Tokenizer::create(byte_test_spec({"h e", "Ġ he"}));
  IncrementalEncoder encoder(tokenizer);
  std::vector<Piece> pieces;
  size_t n_before = 0;
  for (int turn = 0; turn < 5; ++turn) {
    pieces.push_back({"<bos>", SpecialParsing::on});
    pieces.push_back({" he said <bos>", SpecialParsing::off});
    pieces.push_back({"<end>", SpecialParsing::on});
    const size_t n = expect_full(encoder, *tokenizer, pieces).size();
    EXPECT_EQ(encoder.n_kept(), n_before);
    n_before = n;
  }
  expect_full(encoder, *tokenizer, pieces);
  EXPECT_EQ(encoder.n_kept(), n_before);
}

TEST(IncrementalEncoder, AnyChangeGivesTheIdsOfAFullEncode) {
  Rng rng(51);
  TokenizerSpec strips = byte_test_spec({"h e", "Ġ he", "e e"});
  for (AddedToken& added : strips.added) added.lstrip = added.rstrip = true;
  TokenizerSpec pieces_spec = piece_test_spec({"▁", "h", "e", "▁he", "he"});
  pieces_spec.prefix_first_only = true;
  const std::string words[] = {"<bos>", "<end>", "<tool>", "<s>", " ", "he", "e", "<", "b", "\xC3"};
  for (const TokenizerSpec& spec : {strips, byte_test_spec({"h e"}, "qwen2"), pieces_spec}) {
    const auto tokenizer = *Tokenizer::create(spec);
    IncrementalEncoder encoder(tokenizer);
    std::vector<Piece> pieces;
    for (int round = 0; round < 400; ++round) {
      const auto special = rng.below(2) == 0 ? SpecialParsing::on : SpecialParsing::off;
      switch (rng.below(6)) {
        case 0:
          pieces.resize(pieces.empty() ? 0 : rng.below(pieces.size()), {"", special});
          break;
        case 1:
          if (!pieces.empty()) pieces[rng.below(pieces.size())] = {words[rng.below(10)], special};
          break;
        case 2:
          if (!pieces.empty()) pieces.back().text += words[rng.below(10)];
          break;
        default:
          pieces.push_back({words[rng.below(10)] + words[rng.below(10)], special});
      }
      expect_full(encoder, *tokenizer, pieces);
    }
  }
}

}  // namespace
}  // namespace ruv
