// POST /tokenize, /detokenize and /apply-template: what the model's tokenizer and template make of
// a text. Field names are those of llama.cpp's server and of vLLM.
#include "base/json.h"
#include "base/json_writer.h"
#include "net/openai/api_route.h"
#include "net/openai/conversation.h"
#include "net/openai/generate_request.h"
#include "net/openai/routes.h"
#include "net/openai/send_pieces.h"
#include "net/openai/service.h"
#include "net/openai/tokenize_answer.h"

namespace ruv {
namespace {

struct TokenizeBody {
  std::string source;  // the field that has the text: content, prompt or messages
  bool with_pieces = false;
  bool with_names = false;
  EncodeOptions options;

  TokenizeFields fields() const {
    const bool lists = !options.count_only;
    return {.ids = lists,
            .pieces = with_pieces,
            .names = lists && with_names,
            .spans = lists && options.with_spans};
  }
};

// Which of the fields that exclude each other is there; empty: none.
ApiResult<std::string> only_one_of(const Json& body, std::initializer_list<const char*> names) {
  std::string found;
  for (const char* name : names) {
    if (find_field(body, name) == nullptr) continue;
    if (!found.empty()) {
      return tl::unexpected(
          bad_request(name, fmt::format("'{}' and '{}' are mutually exclusive", found, name)));
    }
    found = name;
  }
  return found;
}

// The fields that a text does not have.
ApiResult<void> check_unused(const Json& body, std::initializer_list<const char*> names,
                             const std::string& source) {
  for (const char* name : names) {
    if (find_field(body, name) == nullptr) continue;
    return tl::unexpected(
        bad_request(name, fmt::format("'{}' does not apply to '{}'", name, source)));
  }
  return {};
}

ApiResult<TokenizeBody> read_tokenize(const Json& body) {
  TokenizeBody call;
  call.source = TRY(only_one_of(body, {"content", "prompt", "messages"}));
  if (call.source.empty()) return missing_field("content");
  if (call.source == "messages") {
    TRY(check_unused(body, {"add_special", "parse_special", "with_spans"}, call.source));
    // vLLM's clients send its default.
    if (TRY(read_flag(body, "add_special_tokens", false))) {
      TRY(check_unused(body, {"add_special_tokens"}, call.source));
    }
  } else {
    TRY(check_unused(
        body, {"tools", "add_generation_prompt", "continue_final_message", "chat_template_kwargs"},
        call.source));
    const std::string name = TRY(only_one_of(body, {"add_special", "add_special_tokens"}));
    const bool usual = call.source == "prompt";  // as vLLM has it, and llama.cpp not
    call.options.add_special = name.empty() ? usual : TRY(read_flag(body, name, usual));
    call.options.parse_special = TRY(read_flag(body, "parse_special", true));
    call.options.with_spans = TRY(read_flag(body, "with_spans", false));
  }
  call.with_pieces = TRY(read_flag(body, "with_pieces", false));
  call.with_names = TRY(read_flag(body, "return_token_strs", false));
  call.options.count_only = TRY(read_flag(body, "count_only", false));
  return call;
}

// A text, or a conversation rendered by the template.
ApiResult<TokenizedText> encode(const OpenAiService& service, const Json& body,
                                const TokenizeBody& call) {
  if (call.source == "messages") {
    auto prompt = service.text->chat_prompt(TRY(read_chat(body, MessageCheck::roles)));
    if (!prompt) return tl::unexpected(api_error(prompt.error(), "messages"));
    TokenizedText encoded{.n_tokens = static_cast<int64_t>(prompt->ids.size())};
    for (const Token id : prompt->ids) encoded.log.ids.push(static_cast<uint64_t>(id));
    return encoded;
  }
  const Json& text = body.at(call.source);
  if (!text.is_string()) return wrong_type(call.source, "a string", text);
  auto encoded = service.text->encode(text.text(), call.options);
  if (!encoded) return tl::unexpected(api_error(encoded.error(), call.source));
  return std::move(*encoded);
}

// Short answers at once, long ones in pieces.
ApiResult<void> answer_tokenize(const ApiCall& api, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = api.service;
  const TokenizeBody call = TRY(read_tokenize(api.body));
  TokenizedText encoded = TRY(encode(service, api.body, call));
  send_in_pieces(reply,
                 std::make_shared<TokenizeAnswer>(service, std::move(encoded), call.fields()));
  return {};
}

// An object that has one text under several names.
std::string texts_json(std::initializer_list<const char*> names, std::string_view text) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  for (const char* name : names) {
    writer.key(name);
    writer.text(text);
  }
  writer.end_object();
  return out;
}

// Twice the text: llama.cpp's clients read `content`, vLLM's `prompt`.
ApiResult<void> answer_detokenize(const ApiCall& api, const std::shared_ptr<Reply>& reply) {
  const Json* list = find_field(api.body, "tokens");
  if (list == nullptr) return missing_field("tokens");
  std::vector<Token> ids;
  if (!list->is_array() || !list->empty()) ids = TRY(read_tokens(*list, "tokens"));
  const bool without = TRY(read_flag(api.body, "skip_special_tokens", false));
  const ModelText& text = *api.service.text;
  const auto bytes = text.text_of(ids, !without);
  if (!bytes) return tl::unexpected(api_error(bytes.error(), "tokens"));
  send_response(reply, {.body = texts_json({"content", "prompt"}, text.valid_text(*bytes))});
  return {};
}

// The prompt of a chat, as text.
ApiResult<void> answer_template(const ApiCall& api, const std::shared_ptr<Reply>& reply) {
  const auto text = api.service.text->chat_text(TRY(read_chat(api.body, MessageCheck::roles)));
  if (!text) return tl::unexpected(api_error(text.error(), "messages"));
  send_response(reply, {.body = texts_json({"prompt"}, *text)});
  return {};
}

}  // namespace

std::vector<Route> text_routes(ServedModels& models) {
  std::vector<Route> routes;
  for (const char* path : {"/tokenize", "/v1/tokenize"}) {
    routes.push_back(api_route(models, "POST", path, tokenize_fields(), answer_tokenize));
  }
  for (const char* path : {"/detokenize", "/v1/detokenize"}) {
    routes.push_back(api_route(models, "POST", path, detokenize_fields(), answer_detokenize));
  }
  routes.push_back(
      api_route(models, "POST", "/apply-template", template_fields(), answer_template));
  return routes;
}

}  // namespace ruv
