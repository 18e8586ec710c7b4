// POST /v1/chat/completions.
#include "net/openai/answer.h"
#include "net/openai/sessions.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// The members of a token's entry; its object stays open.
void write_token(JsonWriter& out, const ModelText& text, const TokenLogprob& token) {
  const std::string bytes = token_bytes(text, token.id);
  out.begin_object();
  out.key("token");
  out.text(bytes);
  out.key("logprob");
  out.real(finite_logprob(token.logprob));
  out.key("bytes");
  out.begin_array();
  for (const char c : bytes) out.integer(static_cast<unsigned char>(c));
  out.end_array();
}

// Chunks have a delta, whole answers a message.
class ChatShape final : public AnswerShape {
 public:
  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object_name(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  bool has_opening() const override { return true; }

  void write(JsonWriter& out, const Choice& choice) const override {
    out.begin_object();
    out.key("index");
    out.integer(choice.index);
    out.key(choice.part == ChoicePart::whole ? "message" : "delta");
    write_message(out, choice);
    out.key("logprobs");
    if (choice.logprobs == nullptr) {
      out.null();
    } else {
      out.begin_object();
      out.key("content");
      out.written_array(choice.logprobs->lists[0]);
      out.key("refusal");
      out.null();
      out.end_object();
    }
    out.key("finish_reason");
    out.text_or_null(choice.finish);
    out.end_object();
  }

  void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                    LogprobsText& logprobs) const override {
    std::string& list = logprobs.lists[0];
    begin_element(list);
    JsonWriter out(list);
    write_token(out, text, token.chosen);
    out.key("top_logprobs");
    out.begin_array();
    for (const TokenLogprob& other : token.top) {
      write_token(out, text, other);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }

 private:
  static void write_message(JsonWriter& out, const Choice& choice) {
    out.begin_object();
    if (choice.part == ChoicePart::opening || choice.part == ChoicePart::whole) {
      out.key("role");
      out.text("assistant");
    }
    if (choice.part != ChoicePart::closing) {
      out.key("content");
      out.text(choice.text);
    }
    if (choice.part == ChoicePart::whole) {
      out.key("refusal");
      out.null();
    }
    out.end_object();
  }
};

// Parse, session, template, tokens; each failure names the field.
ApiResult<void> answer_chat(const OpenAiService& service, const HttpRequest& http,
                            const std::shared_ptr<Reply>& reply) {
  static const ChatShape kShape;
  GenerateRequest request = TRY(parse_chat_request(http.body));
  TRY(check_model(service, request.model));
  TRY(check_biases(service, request.params));
  TRY(load_form(service, request));
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
