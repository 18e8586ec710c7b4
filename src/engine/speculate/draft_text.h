// DraftText: one sequence in the tokens of a draft model. If the vocabularies are equal, ids are
// shared. Otherwise the sequence's text is encoded for the draft model, and drafts are translated
// back by their text as far as bytes agree. A wrong translation costs time and never changes the
// answer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace ruv {

// The two vocabularies. Must outlive its DraftTexts.
class VocabularyPair {
 public:
  // Without tokenizers only the sizes of the vocabularies are compared. Fails: invalid when ids
  // cannot be the same and there is no text to translate by.
  static Result<VocabularyPair> create(const Tokenizer* target, int64_t n_target,
                                       const Tokenizer* draft, int64_t n_draft);
  // Whether ids mean the same in both, as far as the smaller vocabulary reaches.
  bool equal() const { return equal_; }

 private:
  friend class DraftText;
  const Tokenizer* target_ = nullptr;
  const Tokenizer* draft_ = nullptr;
  int64_t n_target_ = 0;  // ids that may be generated
  int64_t n_draft_ = 0;   // ids that the draft model has
  bool equal_ = false;
};

class DraftText {
 public:
  explicit DraftText(const VocabularyPair& pair) : pair_(&pair) {}

  // Sets the sequence's tokens. Requires: they begin with those of the call before. Draft-model
  // tokens that do not change keep their places. False: the sequence has tokens that the draft
  // model cannot read.
  bool update(std::span<const Token> sequence);
  // In ids of the draft model.
  const std::vector<Token>& tokens() const { return tokens_; }
  // Translates `drafted`, ids of the draft model that follow tokens(), and appends the result to
  // `out`.
  void translate(std::span<const Token> drafted, std::vector<Token>& out) const;

 private:
  bool update_ids(std::span<const Token> sequence);
  void append_text(std::span<const Token> sequence);
  void encode_from(size_t n_kept);
  size_t stable_tokens(size_t n_bytes) const;

  const VocabularyPair* pair_;
  std::vector<Token> tokens_;
  int64_t n_sequence_ = 0;  // tokens of the sequence so far
  bool readable_ = true;
  // By text only:
  std::string text_;
  std::vector<size_t> ends_;  // in text_, one per token
};

}  // namespace ruv
