// Text to prompt ids and back with a model's own tokenizer and chat template.
#include <algorithm>

#include "base/token_ids.h"
#include "chat/prompt.h"
#include "chat/rendered_chat.h"
#include "chat/tools/find_dialect.h"
#include "model/model.h"
#include "model/recent_prompts.h"
#include "ruv/prompts.h"

namespace ruv {
namespace {

Result<const Tokenizer*> tokenizer_of(const Model& model) {
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported, "{}: no usable tokenizer: {}", model.file->path(),
                model.tokenizer_status.message());
  }
  return model.tokenizer.get();
}

Result<RenderedChat> rendered(const Model& model, const Conversation& conversation) {
  if (model.chat_template == nullptr) return tl::unexpected<Status>(model.chat_template_status);
  const RenderOptions options = render_options(model.tokenizer.get());
  const std::string& system = model.defaults.system;
  const bool has_one = std::ranges::find(conversation.messages, "system", &Message::role) !=
                       conversation.messages.end();
  if (system.empty() || has_one)
    return render_conversation(*model.chat_template, options, conversation);
  Conversation with_system = conversation;
  with_system.messages.insert(with_system.messages.begin(), text_message("system", system));
  return render_conversation(*model.chat_template, options, with_system);
}

// Number of tokens at the end that lie wholly in the last n_bytes.
int64_t tokens_within(const Tokenizer& tokenizer, std::span<const Token> ids, size_t n_bytes) {
  size_t n = 0;
  size_t total = 0;
  while (n < ids.size()) {
    total += tokenizer.token_bytes(ids[ids.size() - n - 1], true).size();
    if (total > n_bytes) break;
    ++n;
  }
  return static_cast<int64_t>(n);
}

}  // namespace

Result<std::vector<Token>> tokenize(const Model& model, std::string_view text, bool parse_special) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  return tokenizer->encode_prompt(text, parse_special ? SpecialParsing::on : SpecialParsing::off);
}

Result<std::string> detokenize(const Model& model, std::span<const Token> ids, bool with_special) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  if (const auto unknown = unknown_token(ids, tokenizer->vocab_size())) {
    return fail(Code::invalid, "token id {} is not in the vocabulary of {}", *unknown,
                tokenizer->vocab_size());
  }
  return tokenizer->decode(ids, with_special);
}

Status can_chat(const Model& model) {
  if (model.chat_template != nullptr) return {};
  const bool has_one = model.file != nullptr && !model.file->chat_template().empty();
  if (has_one) return model.chat_template_status;
  return {Code::not_found, model.chat_template_status.message()};
}

Result<std::vector<Token>> tokenize_chat(const Model& model, const Conversation& conversation) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  const RenderedChat chat = TRY(rendered(model, conversation));
  std::vector<Token> ids = encode_parts(*tokenizer, chat.parts);
  add_missing_bos(*tokenizer, ids);
  return ids;
}

Result<std::string> chat_text(const Model& model, const Conversation& conversation) {
  return joined(TRY(rendered(model, conversation)).parts);
}

struct PromptEncoder::Memory {
  std::shared_ptr<const Model> model;
  RecentPrompts prompts;
};

PromptEncoder::PromptEncoder(std::shared_ptr<const Model> model)
    : memory_(new Memory{model, RecentPrompts(model->tokenizer)}) {}
PromptEncoder::~PromptEncoder() = default;

Result<ChatPrompt> PromptEncoder::encode(const Conversation& conversation) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(*memory_->model));
  const RenderedChat chat = TRY(rendered(*memory_->model, conversation));
  ChatPrompt prompt;
  prompt.ids = memory_->prompts.encode(text_parts(chat.parts));
  add_missing_bos(*tokenizer, prompt.ids);
  prompt.n_fixed = static_cast<int64_t>(prompt.ids.size()) -
                   tokens_within(*tokenizer, prompt.ids, chat.n_open_bytes);
  prompt.tail = prompt_tail(chat.parts);
  return prompt;
}

}  // namespace ruv
