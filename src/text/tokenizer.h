// Tokenizer: text to ids and back. Immutable after construction, so any number of threads may use
// one. Which algorithm runs is decided by TokenizerSpec, filled from a GGUF file's metadata or a
// tokenizer.json by module format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/token_index.h"

namespace ruv {

enum class TokenizerKind : uint8_t {
  byte_bpe,           // GPT-2 style: pre-tokenizer, byte alphabet, ranked merges
  sentencepiece_bpe,  // GGUF "llama": ▁ for space, merges by score, byte fallback
};

enum class TokenKind : uint8_t { normal, unknown, control, user_defined, unused, byte };

// Text that becomes one id wherever it stands, before any other splitting.
struct AddedToken {
  Token id = 0;
  std::string text;
  bool special = false;      // control: matched only when special parsing is on
  bool lstrip = false;       // eats white space before it
  bool rstrip = false;       // and after it
  bool single_word = false;  // only between non-word characters
  bool normalized = false;   // matched in the normalised text
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::byte_bpe;
  std::string pre;  // pre-tokenizer scheme by its GGUF name: "gpt-2", "llama-bpe", "qwen2", …
  // tokens[id] as stored: byte_bpe in the GPT-2 byte alphabet, sentencepiece with ▁ for space.
  std::vector<std::string> tokens;
  std::vector<TokenKind> kinds;  // one per token
  std::vector<float> scores;     // sentencepiece_bpe: one per token
  // Ranked merges "left right"; byte_bpe, and sentencepiece from tokenizer.json (then scores are
  // empty and the rank decides).
  std::vector<std::string> merges;
  std::vector<AddedToken> added;
  std::optional<Token> bos, eos, unk, pad;
  // Ids that end an answer besides eos (end of turn), for example <|eot_id|>.
  std::vector<Token> end_of_turn;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // sentencepiece_bpe: ▁ before the first text
  bool ignore_merges = false;     // byte_bpe: a whole word in the vocabulary is taken as it is
  bool byte_fallback = true;      // sentencepiece_bpe: unknown characters become <0xXX> tokens
  bool nfc = false;               // normalise to NFC first
  bool remove_extra_spaces = false;
  // Finer rules of tokenizer.json's Metaspace; GGUF files leave them off.
  bool prefix_first_only = false;  // ▁ not repeated after each added token
  bool prefix_if_missing = false;  // no ▁ before a text that begins with a space itself
  bool split_at_spaces = false;    // sentencepiece_bpe: no merge crosses the space before a word
};

enum class SpecialParsing : uint8_t {
  off,  // control tokens written in the text stay text: for what users say
  on,   // they become their ids: for templates
};

// A stretch of a prompt and whether control tokens may stand in it.
struct TextPart {
  std::string_view text;
  SpecialParsing special = SpecialParsing::off;
};

class Tokenizer {
 public:
  // Fails: corrupt (a table contradicts another; the field is named), unsupported (scheme).
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);
  virtual ~Tokenizer() = default;

  // Appends the ids of `text`. Adds no bos or eos. O(n log n), never recursive. `continues` is true
  // when other text of the same prompt came before, so that no leading space is added again.
  // Requires: text.size() < 2^31.
  virtual void encode(std::string_view text, SpecialParsing special, bool continues,
                      std::vector<Token>& out) const = 0;
  // As encode of all parts joined, which is what a model was trained on, but a control token is
  // taken only where it lies whole in parts with special parsing on. Cutting the prompt into
  // several calls of encode would cut words too.
  virtual void encode_parts(std::span<const TextPart> parts, bool continues,
                            std::vector<Token>& out) const = 0;
  // What generating `id` adds to the text, after other tokens. Control tokens give their text only
  // when `with_special`. Bytes need not be whole characters: stream them through Detokenizer.
  // Requires: 0 <= id < vocab_size().
  virtual std::string token_bytes(Token id, bool with_special) const = 0;

  // encode with bos and eos as the model wants them.
  std::vector<Token> encode_prompt(std::string_view text, SpecialParsing special) const;
  // The whole text of ids, first-token space rules applied. May hold invalid UTF-8 if ids do.
  std::string decode(std::span<const Token> ids, bool with_special) const;

  int32_t vocab_size() const { return static_cast<int32_t>(spec_.tokens.size()); }
  // As given to create, but for `merges`, which is empty.
  const TokenizerSpec& spec() const { return spec_; }
  // eos or an end of turn.
  bool ends_answer(Token id) const;
  // Control and unknown tokens: nothing a user may write or read.
  bool is_control(Token id) const;
  // The space before the first word is the tokenizer's own, not the text's.
  bool drops_first_space() const;
  // The id whose stored text is exactly `text`.
  std::optional<Token> find(std::string_view text) const;

 protected:
  explicit Tokenizer(TokenizerSpec spec);
  const TokenIndex& by_text() const { return by_text_; }
  // Frees the texts of the merges, once they are in tables: they are as large as the vocabulary.
  void forget_merges();
  TokenizerSpec spec_;

 private:
  TokenIndex by_text_;
};

// Turns a stream of ids into text that never ends inside a character. One per answer.
class Detokenizer {
 public:
  // `after_prompt`: an answer that continues text (a sentencepiece answer keeps its first space).
  explicit Detokenizer(const Tokenizer& tokenizer, bool with_special = false,
                       bool after_prompt = true);
  // The text that became certain by this id: whole characters only, possibly empty.
  std::string push(Token id);
  // What is left at the end; unfinished characters become U+FFFD.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool with_special_;
  bool at_start_;
  std::string pending_;
};

}  // namespace ruv
