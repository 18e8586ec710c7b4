// POST /tokenize, /detokenize and /apply-template: what the model's tokenizer and template make of
// a text. Field names are those of llama.cpp's server and of vLLM.
#include "base/json.h"
#include "base/json_writer.h"
#include "net/openai/conversation.h"
#include "net/openai/fields.h"
#include "net/openai/send_pieces.h"
#include "net/openai/service.h"
#include "net/openai/tokenize_answer.h"

namespace ruv {
namespace {

ApiResult<Json> read_body(const OpenAiService& service, const HttpRequest& http,
                          std::span<const FieldRow> rows, size_t max_values) {
  Json body = TRY(parse_body(http.body, rows, max_values));
  TRY(check_awaited(http));
  const Json* model = find_field(body, "model");
  if (model == nullptr) return body;
  if (!model->is_string()) return wrong_type("model", "a string", *model);
  TRY(check_model(service, model->get<std::string>()));
  return body;
}

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
ApiResult<void> answer_tokenize(const OpenAiService& service, HttpRequest& http,
                                const std::shared_ptr<Reply>& reply) {
  TokenizeBody call;
  TokenizedText encoded;
  {
    const Json body = TRY(read_body(service, http, tokenize_fields(), kMaxConversationValues));
    http.body = {};  // all of it is in the tree
    call = TRY(read_tokenize(body));
    encoded = TRY(encode(service, body, call));
  }
  send_in_pieces(reply,
                 std::make_shared<TokenizeAnswer>(service, std::move(encoded), call.fields()));
  return {};
}

Route tokenize_route(const OpenAiService& service, std::string path) {
  return {"POST", std::move(path),
          [&service](HttpRequest& http, const std::shared_ptr<Reply>& reply) {
            const auto answered = answer_tokenize(service, http, reply);
            if (!answered) send_response(reply, error_response(answered.error()));
          }};
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

ApiResult<std::string> detokenize_answer(const OpenAiService& service, const HttpRequest& http) {
  const Json body = TRY(read_body(service, http, detokenize_fields(), kMaxIdValues));
  const Json* list = find_field(body, "tokens");
  if (list == nullptr) return missing_field("tokens");
  std::vector<Token> ids;
  if (!list->is_array() || !list->empty()) ids = TRY(read_tokens(*list, "tokens"));
  const bool without = TRY(read_flag(body, "skip_special_tokens", false));
  const auto bytes = service.text->text_of(ids, !without);
  if (!bytes) return tl::unexpected(api_error(bytes.error(), "tokens"));
  return texts_json({"content", "prompt"}, service.text->valid_text(*bytes));
}

ApiResult<std::string> template_answer(const OpenAiService& service, const HttpRequest& http) {
  const Json body = TRY(read_body(service, http, template_fields(), kMaxConversationValues));
  const auto text = service.text->chat_text(TRY(read_chat(body, MessageCheck::roles)));
  if (!text) return tl::unexpected(api_error(text.error(), "messages"));
  return texts_json({"prompt"}, *text);
}

using JsonAnswer = ApiResult<std::string> (*)(const OpenAiService&, const HttpRequest&);

Route json_route(const OpenAiService& service, std::string path, JsonAnswer answer) {
  return simple_route("POST", std::move(path), [&service, answer](const HttpRequest& http) {
    ApiResult<std::string> json = answer(service, http);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = std::move(*json)};
  });
}

}  // namespace

std::vector<Route> text_routes(const OpenAiService& service) {
  return {tokenize_route(service, "/tokenize"), tokenize_route(service, "/v1/tokenize"),
          json_route(service, "/detokenize", detokenize_answer),
          json_route(service, "/v1/detokenize", detokenize_answer),
          json_route(service, "/apply-template", template_answer)};
}

}  // namespace ruv
