// Text to prompt ids and back with a model's own tokenizer and chat template.
#include "chat/prompt.h"
#include "chat/rendered_chat.h"
#include "model/model.h"

namespace ruv {
namespace {

Result<const Tokenizer*> tokenizer_of(const Model& model) {
  if (model.tokenizer == nullptr) {
    return fail(Code::unsupported, "{}: no usable tokenizer: {}", model.file->path(),
                model.tokenizer_status.message());
  }
  return model.tokenizer.get();
}

}  // namespace

Result<std::vector<Token>> tokenize(const Model& model, std::string_view text, bool parse_special) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  return tokenizer->encode_prompt(text, parse_special ? SpecialParsing::on : SpecialParsing::off);
}

Result<std::string> detokenize(const Model& model, std::span<const Token> ids, bool with_special) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  for (Token id : ids) {
    if (id < 0 || id >= tokenizer->vocab_size()) {
      return fail(Code::invalid, "token id {} is not in the vocabulary of {}", id,
                  tokenizer->vocab_size());
    }
  }
  return tokenizer->decode(ids, with_special);
}

Result<std::vector<Token>> tokenize_chat(const Model& model, const Conversation& conversation) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  if (model.chat_template == nullptr) return tl::unexpected<Status>(model.chat_template_status);
  const RenderedChat chat =
      TRY(render_conversation(*model.chat_template, render_options(tokenizer), conversation));
  std::vector<Token> ids = encode_parts(*tokenizer, chat.parts);
  add_missing_bos(*tokenizer, ids);
  return ids;
}

}  // namespace ruv
