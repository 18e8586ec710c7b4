// AnswerText: the text of one sequence's answer, from its tokens: decoded, without what the prompt
// had already (token healing), and watched for stop strings and for lines that end it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/indent_stop.h"
#include "engine/stop_text.h"
#include "text/tokenizer.h"

namespace ruv {

class AnswerText {
 public:
  // `tokenizer` must outlive it; null: the answer has no text. `prompt`: the tokens it follows.
  // `shown`: control tokens whose texts belong to the answer.
  AnswerText(const Tokenizer* tokenizer, std::span<const Token> prompt, StopText stops,
             std::vector<Token> shown = {}, IndentStop indent = IndentStop());

  // The last tokens of the prompt, `n_bytes` bytes, were taken back: these bytes will be generated
  // again, perhaps as other tokens, and are not repeated in the text.
  void heal(std::span<const Token> taken_back, size_t n_bytes);
  // How many bytes of the next token the prompt already had.
  size_t n_healed_bytes(Token id) const;
  // How many of the tokens that come next the prompt had whole.
  int64_t n_healed(std::span<const Token> next) const;

  // Whether stop strings that end in what comes next end the answer.
  void watch(bool on) { stop_text_.watch(on); }
  // Adds a token; returns the text that is now certain to belong to the answer.
  std::string push(Token id);
  // A stop string has come; nothing more belongs to the answer.
  bool stopped() const { return stop_text_.stopped(); }
  // So has a line with too little indentation.
  bool left_block() const { return indent_.stopped(); }
  const std::string& stop_found() const { return stop_text_.found(); }
  // What was held back, at the answer's end.
  std::string finish();
  // The same of an answer that these bytes complete; how many of the text's bytes they became.
  // Stop strings are not looked for in them.
  struct Completed {
    std::string text;
    size_t n_added;
  };
  Completed finish_with(std::string_view bytes);

 private:
  std::string new_text(std::string text);

  const Tokenizer* tokenizer_;
  std::optional<Detokenizer> detokenizer_;  // none: there is no tokenizer
  StopText stop_text_;
  IndentStop indent_;
  size_t n_forced_ = 0;   // bytes of tokens still to come that the prompt had
  size_t n_skipped_ = 0;  // bytes of text still to come that it had
};

}  // namespace ruv
