// POST /v1/completions: raw prompts, the older form of the API.
#include "base/json.h"
#include "base/utf8.h"
#include "net/openai/answer.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

class CompletionShape final : public AnswerShape {
 public:
  const char* id_prefix() const override { return "cmpl-"; }
  const char* object_name(bool) const override { return "text_completion"; }
  bool has_opening() const override { return false; }

  Json choice(ChoicePart, int64_t index, std::string text, Json logprobs,
              Json finish) const override {
    return {{"text", std::move(text)},
            {"index", index},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(finish)}};
  }

  // The alternatives always include the chosen token. Offsets count characters.
  Json logprobs(const ModelText& text, const std::vector<Event::Logprobs>& tokens,
                int64_t& text_offset) const override {
    Json names = Json::array();
    Json chosen = Json::array();
    Json top = Json::array();
    Json offsets = Json::array();
    for (const Event::Logprobs& token : tokens) {
      const std::string name = to_valid_utf8(token_bytes(text, token.chosen.id));
      Json others = Json::object();
      for (const TokenLogprob& other : token.top) {
        others[to_valid_utf8(token_bytes(text, other.id))] = finite_logprob(other.logprob);
      }
      others[name] = finite_logprob(token.chosen.logprob);
      names.push_back(name);
      chosen.push_back(finite_logprob(token.chosen.logprob));
      top.push_back(std::move(others));
      offsets.push_back(text_offset);
      for (const char c : name) text_offset += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }
    return {{"tokens", std::move(names)},
            {"token_logprobs", std::move(chosen)},
            {"top_logprobs", std::move(top)},
            {"text_offset", std::move(offsets)}};
  }
};

ApiResult<ReadyPrompt> ready_prompt(const OpenAiService& service, const RawPrompt& raw, bool echo) {
  ReadyPrompt ready{.ids = raw.ids};
  if (!raw.is_ids) {
    // Control tokens written out become their ids: a raw prompt is written by a program.
    auto encoded = service.text->encode(raw.text, {});
    if (!encoded) return tl::unexpected(api_error(encoded.error(), "prompt"));
    ready.ids = std::move(encoded->ids);
  }
  TRY(check_prompt(service, ready.ids, "prompt"));
  if (!echo) return ready;
  if (!raw.is_ids) {
    ready.echo = raw.text;
    return ready;
  }
  auto text = service.text->text_of(ready.ids, true);
  if (!text) return tl::unexpected(api_error(text.error(), "prompt"));
  ready.echo = service.text->valid_text(*text);
  return ready;
}

ApiResult<void> answer_completion(const OpenAiService& service, const HttpRequest& http,
                                  const std::shared_ptr<Reply>& reply) {
  static const CompletionShape kShape;
  const GenerateRequest request = TRY(parse_completion_request(http.body));
  TRY(check_model(service, request.model));
  TRY(check_biases(service, request.params));
  std::vector<ReadyPrompt> prompts;
  for (const RawPrompt& raw : request.prompts) {
    TRY(check_awaited(http));
    prompts.push_back(TRY(ready_prompt(service, raw, request.echo)));
  }
  answer_request(service, kShape, request, std::move(prompts), reply);
  return {};
}

}  // namespace

Route completions_route(const OpenAiService& service) {
  return {"POST", "/v1/completions",
          [&service](const HttpRequest& http, const std::shared_ptr<Reply>& reply) {
            const auto answered = answer_completion(service, http, reply);
            if (!answered) send_response(reply, error_response(answered.error()));
          }};
}

}  // namespace ruv
