// The tokenizer cuts at control tokens within the template's parts and encodes what lies between
// as one text, so words that cross from template to user are split as in the whole text.
#include "chat/prompt.h"

namespace ruv {

std::vector<Token> encode_parts(const Tokenizer& tokenizer,
                                const std::vector<RenderedPart>& parts) {
  std::vector<TextPart> texts;
  texts.reserve(parts.size());
  for (const RenderedPart& part : parts)
    texts.push_back({part.text, part.from_user ? SpecialParsing::off : SpecialParsing::on});
  std::vector<Token> ids;
  tokenizer.encode_parts(texts, false, ids);
  return ids;
}

}  // namespace ruv
