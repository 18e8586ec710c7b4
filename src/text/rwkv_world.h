// RwkvWorld: the tokenizer of RWKV's World models: from the left, always the longest token over the
// bytes of the whole text, no words. Id 0 ends a text and has none itself.
#pragma once

#include "text/prefix_table.h"
#include "text/section_tokenizer.h"

namespace ruv {

class RwkvWorld final : public SectionTokenizer {
 public:
  // Fails: unsupported (tokens that are not raw). Requires: the tables of `spec` agree in size.
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);

  std::string token_bytes(Token id, bool with_special) const override;

 protected:
  void encode_section(std::string_view text, Before before, TokenSink& sink) const override;

 private:
  explicit RwkvWorld(TokenizerSpec spec);

  PrefixTable table_;
};

}  // namespace ruv
