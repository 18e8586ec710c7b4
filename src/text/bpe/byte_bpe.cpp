// Tables are turned from the byte alphabet into bytes once; encoding never sees the alphabet.
#include "text/bpe/byte_bpe.h"

#include "text/bpe/byte_alphabet.h"

namespace ruv {

struct ByteBpe::Scratch {
  SymbolMerger merger;
  std::vector<Symbol> symbols;
};

Result<std::shared_ptr<const Tokenizer>> ByteBpe::create(TokenizerSpec spec) {
  PreTokenizer pre_tokenizer =
      TRY(spec.pre.empty() ? PreTokenizer::create(spec.splits) : PreTokenizer::find(spec.pre));
  std::shared_ptr<ByteBpe> made(new ByteBpe(std::move(spec), std::move(pre_tokenizer)));
  made->pairs_ = TRY(PairTable::read(made->spec_.merges, made->by_text()));
  made->forget_merges();
  return made;
}

ByteBpe::ByteBpe(TokenizerSpec spec, PreTokenizer pre_tokenizer)
    : SectionTokenizer(std::move(spec)), pre_tokenizer_(std::move(pre_tokenizer)) {
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const bool ordinary = spec_.kinds[i] == TokenKind::normal;
    const std::optional<std::string> bytes =
        ordinary ? from_byte_alphabet(spec_.tokens[i]) : std::nullopt;
    bytes_.add(bytes ? *bytes : spec_.tokens[i], bytes.has_value());
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    byte_tokens_[byte] = bytes_.find({&c, 1}).value_or(spec_.unk.value_or(-1));
  }
}

void ByteBpe::encode_section(std::string_view text, Before, TokenSink& sink) const {
  std::string prefixed;
  if (spec_.add_space_prefix && text[0] != ' ') {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  Scratch scratch;
  std::vector<Word> words;
  for (size_t at = 0; pre_tokenizer_.next_words(text, at, words);) {
    for (const Word& word : words) {
      encode_word(text.substr(word.begin, word.end - word.begin), scratch, sink);
    }
  }
}

void ByteBpe::encode_word(std::string_view word, Scratch& scratch, TokenSink& sink) const {
  if (spec_.ignore_merges) {
    if (const std::optional<Token> whole = bytes_.find(word)) return sink.push(*whole, word.size());
  }
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  for (uint32_t i = 0; i < word.size(); ++i) {
    symbols.push_back({i, i + 1, byte_tokens_[static_cast<uint8_t>(word[i])]});
  }
  scratch.merger.merge(symbols, [&](const Symbol& left, const Symbol& right) {
    return pairs_.find(left.id, right.id);
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) sink.push(symbol.id, symbol.end - symbol.begin);
  }
}

std::string ByteBpe::token_bytes(Token id, bool with_special) const {
  if (is_control(id) && !with_special) return {};
  return std::string(bytes_.text(id));
}

}  // namespace ruv
