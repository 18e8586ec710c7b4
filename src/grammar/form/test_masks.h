// Vocabularies, and masks beside a plain recogniser that reads every token byte by byte. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {

// Tokens in the order of their bytes, so that what tokens begin with alike is read once.
class MaskVocabulary {
 public:
  explicit MaskVocabulary(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)), prefixes_(std::make_shared<TokenPrefixes>(*tokenizer_)) {
    for (Token id = 0; id < size(); ++id) {
      if (!bytes(id).empty()) sorted_.push_back(id);
    }
    std::ranges::sort(sorted_, {}, [&](Token id) { return bytes(id); });
    for (const Token id : sorted_) {
      ids_.emplace(bytes(id), id);
      longest_ = std::max(longest_, bytes(id).size());
    }
  }

  // All bytes and `n` pieces of the texts, of two to eight bytes, characters cut anywhere; or byte
  // tokens beside pieces without any beginning of a character.
  static MaskVocabulary of_texts(std::span<const std::string> texts, size_t n,
                                 bool with_byte_tokens, Rng& rng) {
    std::set<std::string> pieces;
    for (size_t i = 0; i < n; ++i) {
      const std::string& text = texts[rng.below(texts.size())];
      if (text.size() < 2) continue;
      pieces.insert(text.substr(rng.below(text.size() - 1), 2 + rng.below(7)));
    }
    if (with_byte_tokens) {
      std::erase_if(pieces, [](const std::string& piece) {
        return std::ranges::any_of(piece, [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
      });
      return MaskVocabulary(test_tokenizer(piece_test_spec({pieces.begin(), pieces.end()})));
    }
    TokenizerSpec spec = byte_test_spec({});
    for (const std::string& piece : pieces) {
      if (piece.size() > 1) add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
    }
    return MaskVocabulary(test_tokenizer(spec));
  }

  int64_t size() const { return tokenizer_->vocab_size(); }
  std::string_view bytes(Token id) const { return prefixes_->bytes(id); }
  std::shared_ptr<FormSpace> space() const {
    return std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size());
  }
  // The tokens that `text` begins with, by length.
  std::vector<Token> tokens_of(std::string_view text) const {
    std::vector<Token> made;
    for (size_t n = 1; n <= std::min(longest_, text.size()); ++n) {
      const auto at = ids_.find(text.substr(0, n));
      if (at != ids_.end()) made.push_back(at->second);
    }
    return made;
  }

  // A token about which the mask and the recogniser differ, as text. `Plain` can be copied and has
  // accept(byte). Tokens of equal bytes must be equal in the mask.
  template <class Plain>
  std::optional<std::string> difference(const TokenMask& mask, const Plain& start) const {
    std::vector<Plain> path = {start};  // after each byte of `read`
    std::string read;
    std::optional<std::string> refused;  // nothing that begins so may come
    for (const Token id : sorted_) {
      const std::string_view text = bytes(id);
      bool fits = !(refused && text.starts_with(*refused));
      if (fits) {
        const auto [same, other] = std::ranges::mismatch(read, text);
        read.resize(static_cast<size_t>(same - read.begin()));
        while (path.size() > read.size() + 1) path.pop_back();
        while (fits && read.size() < text.size()) {
          Plain next = path.back();
          fits = next.accept(text[read.size()]);
          if (!fits) {
            refused = text.substr(0, read.size() + 1);
            break;
          }
          read.push_back(text[read.size()]);
          path.push_back(std::move(next));
        }
      }
      if (mask.has(id) != fits) {
        return (fits ? "missing in the mask: '" : "wrong in the mask: '") + std::string(text) + "'";
      }
    }
    return std::nullopt;
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<TokenPrefixes> prefixes_;
  std::vector<Token> sorted_;
  std::unordered_map<std::string_view, Token> ids_;
  size_t longest_ = 0;
};

// A form read one byte at a time.
struct PlainFormReader {
  FormReader reader;
  bool accept(char byte) { return reader.accept({&byte, 1}); }
};

// Reads a text in random tokens; before each, the mask must be what single tokens say. Returns how
// many masks were compared.
inline size_t compare_masks(const MaskVocabulary& vocabulary, const Form& form,
                            std::string_view text, size_t max_masks, Rng& rng) {
  const Lock guard(form.space().mutex());
  FormReader reader = form.reader();
  size_t n_masks = 0;
  for (size_t at = 0; n_masks < max_masks && !reader.only_ends();) {
    TokenMask mask(vocabulary.size());
    reader.allow(mask);
    const auto wrong = vocabulary.difference(mask, PlainFormReader{reader});
    if (reader.gave_up() || form.is_worn()) break;
    ++n_masks;
    if (wrong) {
      ADD_FAILURE() << text.substr(0, at) << "\n" << *wrong;
      break;
    }
    std::vector<Token> tokens = vocabulary.tokens_of(text.substr(at));
    std::erase_if(tokens, [&](Token id) { return !mask.has(id); });
    if (tokens.empty()) break;
    const Token id = rng.below(3) == 0 ? tokens[rng.below(tokens.size())] : tokens.back();
    if (!reader.accept(vocabulary.bytes(id))) {
      ADD_FAILURE() << text.substr(0, at) << "\nnot accepted: " << vocabulary.bytes(id);
      break;
    }
    at += vocabulary.bytes(id).size();
  }
  return n_masks;
}

}  // namespace ruv
