// RecentPrompts: remembers the latest prompts of a model, so that only the new part of a growing
// chat is encoded. The ids always equal those of Tokenizer::encode_parts.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread.h"
#include "text/incremental_encoder.h"

namespace ruv {

class RecentPrompts {
 public:
  // Prompts remembered, and bytes of their texts in total. A prompt takes about ten times its text.
  static constexpr size_t kMaxPrompts = 32;
  static constexpr size_t kMaxBytes = size_t{4} << 20;

  explicit RecentPrompts(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  // May be called from any thread; threads encode concurrently. Requires: as
  // Tokenizer::encode_parts.
  std::vector<Token> encode(std::span<const TextPart> parts);

  // Total number of tokens reused from earlier prompts.
  size_t n_kept() const;
  size_t n_prompts() const;

 private:
  // A prompt with the encoder that has its tokens.
  struct Remembered {
    explicit Remembered(const std::shared_ptr<const Tokenizer>& tokenizer) : encoder(tokenizer) {}
    std::string text;
    IncrementalEncoder encoder;
  };

  // Takes out the prompt that is, nearly, a prefix of `text`; a new one when there is none.
  std::list<Remembered> take(std::string_view text);
  void put_back(std::list<Remembered> prompt);

  std::shared_ptr<const Tokenizer> tokenizer_;
  mutable Mutex mutex_;
  std::list<Remembered> prompts_;  // used last first; those in use are out
  size_t n_bytes_ = 0;             // of their texts
  size_t n_kept_ = 0;
};

}  // namespace ruv
