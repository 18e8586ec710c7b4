// TokenSink: where the tokens of a text go: their ids, when asked their places too, or only their
// number. Models say how many bytes of the normalised text each token stands for.
#pragma once

#include <span>
#include <vector>

#include "text/token_index.h"

namespace ruv {

// Bytes [begin, end) of the text that was encoded. Tokens of one character share its bytes.
struct TokenSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const TokenSpan&) const = default;
};

class TokenSink {
 public:
  // Null ids: only counts. Null spans: places are not kept.
  explicit TokenSink(std::vector<Token>* ids, std::vector<TokenSpan>* spans = nullptr)
      : ids_(ids), spans_(spans) {}

  bool keeps_spans() const { return spans_ != nullptr; }
  size_t n_tokens() const { return n_tokens_; }
  // The last token, or -1 before the first.
  Token last() const { return last_; }

  // A token for the next n_bytes.
  void push(Token id, size_t n_bytes) {
    ++n_tokens_;
    last_ = id;
    if (ids_ != nullptr) ids_->push_back(id);
    if (spans_ != nullptr) push_span(n_bytes);
  }
  // The last token stands for the next n_bytes too.
  void extend(size_t n_bytes) {
    at_ += n_bytes;
    if (spans_ != nullptr && !spans_->empty()) spans_->back().end = static_cast<uint32_t>(at_);
  }
  // The next n_bytes become no token.
  void skip(size_t n_bytes) { at_ += n_bytes; }
  // Tokens of a word; their places are not asked for. Requires: !keeps_spans(), not empty.
  void push_word(std::span<const Token> ids) {
    n_tokens_ += ids.size();
    last_ = ids.back();
    if (ids_ != nullptr) ids_->insert(ids_->end(), ids.begin(), ids.end());
  }
  // Where the next token begins, in bytes of what is being encoded.
  void move_to(size_t at) { at_ = at; }

 private:
  void push_span(size_t n_bytes) {
    spans_->push_back({static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + n_bytes)});
    at_ += n_bytes;
  }

  std::vector<Token>* ids_;
  std::vector<TokenSpan>* spans_;
  size_t n_tokens_ = 0;
  size_t at_ = 0;
  Token last_ = -1;
};

}  // namespace ruv
