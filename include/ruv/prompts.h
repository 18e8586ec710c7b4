// Prompts of conversations: whether a model can chat, and an encoder for conversations that grow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ruv/conversation.h"
#include "ruv/model.h"

namespace ruv {

// Whether the model has a usable chat template. Fails: not_found (it has none); corrupt, invalid or
// unsupported (it has one that cannot be used, with the reason).
Status can_chat(const Model& model);

// The text of the prompt that tokenize_chat encodes. Fails: as tokenize_chat, but needs no
// tokenizer.
Result<std::string> chat_text(const Model& model, const Conversation& conversation);

struct ChatPrompt {
  std::vector<Token> ids;
  // Number of tokens that the template wrote, wholly or in part, before the final message that the
  // answer continues. All of them if it continues none. For Request::n_fixed_tokens.
  int64_t n_fixed = 0;
  // What the template wrote at the end, before the text that the answer continues, at most 4096
  // bytes: reasoning may have begun there.
  std::string tail = {};
};

// tokenize_chat for conversations that grow: it remembers the last 32 prompts, at most 4 MiB of
// text, and encodes only what is new in the next turn. Any number of threads may use one.
class PromptEncoder {
 public:
  explicit PromptEncoder(std::shared_ptr<const Model> model);
  ~PromptEncoder();
  PromptEncoder(PromptEncoder&&) = delete;

  // Fails: as tokenize_chat.
  Result<ChatPrompt> encode(const Conversation& conversation);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace ruv
