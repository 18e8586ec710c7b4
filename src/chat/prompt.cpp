// The tokenizer cuts at control tokens within the template's parts and encodes what lies between
// as one text, so words that cross from template to user are split as in the whole text.
#include "chat/prompt.h"

#include "base/clock.h"

namespace ruv {
namespace {

std::string stored_text(const Tokenizer& tokenizer, const std::optional<Token>& id) {
  return id ? tokenizer.token_bytes(*id, true) : std::string();
}

}  // namespace

RenderOptions render_options(const Tokenizer* tokenizer) {
  RenderOptions options;
  if (tokenizer != nullptr) {
    options.bos_token = stored_text(*tokenizer, tokenizer->spec().bos);
    options.eos_token = stored_text(*tokenizer, tokenizer->spec().eos);
  }
  options.now_unix_s = unix_seconds();
  return options;
}

std::vector<TextPart> text_parts(std::span<const RenderedPart> parts) {
  std::vector<TextPart> texts;
  texts.reserve(parts.size());
  for (const RenderedPart& part : parts) {
    texts.push_back({part.text, part.from_user ? SpecialParsing::off : SpecialParsing::on});
  }
  return texts;
}

void add_missing_bos(const Tokenizer& tokenizer, std::vector<Token>& ids) {
  const std::span<const Token> first = tokenizer.spec().first_tokens();
  if (first.empty()) return;
  if (ids.empty() || ids.front() != first.front()) {
    ids.insert(ids.begin(), first.begin(), first.end());
  }
}

std::vector<Token> encode_parts(const Tokenizer& tokenizer, std::span<const RenderedPart> parts) {
  std::vector<Token> ids;
  tokenizer.encode_parts(text_parts(parts), false, ids);
  return ids;
}

}  // namespace ruv
