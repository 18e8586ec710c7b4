// Text to prompt ids and back with a model's own tokenizer and chat template.
#include <ctime>

#include "base/json.h"
#include "chat/messages.h"
#include "chat/prompt.h"
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

std::string stored_text(const Tokenizer& tokenizer, const std::optional<Token>& id) {
  return id ? tokenizer.token_bytes(*id, true) : std::string();
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

Result<std::vector<Token>> tokenize_chat(const Model& model, std::string_view json,
                                         bool add_generation_prompt) {
  const Tokenizer* const tokenizer = TRY(tokenizer_of(model));
  if (model.chat_template == nullptr) return tl::unexpected<Status>(model.chat_template_status);
  const Json request = TRY(parse_json(json, "chat"));
  if (!request.is_object() || !request.contains("messages")) {
    return fail(Code::invalid, "chat: expected an object with \"messages\"");
  }
  const Json* const tools = request.contains("tools") ? &request["tools"] : nullptr;
  const Json context =
      TRY(template_context(request["messages"], tools, add_generation_prompt, nullptr));
  RenderOptions options;
  options.bos_token = stored_text(*tokenizer, tokenizer->spec().bos);
  options.eos_token = stored_text(*tokenizer, tokenizer->spec().eos);
  options.now_unix_s = static_cast<int64_t>(std::time(nullptr));
  const std::vector<RenderedPart> parts = TRY(render_chat(*model.chat_template, context, options));
  std::vector<Token> ids = encode_parts(*tokenizer, parts);
  // Most templates write bos themselves; some leave it to the tokenizer.
  const TokenizerSpec& spec = tokenizer->spec();
  if (spec.add_bos && spec.bos && (ids.empty() || ids.front() != *spec.bos)) {
    ids.insert(ids.begin(), *spec.bos);
  }
  return ids;
}

}  // namespace ruv
