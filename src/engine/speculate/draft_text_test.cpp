// A sequence in the words of another vocabulary.
#include "engine/speculate/draft_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/test_vocabularies.h"

namespace ruv::draft_text_test {
namespace {

using Tokens = std::vector<Token>;

std::shared_ptr<const Tokenizer> tokenizer_of(TokenizerSpec spec) {
  return Tokenizer::create(std::move(spec)).value();
}

class DraftTextTest : public testing::Test {
 protected:
  // Words of the model: "ab", "abc", " ab"; of the draft model: "bc", " a", "cab".
  const std::shared_ptr<const Tokenizer> target_ =
      tokenizer_of(byte_test_spec({"a b", "ab c", "Ġ ab"}));
  const std::shared_ptr<const Tokenizer> draft_ =
      tokenizer_of(byte_test_spec({"b c", "Ġ a", "c a", "ca b"}));

  VocabularyPair pair() const {
    return VocabularyPair::create(target_.get(), target_->vocab_size(), draft_.get(),
                                  draft_->vocab_size())
        .value();
  }
  static Tokens ids(const Tokenizer& tokenizer, std::string_view text) {
    Tokens out;
    tokenizer.encode(text, SpecialParsing::on, true, out);
    return out;
  }
};

TEST_F(DraftTextTest, EqualVocabulariesShareIds) {
  const VocabularyPair pair =
      VocabularyPair::create(target_.get(), 100, target_.get(), 200).value();
  EXPECT_TRUE(pair.equal());
  EXPECT_FALSE(this->pair().equal());
  DraftText text(pair);
  EXPECT_TRUE(text.update(Tokens{5, 150}));
  EXPECT_EQ(text.tokens(), (Tokens{5, 150}));
  Tokens out;
  text.translate(Tokens{7, 8, 100, 9}, out);
  EXPECT_EQ(out, (Tokens{7, 8})) << "id 100 may not be generated";
  EXPECT_FALSE(text.update(Tokens{5, 150, 200})) << "the draft model has no id 200";
  EXPECT_FALSE(text.update(Tokens{5, 150, 200, 1}));
}

TEST_F(DraftTextTest, TheTextIsReadInTheDraftModelsWords) {
  const VocabularyPair pair = this->pair();
  DraftText text(pair);
  ASSERT_TRUE(text.update(ids(*target_, "<bos>abc abc<end>")));
  // Without the model's beginning of text, which has another meaning to the draft model.
  EXPECT_EQ(text.tokens(), ids(*draft_, "abc abc<end>"));
}

TEST_F(DraftTextTest, TokenByTokenItReadsAsAtOnce) {
  Rng rng(3);
  const VocabularyPair pair = this->pair();
  for (int round = 0; round < 200; ++round) {
    std::string words;
    while (words.size() < 300) {
      words += " ";
      for (uint64_t n = 1 + rng.below(6); n > 0; --n) words += "abcd"[rng.below(4)];
    }
    const Tokens sequence = ids(*target_, words);
    DraftText text(pair);
    for (size_t n = 0; n < sequence.size();) {
      n = std::min(sequence.size(), n + 1 + rng.below(5));
      const Tokens before = text.tokens();
      ASSERT_TRUE(text.update(std::span(sequence).first(n)));
      const std::string so_far = target_->decode(std::span(sequence).first(n), true);
      ASSERT_EQ(text.tokens(), ids(*draft_, so_far));
      // What lies well back stays in place, so that keys and values stay.
      const size_t n_old = before.size() > 40 ? before.size() - 40 : 0;
      ASSERT_TRUE(std::equal(before.begin(), before.begin() + static_cast<ptrdiff_t>(n_old),
                             text.tokens().begin()));
    }
  }
}

// A word whose letters pair from its end: each new letter changes all pairs of it, however long it
// is.
TEST_F(DraftTextTest, AWordIsReadAgainAsAWhole) {
  std::vector<std::string> merges;
  for (char c = 'y'; c > 'a'; --c) {
    const char before = static_cast<char>(c - 1);
    merges.push_back({before, ' ', c});
  }
  const auto pairing = tokenizer_of(byte_test_spec(merges));
  const VocabularyPair pair = VocabularyPair::create(target_.get(), target_->vocab_size(),
                                                     pairing.get(), pairing->vocab_size())
                                  .value();
  DraftText text(pair);
  Tokens sequence;
  std::string so_far;
  for (const std::string word :
       {"well", " abcdefghijklmnopqrstuvwxy", "\nabcdefghijklmnopqrstuvwxy"}) {
    for (const char letter : word) {
      so_far += letter;
      for (const Token id : ids(*target_, std::string(1, letter))) sequence.push_back(id);
      ASSERT_TRUE(text.update(sequence));
      ASSERT_EQ(text.tokens(), ids(*pairing, so_far)) << so_far;
    }
  }
}

TEST_F(DraftTextTest, DraftsComeBackAsFarAsWordsAreWhole) {
  const VocabularyPair pair = this->pair();
  DraftText text(pair);
  ASSERT_TRUE(text.update(ids(*target_, "x")));
  const auto translated = [&](const Tokens& drafted) {
    Tokens out;
    text.translate(drafted, out);
    return target_->decode(out, true);
  };
  EXPECT_EQ(translated(ids(*draft_, "abc abc abd")), "abc abc ab") << "d may begin a longer word";
  EXPECT_EQ(translated(ids(*draft_, "abc")), "abc");
  EXPECT_EQ(translated({}), "");
  Tokens ending = ids(*draft_, "abc abc");
  ending.push_back(*draft_->spec().eos);
  ending.push_back(ending.front());
  EXPECT_EQ(translated(ending), "abc ") << "nothing behind a control token";
}

TEST_F(DraftTextTest, APieceTokenizersSpacesAreItsOwn) {
  const auto pieces = tokenizer_of(piece_test_spec({"▁", "a", "b", "▁a", "ab", "▁ab"}));
  const VocabularyPair to_pieces = VocabularyPair::create(target_.get(), target_->vocab_size(),
                                                          pieces.get(), pieces->vocab_size())
                                       .value();
  DraftText text(to_pieces);
  Rng rng(4);
  std::string words = "ab";
  for (int i = 0; i < 200; ++i) words += rng.below(3) == 0 ? " ab" : "a b";
  const Tokens sequence = ids(*target_, words);
  for (size_t n = 1; n <= sequence.size(); n += 3) {
    ASSERT_TRUE(text.update(std::span(sequence).first(n)));
  }
  ASSERT_TRUE(text.update(sequence));
  EXPECT_EQ(pieces->decode(text.tokens(), true), words);
  Tokens out;
  text.translate(ids(*pieces, "ab ab ab"), out);
  EXPECT_EQ(target_->decode(out, true), "ab ab");
}

}  // namespace
}  // namespace ruv::draft_text_test
