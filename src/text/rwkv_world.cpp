// A byte that begins no token is the unknown token where there is one, else nothing.
#include "text/rwkv_world.h"

namespace ruv {

Result<std::shared_ptr<const Tokenizer>> RwkvWorld::create(TokenizerSpec spec) {
  if (!spec.raw_tokens) {
    return fail(Code::unsupported, "tokenizer: rwkv_world needs tokens as raw bytes");
  }
  return std::shared_ptr<const Tokenizer>(new RwkvWorld(std::move(spec)));
}

RwkvWorld::RwkvWorld(TokenizerSpec spec) : SectionTokenizer(std::move(spec)) {
  std::vector<std::string_view> texts;
  std::vector<Token> ids;
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    if (is_control(static_cast<Token>(i)) || spec_.kinds[i] == TokenKind::unused) continue;
    texts.push_back(spec_.tokens[i]);
    ids.push_back(static_cast<Token>(i));
  }
  table_ = PrefixTable(texts, ids);
}

void RwkvWorld::encode_section(std::string_view text, Before, TokenSink& sink) const {
  for (size_t at = 0; at < text.size();) {
    const PrefixTable::Found found = table_.longest(text, at, text.size());
    if (found.size > 0) {
      sink.push(found.id, found.size);
      at += found.size;
      continue;
    }
    if (spec_.unk) {
      sink.push(*spec_.unk, 1);
    } else {
      sink.skip(1);
    }
    ++at;
  }
}

std::string RwkvWorld::token_bytes(Token id, bool with_special) const {
  if (is_control(id) && !with_special) return {};
  return spec_.tokens[static_cast<size_t>(id)];
}

}  // namespace ruv
