// SectionTokenizer: what every algorithm shares. A prompt is cut at added tokens; what stands
// between them is encoded by the algorithm.
#pragma once

#include "text/added_tokens.h"
#include "text/normalize/normalizer.h"
#include "text/tokenizer.h"

namespace ruv {

class SectionTokenizer : public Tokenizer {
 public:
  using Tokenizer::encode_parts;
  void encode_parts(std::span<const TextPart> parts, bool continues, TokenSink& sink) const final;

 protected:
  explicit SectionTokenizer(TokenizerSpec spec);

  // What stands before a section in its prompt.
  enum class Before : uint8_t { nothing, added_token, text };

  Status status() const final { return normalizer_status_; }

  // Sends the tokens of normalised text without added tokens, which begins where the sink stands;
  // places are bytes of this text. Requires: not empty.
  virtual void encode_section(std::string_view text, Before before, TokenSink& sink) const = 0;

 private:
  // Cuts `text` at `tokens`, appends their ids and calls on_text(section, before) between them.
  template <class OnText>
  void cut(const AddedTokens& tokens, std::string_view text, std::span<const SpecialRange> ranges,
           Before before, TokenSink& sink, const OnText& on_text) const;
  // Normalises a text between tokens matched as written, then takes the tokens that are matched in
  // normalised text.
  void encode_plain(std::string_view text, Before before, TokenSink& sink) const;
  void encode_normalized(std::string_view text, Before before, TokenSink& sink) const;
  void make_normalizer();
  AddedTokens select(bool normalized) const;

  Normalizer normalizer_;
  Status normalizer_status_;
  AddedTokens as_written_;
  AddedTokens normalized_;
};

}  // namespace ruv
