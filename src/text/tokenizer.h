// Tokenizer: text to ids and back. Immutable after construction, so any number of threads may use
// one. TokenizerSpec, filled from a file by module format, decides which algorithm runs.
#pragma once

#include <memory>
#include <string_view>

#include "base/once.h"
#include "base/result.h"
#include "base/thread.h"
#include "text/token_sink.h"
#include "text/tokenizer_spec.h"

namespace ruv {

enum class SpecialParsing : uint8_t {
  off,  // control tokens written in the text stay text: for users' text
  on,   // they become their ids: for templates
};

// A stretch of a prompt and whether control tokens are recognised in it.
struct TextPart {
  std::string_view text;
  SpecialParsing special = SpecialParsing::off;
};

class Tokenizer {
 public:
  // Fails: corrupt (a table contradicts another; the field is named), unsupported (scheme).
  static Result<std::shared_ptr<const Tokenizer>> create(TokenizerSpec spec);
  virtual ~Tokenizer() = default;

  // Sends the tokens of all parts joined, which is what a model was trained on; a control token is
  // recognised only where it lies completely in parts with special parsing on. Several calls would
  // also cut words at the seams. Adds no bos or eos. Never recursive; linear time except for
  // hostile vocabularies. `continues`: other text of the same prompt came before, so that no
  // leading space is added. Places count from the start of the first part. Requires: fewer than
  // 2^31 bytes.
  virtual void encode_parts(std::span<const TextPart> parts, bool continues,
                            TokenSink& sink) const = 0;
  // Appends the bytes that generating `id` adds to a text. Control tokens add their text only when
  // `with_special`. The bytes need not be whole characters: use Detokenizer for a stream. Requires:
  // 0 <= id < vocab_size().
  virtual void append_bytes(Token id, bool with_special, std::string& out) const = 0;
  // The same for each of `ids`.
  virtual void append_all(std::span<const Token> ids, bool with_special, std::string& out) const {
    for (const Token id : ids) append_bytes(id, with_special, out);
  }

  // What append_bytes appends.
  std::string token_bytes(Token id, bool with_special) const;
  // Appends the ids of encode_parts.
  void encode_parts(std::span<const TextPart> parts, bool continues, std::vector<Token>& out) const;
  void encode(std::string_view text, SpecialParsing special, bool continues,
              std::vector<Token>& out) const;
  // The number of ids, without storing them. Long texts use n_threads; 0: one per core.
  size_t count(std::string_view text, SpecialParsing special, int n_threads = 0) const;
  // encode, with bos and eos added as the model wants them.
  std::vector<Token> encode_prompt(std::string_view text, SpecialParsing special) const;
  // The whole text of ids, with the rules for the first token's space applied. Contains invalid
  // UTF-8 if the ids do.
  std::string decode(std::span<const Token> ids, bool with_special) const;
  // Decoded bytes as text. Each truncated character becomes U+FFFD, as in the reference packages;
  // with SentencePiece vocabularies each of its bytes does.
  std::string valid_text(std::string_view bytes) const;
  // Whether `id` decodes to unknown_text, whose space is not a prefix space.
  bool shows_unknown(Token id, bool with_special) const {
    return !with_special && id == spec_.unk && !spec_.unknown_text.empty();
  }

  int32_t vocab_size() const { return static_cast<int32_t>(spec_.tokens.size()); }
  // As given to create, but for `merges`, which is empty.
  const TokenizerSpec& spec() const { return spec_; }
  // eos or an end of turn.
  bool ends_answer(Token id) const;
  // Control and unknown tokens, which users neither write nor read.
  bool is_control(Token id) const;
  // How many bytes at the start of a decoded text are spaces that the tokenizer added.
  size_t own_spaces(std::string_view text) const;
  // The id whose stored text is exactly `text`.
  std::optional<Token> find(std::string_view text) const;

 protected:
  explicit Tokenizer(TokenizerSpec spec);
  // The stored texts, indexed on first use, since few programs ask. Thread-safe.
  const TokenIndex& by_text() const;
  // The error that construction found; create returns it.
  virtual Status status() const { return {}; }
  // Frees the texts of the merges once they are in tables; they are as large as the vocabulary.
  void forget_merges();
  TokenizerSpec spec_;

 private:
  static Result<std::shared_ptr<const Tokenizer>> create_kind(TokenizerSpec spec);
  mutable Once by_text_made_;
  mutable TokenIndex by_text_;
};

// Turns a stream of ids into text that never ends inside a character. One per answer; not
// thread-safe.
class Detokenizer {
 public:
  // `after_prompt`: an answer that continues text (a sentencepiece answer keeps its first space).
  explicit Detokenizer(const Tokenizer& tokenizer, bool with_special = false,
                       bool after_prompt = true);
  // These control tokens have their stored texts, whatever `with_special` says.
  void show(std::vector<Token> control_tokens);
  // The text that this id completes: whole characters only, possibly none.
  std::string push(Token id);
  // The same of bytes that come from no token.
  std::string push(std::string_view bytes);
  // The remaining text; unfinished characters become U+FFFD.
  std::string finish();

 private:
  std::string whole_characters();

  const Tokenizer* tokenizer_;
  bool with_special_;
  bool at_start_;
  std::vector<Token> shown_;  // rising
  std::string pending_;
};

}  // namespace ruv
