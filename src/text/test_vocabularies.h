// Small vocabularies for tests and fuzzers, one of each kind.
#pragma once

#include "base/check.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer.h"

namespace ruv {

inline Token add_test_token(TokenizerSpec& spec, const std::string& text, TokenKind kind) {
  spec.tokens.push_back(text);
  spec.kinds.push_back(kind);
  return static_cast<Token>(spec.tokens.size() - 1);
}

inline void add_test_added(TokenizerSpec& spec, AddedToken added) {
  added.id = add_test_token(spec, added.text,
                            added.special ? TokenKind::control : TokenKind::user_defined);
  spec.added.push_back(std::move(added));
}

// 256 bytes, then the results of `merges` in order, then added tokens: the control tokens <bos>
// and <end>, and <tool>, which is user-defined.
inline TokenizerSpec byte_test_spec(const std::vector<std::string>& merges,
                                    const std::string& pre = "gpt-2") {
  TokenizerSpec spec;
  spec.pre = pre;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    add_test_token(spec, to_byte_alphabet({&c, 1}), TokenKind::normal);
  }
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ');
    add_test_token(spec, merge.substr(0, space) + merge.substr(space + 1), TokenKind::normal);
  }
  spec.merges = merges;
  add_test_added(spec, {.text = "<bos>", .special = true});
  spec.bos = static_cast<Token>(spec.tokens.size() - 1);
  add_test_added(spec, {.text = "<end>", .special = true});
  spec.eos = static_cast<Token>(spec.tokens.size() - 1);
  add_test_added(spec, {.text = "<tool>"});
  return spec;
}

// <unk>, <s>, </s>, 256 byte tokens, then `pieces`, whose scores fall from -1 by 1 each.
inline TokenizerSpec piece_test_spec(const std::vector<std::string>& pieces) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::sentencepiece_bpe;
  spec.add_space_prefix = true;
  spec.unk = add_test_token(spec, "<unk>", TokenKind::unknown);
  add_test_added(spec, {.text = "<s>", .special = true});
  spec.bos = 1;
  add_test_added(spec, {.text = "</s>", .special = true});
  spec.eos = 2;
  for (int byte = 0; byte < 256; ++byte) {
    add_test_token(spec, fmt::format("<0x{:02X}>", byte), TokenKind::byte);
  }
  for (const std::string& piece : pieces) add_test_token(spec, piece, TokenKind::normal);
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    spec.scores.push_back(id < 259 ? 0.0F : -1.0F - static_cast<float>(id - 259));
  }
  return spec;
}

inline std::shared_ptr<const Tokenizer> test_tokenizer(TokenizerSpec spec) {
  auto tokenizer = Tokenizer::create(std::move(spec));
  CHECK(tokenizer.has_value());
  return *tokenizer;
}

inline std::vector<Token> test_ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::off, false, ids);
  return ids;
}

}  // namespace ruv
