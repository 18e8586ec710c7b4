// Characters are symbols from the start; ids come from whole texts, so that a piece can be made of
// characters that are no tokens themselves.
#include "text/bpe/sentencepiece_bpe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/utf8.h"

namespace ruv {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

// The byte of a token "<0x1F>".
std::optional<uint8_t> byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = c >= 'A' && c <= 'F';
    if (!digit && !letter) return std::nullopt;
    value = 16 * value + (digit ? c - '0' : c - 'A' + 10);
  }
  return static_cast<uint8_t>(value);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, from.size()) == from) {
      out += to;
      i += from.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

// Runs of spaces become one, none is left at the ends.
std::string without_extra_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> SentencePieceBpe::create(TokenizerSpec spec) {
  std::shared_ptr<SentencePieceBpe> made(new SentencePieceBpe(std::move(spec)));
  if (made->spec_.scores.empty()) {
    made->pairs_ = TRY(PairTable::read(made->spec_.merges, made->pieces_));
    made->forget_merges();
  } else {
    TRY(made->rank_by_score());
  }
  return made;
}

SentencePieceBpe::SentencePieceBpe(TokenizerSpec spec) : SectionTokenizer(std::move(spec)) {
  byte_tokens_.fill(-1);
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    const TokenKind kind = spec_.kinds[i];
    // Control tokens must not come out of merges, or any text could write them.
    pieces_.add(spec_.tokens[i], kind == TokenKind::normal || kind == TokenKind::user_defined);
    if (kind != TokenKind::byte || !spec_.byte_fallback) continue;
    if (const auto byte = byte_of(spec_.tokens[i])) byte_tokens_[*byte] = static_cast<Token>(i);
  }
}

Status SentencePieceBpe::rank_by_score() {
  for (size_t i = 0; i < spec_.scores.size(); ++i) {
    if (std::isnan(spec_.scores[i])) {
      return fail(Code::corrupt, "tokenizer: scores[{}] is not a number", i);
    }
  }
  std::vector<Token> order(spec_.tokens.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](Token id) { return spec_.scores[static_cast<size_t>(id)]; };
  std::sort(order.begin(), order.end(), [&](Token a, Token b) { return score(a) > score(b); });
  ranks_.resize(order.size());
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) < score(order[i - 1])) ++rank;
    ranks_[static_cast<size_t>(order[i])] = rank;
  }
  return {};
}

bool SentencePieceBpe::wants_prefix(std::string_view text, Before before) const {
  if (!spec_.add_space_prefix || text.empty() || before == Before::text) return false;
  if (spec_.prefix_first_only && before != Before::nothing) return false;
  const bool has_one = text.starts_with(' ') || text.starts_with(kSpaceMark);
  return !(spec_.prefix_if_missing && has_one);
}

std::string SentencePieceBpe::with_visible_spaces(std::string_view text, Before before) const {
  std::string narrowed;
  if (spec_.remove_extra_spaces) text = narrowed = without_extra_spaces(text);
  const bool prefix = wants_prefix(text, before);
  return (prefix ? std::string(kSpaceMark) : "") + replaced(text, " ", kSpaceMark);
}

void SentencePieceBpe::encode_section(std::string_view text, Before before, TokenSink& sink) const {
  const std::string visible = with_visible_spaces(text, before);
  SymbolMerger merger;
  if (!spec_.split_at_spaces) return encode_word(visible, merger, sink);
  for (size_t begin = 0; begin < visible.size();) {
    const size_t end = std::min(visible.find(kSpaceMark, begin + 1), visible.size());
    encode_word(std::string_view(visible).substr(begin, end - begin), merger, sink);
    begin = end;
  }
}

void SentencePieceBpe::encode_word(std::string_view word, SymbolMerger& merger,
                                   TokenSink& sink) const {
  std::vector<Symbol> symbols;
  append_characters(word, symbols);
  if (ranks_.empty()) {
    merger.merge(symbols, [&](const Symbol& left, const Symbol& right) {
      return pairs_.find(left.id, right.id);
    });
  } else {
    merger.merge(symbols, [&](const Symbol& left, const Symbol& right) {
      const auto id = pieces_.find(word.substr(left.begin, right.end - left.begin));
      return id ? Merge{ranks_[static_cast<size_t>(*id)], *id} : Merge{};
    });
  }
  for (const Symbol& symbol : symbols) append_ids(word, symbol, sink);
}

void SentencePieceBpe::append_characters(std::string_view word,
                                         std::vector<Symbol>& symbols) const {
  symbols.reserve(word.size());
  for (uint32_t i = 0; i < word.size();) {
    const uint32_t end = i + decode_utf8(word, i).size;
    symbols.push_back({i, end, pieces_.find(word.substr(i, end - i)).value_or(-1)});
    i = end;
  }
}

void SentencePieceBpe::append_ids(std::string_view word, const Symbol& symbol,
                                  TokenSink& sink) const {
  if (symbol.id >= 0) return sink.push(symbol.id, symbol.end - symbol.begin);
  const std::string_view text = word.substr(symbol.begin, symbol.end - symbol.begin);
  const auto token_of = [&](char c) { return byte_tokens_[static_cast<uint8_t>(c)]; };
  if (std::all_of(text.begin(), text.end(), [&](char c) { return token_of(c) >= 0; })) {
    for (const char c : text) sink.push(token_of(c), 1);
  } else if (spec_.unk && sink.last() != *spec_.unk) {
    // Unknown characters in a row are one unknown token.
    sink.push(*spec_.unk, text.size());
  }
}

std::string SentencePieceBpe::token_bytes(Token id, bool with_special) const {
  const auto i = static_cast<size_t>(id);
  if (is_control(id)) return with_special ? spec_.tokens[i] : "";
  if (spec_.kinds[i] == TokenKind::byte) {
    if (const auto byte = byte_of(spec_.tokens[i])) return {static_cast<char>(*byte)};
  }
  return replaced(spec_.tokens[i], kSpaceMark, " ");
}

}  // namespace ruv
