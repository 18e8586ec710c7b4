// Checks the tables of a specification, picks the algorithm, and implements what all tokenizers
// share.
#include "text/tokenizer.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/bpe/byte_bpe.h"
#include "text/bpe/sentencepiece_bpe.h"
#include "text/rwkv_world.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

namespace ruv {
namespace {

Status check_size(std::string_view field, size_t size, size_t n_tokens) {
  if (size == n_tokens) return {};
  return fail(Code::corrupt, "tokenizer: {} has {} entries for {} tokens", field, size, n_tokens);
}

Status check_id(std::string_view field, std::optional<Token> id, size_t n_tokens) {
  if (!id || (*id >= 0 && static_cast<size_t>(*id) < n_tokens)) return {};
  return fail(Code::corrupt, "tokenizer: {} is {}, outside the {} tokens", field, *id, n_tokens);
}

// Checks sizes and ids once, so that encoding need not.
Status check(const TokenizerSpec& spec) {
  const size_t n = spec.tokens.size();
  if (n == 0) return fail(Code::corrupt, "tokenizer: tokens is empty");
  if (n > INT32_MAX) return fail(Code::corrupt, "tokenizer: {} tokens are too many", n);
  TRY(check_size("kinds", spec.kinds.size(), n));
  const bool by_score = spec.kind == TokenizerKind::sentencepiece_bpe && spec.merges.empty();
  if (by_score || !spec.scores.empty()) TRY(check_size("scores", spec.scores.size(), n));
  TRY(check_id("bos", spec.bos, n));
  TRY(check_id("eos", spec.eos, n));
  TRY(check_id("unk", spec.unk, n));
  TRY(check_id("pad", spec.pad, n));
  for (const Token id : spec.end_of_turn) TRY(check_id("end_of_turn", id, n));
  for (const AddedToken& added : spec.added) TRY(check_id("added", added.id, n));
  for (const Token id : spec.lead) TRY(check_id("lead", id, n));
  for (const Token id : spec.trail) TRY(check_id("trail", id, n));
  if (spec.add_bos && spec.first_tokens().empty()) {
    return fail(Code::corrupt, "tokenizer: add_bos without a bos id");
  }
  if (spec.add_eos && spec.last_tokens().empty()) {
    return fail(Code::corrupt, "tokenizer: add_eos without an eos id");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create(TokenizerSpec spec) {
  TRY(check(spec));
  std::shared_ptr<const Tokenizer> made = TRY(create_kind(std::move(spec)));
  TRY(made->status());
  return made;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::create_kind(TokenizerSpec spec) {
  switch (spec.kind) {
    case TokenizerKind::byte_bpe:
      return ByteBpe::create(std::move(spec));
    case TokenizerKind::sentencepiece_bpe:
      return SentencePieceBpe::create(std::move(spec));
    case TokenizerKind::unigram:
      return Unigram::create(std::move(spec));
    case TokenizerKind::wordpiece:
      return WordPiece::create(std::move(spec));
    case TokenizerKind::rwkv_world:
      return RwkvWorld::create(std::move(spec));
  }
  return fail(Code::unsupported, "tokenizer: kind {} is unknown", static_cast<int>(spec.kind));
}

Tokenizer::Tokenizer(TokenizerSpec spec) : spec_(std::move(spec)) {}

const TokenIndex& Tokenizer::by_text() const {
  by_text_made_.run([&] {
    TokenIndex index;  // kept only when whole: memory may run out in between
    for (const std::string& text : spec_.tokens) index.add(text);
    by_text_ = std::move(index);
  });
  return by_text_;
}

void Tokenizer::forget_merges() { std::vector<std::string>().swap(spec_.merges); }

std::string Tokenizer::token_bytes(Token id, bool with_special) const {
  std::string bytes;
  append_bytes(id, with_special, bytes);
  return bytes;
}

void Tokenizer::encode_parts(std::span<const TextPart> parts, bool continues,
                             std::vector<Token>& out) const {
  TokenSink sink(&out);
  encode_parts(parts, continues, sink);
}

void Tokenizer::encode(std::string_view text, SpecialParsing special, bool continues,
                       std::vector<Token>& out) const {
  const TextPart part{text, special};
  encode_parts({&part, 1}, continues, out);
}

size_t Tokenizer::count(std::string_view text, SpecialParsing special, int n_threads) const {
  const TextPart part{text, special};
  TokenSink sink(nullptr);
  sink.limit_threads(n_threads);
  encode_parts({&part, 1}, false, sink);
  return sink.n_tokens();
}

std::vector<Token> Tokenizer::encode_prompt(std::string_view text, SpecialParsing special) const {
  std::vector<Token> ids;
  for (const Token id : spec_.first_tokens()) ids.push_back(id);
  encode(text, special, false, ids);
  for (const Token id : spec_.last_tokens()) ids.push_back(id);
  return ids;
}

// Leading spaces that the tokenizer added are removed, unless the text begins with an unknown
// token.
std::string Tokenizer::decode(std::span<const Token> ids, bool with_special) const {
  std::string text;
  append_all(ids, with_special, text);
  std::string before;  // the first unknown token, whose spaces are the text's
  for (const Token id : ids) {
    if (shows_unknown(id, with_special)) return text.erase(0, own_spaces(before));
    append_bytes(id, with_special, before);
    if (own_spaces(before) < before.size()) break;
  }
  return text.erase(0, own_spaces(text));
}

std::string Tokenizer::valid_text(std::string_view bytes) const {
  const bool pieces =
      spec_.kind == TokenizerKind::sentencepiece_bpe || spec_.kind == TokenizerKind::unigram;
  return pieces ? to_valid_utf8_bytewise(bytes) : to_valid_utf8(bytes);
}

// WordPiece decodes every word with a space before it; ▁ kinds add one to the first text.
size_t Tokenizer::own_spaces(std::string_view text) const {
  const bool words = spec_.kind == TokenizerKind::wordpiece;  // each is given with a space
  const bool pieces =
      spec_.kind == TokenizerKind::sentencepiece_bpe || spec_.kind == TokenizerKind::unigram;
  if (pieces && spec_.remove_extra_spaces) {
    return std::min(text.find_first_not_of(' '), text.size());
  }
  return (words || (pieces && spec_.add_space_prefix)) && text.starts_with(' ') ? 1 : 0;
}

bool Tokenizer::ends_answer(Token id) const {
  return id == spec_.eos || std::find(spec_.end_of_turn.begin(), spec_.end_of_turn.end(), id) !=
                                spec_.end_of_turn.end();
}

bool Tokenizer::is_control(Token id) const {
  const TokenKind kind = spec_.kinds[static_cast<size_t>(id)];
  return kind == TokenKind::control || kind == TokenKind::unknown;
}

std::optional<Token> Tokenizer::find(std::string_view text) const { return by_text().find(text); }

}  // namespace ruv
