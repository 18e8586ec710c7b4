// WordPiece vocabularies there and back.
#include "format/gguf_word_pieces.h"

#include <gtest/gtest.h>

#include "format/bert_steps.h"
#include "format/gguf_vocab.h"

namespace ruv {
namespace {

TokenizerSpec berts(std::vector<std::string> words, bool cased) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::wordpiece;
  spec.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]"};
  spec.tokens.insert(spec.tokens.end(), words.begin(), words.end());
  spec.kinds.assign(spec.tokens.size(), TokenKind::normal);
  for (size_t id = 0; id < 4; ++id) spec.kinds[id] = TokenKind::control;
  spec.normalizers = bert_normalizers({.strip_accents = !cased, .lowercase = !cased});
  spec.splits = bert_splits();
  return spec;
}

std::vector<std::string> tokens_read_from(const TokenizerSpec& spec) {
  std::map<std::string, MetaValue, std::less<>> metadata;
  auto tokens = std::make_shared<MetaArray>(), kinds = std::make_shared<MetaArray>();
  tokens->strings = marked_words(spec);
  for (const TokenKind kind : spec.kinds) kinds->integers.push_back(static_cast<int64_t>(kind) + 1);
  metadata["tokenizer.ggml.model"] = std::string("bert");
  metadata["tokenizer.ggml.tokens"] = std::shared_ptr<const MetaArray>(tokens);
  metadata["tokenizer.ggml.token_type"] = std::shared_ptr<const MetaArray>(kinds);
  metadata["tokenizer.ggml.cls_token_id"] = int64_t{2};
  metadata["tokenizer.ggml.seperator_token_id"] = int64_t{3};
  metadata["tokenizer.ggml.unknown_token_id"] = int64_t{1};
  const auto read = tokenizer_spec_from_metadata(metadata, "made");
  EXPECT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->normalizers.size(), spec.normalizers.size());
  EXPECT_EQ(read->bos, 2);
  EXPECT_EQ(read->eos, 3);
  return read->tokens;
}

TEST(GgufWordPieces, AReaderGetsTheSameTokens) {
  const std::vector<std::string> words = {"un", "##able", "##", "a", "[]", "##]", "\u2581x"};
  const TokenizerSpec uncased = berts(words, false);
  ASSERT_TRUE(is_berts(uncased));
  const std::vector<std::string> marked = marked_words(uncased);
  EXPECT_EQ(marked[2], "[CLS]");
  EXPECT_EQ(marked[4], "[unused0]");
  EXPECT_EQ(marked[5], "\u2581un");
  EXPECT_EQ(marked[6], "able");
  EXPECT_EQ(tokens_read_from(uncased), uncased.tokens);
  const TokenizerSpec cased = berts({"Un", "##able"}, true);
  ASSERT_TRUE(is_berts(cased));
  EXPECT_EQ(tokens_read_from(cased), cased.tokens);
}

TEST(GgufWordPieces, OtherStepsAreNotBerts) {
  EXPECT_FALSE(is_berts(berts({"un"}, true))) << "read as uncased";
  EXPECT_FALSE(is_berts(berts({"Un"}, false))) << "read as cased";
  TokenizerSpec other = berts({"un"}, false);
  other.continuing_prefix = "@@";
  EXPECT_FALSE(is_berts(other));
  other = berts({"un"}, false);
  other.splits.pop_back();
  EXPECT_FALSE(is_berts(other));
  other = berts({"un"}, false);
  other.max_word_chars = 50;
  EXPECT_FALSE(is_berts(other));
}

}  // namespace
}  // namespace ruv
