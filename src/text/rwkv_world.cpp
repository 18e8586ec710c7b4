// A byte that begins no token becomes the unknown token if there is one; otherwise it is dropped.
#include "text/rwkv_world.h"

#include <algorithm>

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
    const std::string_view text = spec_.tokens[i];
    for (size_t at = 1; at < text.size(); ++at) {
      const auto right = static_cast<uint8_t>(text[at]);
      joins_[static_cast<uint8_t>(text[at - 1])][right >> 6] |= uint64_t{1} << (right & 63);
    }
    texts.push_back(text);
    ids.push_back(static_cast<Token>(i));
  }
  table_ = PrefixTable(texts, ids);
}

// Cuts where no token holds both bytes.
void RwkvWorld::encode_section(std::string_view text, Before, TokenSink& sink) const {
  std::unique_ptr<WordMemo> memo = memos_.take();
  memo->fit(text.size());
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && may_join(text[end - 1], text[end])) ++end;
    encode_known_word(text, begin, end, *memo, sink);
    begin = end;
  }
  memos_.give(std::move(memo));
}

// Words of cacheable size go through the memo unless places are kept.
void RwkvWorld::encode_known_word(std::string_view text, size_t begin, size_t end, WordMemo& memo,
                                  TokenSink& sink) const {
  if (end - begin > WordMemo::kMaxBytes || sink.keeps_spans()) {
    return encode_word(text, begin, end, sink);
  }
  const WordMemo::Key key = WordMemo::key_of(text, begin, end);
  if (const WordMemo::Slot* slot = memo.find(key)) return send_known(*slot, sink);
  std::vector<Token> ids;
  TokenSink collect(&ids);
  encode_word(text, begin, end, collect);
  if (ids.empty()) return;
  sink.push_word(ids);
  if (ids.size() > WordMemo::kMaxTokens) return;
  WordMemo::Slot& slot = memo.add(key);
  slot.n_tokens = static_cast<uint8_t>(ids.size());
  std::copy(ids.begin(), ids.end(), slot.ids);
}

void RwkvWorld::encode_word(std::string_view text, size_t begin, size_t end,
                            TokenSink& sink) const {
  for (size_t at = begin; at < end;) {
    const PrefixTable::Found found = table_.longest(text, at, end);
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

void RwkvWorld::append_bytes(Token id, bool with_special, std::string& out) const {
  if (is_control(id) && !with_special) return;
  out += spec_.tokens[static_cast<size_t>(id)];
}

}  // namespace ruv
