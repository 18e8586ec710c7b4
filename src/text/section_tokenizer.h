// SectionTokenizer: the part that all algorithms share. It cuts a prompt at added tokens,
// normalises the text between them, and passes it to the algorithm's encode_section.
#pragma once

#include "text/added_tokens.h"
#include "text/normalize/normalizer.h"
#include "text/tokenizer.h"

namespace ruv {

class SectionTokenizer : public Tokenizer {
 public:
  // What precedes a section in its prompt; it decides about a leading space.
  enum class Before : uint8_t { nothing, added_token, text };
  // A prompt cut at the added tokens that are matched as written. The tokens of a section depend
  // only on its text and on what precedes it.
  struct Layout {
    std::string_view text;  // of the only part, or `joined`
    std::string joined;
    std::vector<Section> sections;
    Before before_first = Before::nothing;

    Before before(size_t i) const {
      if (i == 0) return before_first;
      return sections[i - 1].id >= 0 ? Before::added_token : Before::text;
    }
  };

  using Tokenizer::encode_parts;
  void encode_parts(std::span<const TextPart> parts, bool continues, TokenSink& sink) const final;

  // The layout of a prompt, whose texts must outlive it. A Layout must not be copied or moved,
  // since `text` may point into it.
  void lay_out(std::span<const TextPart> parts, bool continues, Layout& layout) const;
  // Sends the tokens of section i to a sink positioned at the start of the section.
  void encode_section(const Layout& layout, size_t i, TokenSink& sink) const;

 protected:
  explicit SectionTokenizer(TokenizerSpec spec);

  Status status() const final { return normalizer_status_; }

  // Sends the tokens of normalised text without added tokens. The sink's position is the start of
  // `text`, and places are bytes of it. Requires: not empty.
  virtual void encode_section(std::string_view text, Before before, TokenSink& sink) const = 0;

 private:
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
