// SectionTokenizer: what every algorithm shares. A prompt is cut at added tokens; what stands
// between them is encoded by the algorithm.
#pragma once

#include "text/added_tokens.h"
#include "text/normalize/normalizer.h"
#include "text/tokenizer.h"

namespace ruv {

class SectionTokenizer : public Tokenizer {
 public:
  // What stands before a section in its prompt.
  enum class Before : uint8_t { nothing, added_token, text };
  // A prompt cut at added tokens that are matched as written. The tokens of a section depend on
  // nothing but its text and what stands before it.
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

  // The layout of a prompt, whose texts must outlive it. Not to be copied or moved.
  void lay_out(std::span<const TextPart> parts, bool continues, Layout& layout) const;
  // Sends the tokens of section i to a sink that stands where the section begins.
  void encode_section(const Layout& layout, size_t i, TokenSink& sink) const;

 protected:
  explicit SectionTokenizer(TokenizerSpec spec);

  Status status() const final { return normalizer_status_; }

  // Sends the tokens of normalised text without added tokens, which begins where the sink stands;
  // places are bytes of this text. Requires: not empty.
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
