// POST /v1/completions: raw prompts, the older form of the API.
#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "net/openai/answer.h"
#include "net/openai/api_route.h"
#include "net/openai/fill_in.h"
#include "net/openai/openai_writer.h"
#include "net/openai/prompt_answer.h"
#include "net/openai/routes.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// Text and the older form of logprobs.
class CompletionShape final : public ChoiceShape {
 public:
  const char* id_prefix() const override { return "cmpl-"; }
  const char* object_name(bool) const override { return "text_completion"; }
  bool has_opening() const override { return false; }
  bool has_one_prompt() const override { return false; }

  void write(JsonWriter& out, const Choice& choice) const override {
    out.begin_object();
    out.key("text");
    out.text(choice.text);
    out.key("index");
    out.integer(choice.index);
    out.key("logprobs");
    write_logprobs(out, choice.logprobs);
    out.key("finish_reason");
    out.text_or_null(choice.finish);
    if (choice.finished != nullptr) write_prompt_logprobs(out, choice.finished->prompt_logprobs);
    write_extras(out, choice.finished);
    out.end_object();
  }

  // The alternatives always include the chosen token. Offsets count characters.
  void add_logprobs(const ModelText& text, const Event::Logprobs& token,
                    LogprobsText& logprobs) const override {
    for (std::string& list : logprobs.lists) begin_element(list);
    const std::string name = to_valid_utf8(token_bytes(text, token.chosen.id));
    Json others = Json::object();  // tokens of one text are one member
    for (const TokenLogprob& other : token.top) {
      others[to_valid_utf8(token_bytes(text, other.id))] = finite_logprob(other.logprob);
    }
    others[name] = finite_logprob(token.chosen.logprob);
    JsonWriter(logprobs.lists[0]).text(name);
    JsonWriter(logprobs.lists[1]).real(finite_logprob(token.chosen.logprob));
    JsonWriter(logprobs.lists[2]).value(others);
    JsonWriter(logprobs.lists[3]).integer(logprobs.text_offset);
    logprobs.text_offset += n_characters(name);
  }

  // One before the text, as the token that begins prompts, is at its beginning.
  void add_unscored(const ModelText& text, Token id, LogprobsText& logprobs) const override {
    for (std::string& list : logprobs.lists) begin_element(list);
    const std::string name = to_valid_utf8(token_bytes(text, id));
    JsonWriter(logprobs.lists[0]).text(name);
    JsonWriter(logprobs.lists[1]).null();
    JsonWriter(logprobs.lists[2]).null();
    JsonWriter(logprobs.lists[3]).integer(std::max<int64_t>(0, logprobs.text_offset));
    logprobs.text_offset += n_characters(name);
  }

 private:
  static void write_logprobs(JsonWriter& out, const LogprobsText* logprobs) {
    if (logprobs == nullptr) return out.null();
    constexpr const char* kLists[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
    out.begin_object();
    for (size_t i = 0; i < logprobs->lists.size(); ++i) {
      out.key(kLists[i]);
      out.written_array(logprobs->lists[i]);
    }
    out.end_object();
  }
};

ApiResult<ReadyPrompt> ready_prompt(const OpenAiService& service, const RawPrompt& raw,
                                    const GenerateRequest& request) {
  ReadyPrompt ready{.ids = raw.ids};
  if (!raw.is_ids) {
    // Control tokens written out become their ids: a raw prompt is written by a program.
    auto encoded = service.text->encode(raw.text, {});
    if (!encoded) return tl::unexpected(api_error(encoded.error(), "prompt"));
    ready.ids = encoded->ids();
  }
  cut_prompt(service, request, ready);
  TRY(check_prompt(service, ready.ids, "prompt"));
  if (!request.echo) return ready;
  if (!raw.is_ids && ready.n_cut == 0) {
    ready.echo = raw.text;
    return ready;
  }
  auto text = service.text->text_of(ready.ids, true);
  if (!text) return tl::unexpected(api_error(text.error(), "prompt"));
  ready.echo = service.text->valid_text(*text);
  return ready;
}

ApiResult<std::vector<ReadyPrompt>> plain_prompts(const ApiCall& call,
                                                  const GenerateRequest& request) {
  std::vector<ReadyPrompt> prompts;
  for (const RawPrompt& raw : request.prompts) {
    TRY(check_awaited(call.http));
    prompts.push_back(TRY(ready_prompt(call.service, raw, request)));
  }
  return prompts;
}

// Prompts with a gap before the suffix. What ends a gap is not part of the answer.
ApiResult<std::vector<ReadyPrompt>> gap_prompts(const OpenAiService& service,
                                                GenerateRequest& request) {
  const std::optional<FillMarks> marks = fill_marks(*service.text);
  if (!marks) {
    return tl::unexpected(bad_request(
        "suffix", "'suffix': the model's vocabulary has no tokens for gaps", "unsupported_field"));
  }
  std::vector<ReadyPrompt> prompts;
  for (const RawPrompt& raw : request.prompts) {
    ReadyPrompt ready{.ids = TRY(fill_prompt(*service.text, *marks,
                                             {.before = raw.text, .after = request.suffix}))};
    TRY(check_prompt(service, ready.ids, "prompt"));
    if (request.echo) ready.echo = raw.text;
    prompts.push_back(std::move(ready));
  }
  std::ranges::copy(marks->ends, std::back_inserter(request.params.stop_tokens));
  return prompts;
}

ApiResult<void> answer_completion(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  static const CompletionShape kShape;
  return answer_prompts(call, TRY(read_completion_request(call.body, call.service.usual)),
                        openai_writer(kShape), reply);
}

}  // namespace

// One or several prompts; each gets n answers.
ApiResult<void> answer_prompts(const ApiCall& call, GenerateRequest request, MakeWriter make_writer,
                               const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = call.service;
  TRY(claim_terms(call.http, request.terms));
  TRY(check_token_params(service, request.params));
  TRY(load_named(service, request));
  std::vector<ReadyPrompt> prompts =
      TRY(request.suffix.empty() ? plain_prompts(call, request) : gap_prompts(service, request));
  answer_request(service, std::move(make_writer), request, std::move(prompts), reply);
  return {};
}

Route completions_route(ServedModels& models) {
  return api_route(models, "POST", "/v1/completions", completion_fields(), answer_completion);
}

}  // namespace ruv
