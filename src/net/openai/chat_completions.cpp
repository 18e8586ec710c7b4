// POST /v1/chat/completions.
#include "base/json.h"
#include "base/utf8.h"
#include "net/openai/answer.h"
#include "net/openai/sessions.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

Json token_entry(const ModelText& text, const TokenLogprob& token) {
  const std::string bytes = token_bytes(text, token.id);
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return {{"token", to_valid_utf8(bytes)},
          {"logprob", finite_logprob(token.logprob)},
          {"bytes", std::move(list)}};
}

class ChatShape final : public AnswerShape {
 public:
  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  bool has_opening() const override { return true; }

  Json choice(ChoicePart part, int64_t index, std::string text, Json logprobs,
              Json finish) const override {
    Json body = Json::object();
    if (part == ChoicePart::opening || part == ChoicePart::whole) body["role"] = "assistant";
    if (part != ChoicePart::closing) body["content"] = std::move(text);
    if (part == ChoicePart::whole) body["refusal"] = nullptr;
    return {{"index", index},
            {part == ChoicePart::whole ? "message" : "delta", std::move(body)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(finish)}};
  }

  Json logprobs(const ModelText& text, const std::vector<Event::Logprobs>& tokens,
                int64_t&) const override {
    Json content = Json::array();
    for (const Event::Logprobs& token : tokens) {
      Json entry = token_entry(text, token.chosen);
      Json top = Json::array();
      for (const TokenLogprob& other : token.top) top.push_back(token_entry(text, other));
      entry["top_logprobs"] = std::move(top);
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }
};

ApiResult<void> answer_chat(const OpenAiService& service, const HttpRequest& http,
                            const std::shared_ptr<Reply>& reply) {
  static const ChatShape kShape;
  GenerateRequest request = TRY(parse_chat_request(http.body));
  TRY(check_model(service, request.model));
  TRY(check_biases(service, request.params));
  std::shared_ptr<SessionTurn> turn;
  if (!request.session.empty()) turn = TRY(SessionTurn::begin(service, request));
  TRY(check_awaited(http));
  auto prompt = service.text->chat_prompt(request.conversation);
  if (!prompt) return tl::unexpected(api_error(prompt.error(), "messages"));
  TRY(check_prompt(service, prompt->ids, "messages"));
  std::vector<ReadyPrompt> prompts(1);
  prompts[0].ids = std::move(prompt->ids);
  prompts[0].n_fixed = prompt->n_fixed;
  answer_request(service, kShape, request, std::move(prompts), reply, std::move(turn));
  return {};
}

}  // namespace

Route chat_completions_route(const OpenAiService& service) {
  return {"POST", "/v1/chat/completions",
          [&service](const HttpRequest& http, const std::shared_ptr<Reply>& reply) {
            const auto answered = answer_chat(service, http, reply);
            if (!answered) send_response(reply, error_response(answered.error()));
          }};
}

}  // namespace ruv
