// TokenConstraint: what limits the next tokens of one sequence, token by token. Token healing is
// one; grammars, schemas and banned words are others. A sequence asks it for the allowed tokens
// before it samples, and tells it what was chosen. Guessed tokens are verified in the same way, one
// row after another, so nothing is ever taken back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ruv/status.h"
#include "text/token_mask.h"

namespace ruv {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // An equal one, for looking ahead along a draft.
  virtual std::unique_ptr<TokenConstraint> clone() const = 0;
  // Any token may come, now and later: it need not be asked any more.
  virtual bool done() const = 0;
  // Nothing may come any more: the answer is complete.
  virtual bool complete() const { return false; }
  // Adds the tokens that may come next to `mask`, at least one. Changes nothing, so several threads
  // may ask several constraints at once. Fails: where finding them takes too much work or memory,
  // or nothing can follow; the answer cannot be continued then. Requires: !done(), !complete(), an
  // empty mask of the vocabulary.
  virtual Status allow(TokenMask& mask) const = 0;
  // Whether `allow` gives this token: for a draft's tokens, whose whole masks are built later.
  // Requires: !done(), an id of the vocabulary.
  virtual bool allows(Token id) const = 0;
  // Bytes that the next tokens probably begin with, at most max_bytes, since there is hardly a
  // choice. For drafts: a constraint need not know any. Requires: !done().
  virtual std::string foreseen([[maybe_unused]] size_t max_bytes) const { return {}; }
  // Bytes after which the answer would be complete, at most max_bytes. Nothing: a constraint need
  // not know any. Takes milliseconds.
  virtual std::optional<std::string> ending([[maybe_unused]] size_t max_bytes) const {
    return std::nullopt;
  }
  // Requires: !done(), a token that `allow` gives.
  virtual void accept(Token id) = 0;
};

}  // namespace ruv
