// What all APIs with conversations do: the template, the form of the answer, tools and reasoning.
#include "net/openai/chat_answer.h"

#include "base/json.h"
#include "chat/tools/call_grammar.h"
#include "net/openai/answer.h"
#include "net/openai/reasoned_form.h"
#include "net/openai/reasoning.h"
#include "net/openai/sessions.h"

namespace ruv {
namespace {

// The effort as the variables that the model's template knows. The caller's own variables win.
ApiResult<void> set_effort(const AnswerFormat& format, GenerateRequest& request) {
  const std::string& effort = request.reasoning_effort;
  if (effort.empty() && !request.wants_thinking) return {};
  const bool off = effort == "none";
  const bool has_switch = !format.thinking_switch.empty();
  const bool has_effort = format.reasoning_effort && !effort.empty();
  if (!has_switch && !has_effort) {
    const bool thinks = !format.dialect.reasoning.end.empty();
    if (effort.empty() ? thinks : off && !thinks) return {};  // it does so anyway
    const char* const field = effort.empty() ? "think" : "reasoning_effort";
    return tl::unexpected(
        bad_request(field, fmt::format("'{}': the model's chat template knows no effort", field),
                    "unsupported_field"));
  }
  Json variables = Json::object();
  if (has_effort) variables["reasoning_effort"] = effort;
  if (has_switch) variables[format.thinking_switch] = !off;
  const Json* const own = request.conversation.variables.json();
  if (own != nullptr) variables.update(*own);
  request.conversation.variables = TemplateValue(std::move(variables));
  return {};
}

// How the answers are read; null: they are text.
ApiResult<std::shared_ptr<const AnswerReading>> reading_of(const AnswerFormat& format,
                                                           const GenerateRequest& request,
                                                           const std::string& prompt_tail) {
  if (request.may_call && !format.has_calls) {
    return tl::unexpected(
        bad_request("tools", "'tools': the model's chat template shows no calls that are known",
                    "unsupported_field"));
  }
  const bool thinks = !format.dialect.reasoning.end.empty();
  const bool channels = format.dialect.shape == ToolDialect::Shape::channels;
  if (!request.may_call && !thinks && !channels) return nullptr;
  auto reading = std::make_shared<AnswerReading>();
  reading->dialect = format.dialect;
  ToolParserOptions& options = reading->options;
  const Json* const tools = request.conversation.tools.json();
  if (tools != nullptr) options.tools = ToolSchemas(*tools);
  options.prompt_tail = prompt_tail;
  options.continues_text = request.conversation.end == PromptEnd::open_message;
  options.reasoning_apart = request.reasoning_apart;
  options.calls = request.may_call;
  if (!request.parallel_calls) options.max_calls = 1;
  return std::shared_ptr<const AnswerReading>(std::move(reading));
}

// Where the prompt begins reasoning that ends with a text, the form comes after that; where it ends
// with a token, the engine waits for it (reasoning.h). The form itself was loaded before.
ApiResult<void> set_reasoned_form(const OpenAiService& service, const std::string& prompt_tail,
                                  GenerateRequest& request) {
  const AnswerFormat& format = service.text->format();
  if (!request.form || format.region) return {};
  auto reasoned = TRY(after_reasoning(format, prompt_tail, *request.form));
  if (!reasoned) return {};
  TRY(load_named(service, request));
  request.form->form = std::move(*reasoned);
  return {};
}

// Where calls must come or be right, the answer is held to the grammar of the model's calls; beside
// a schema it is either calls or a value of that. The schema was loaded before: what is wrong in it
// is known.
ApiResult<void> set_call_form(const OpenAiService& service, const std::string& prompt_tail,
                              GenerateRequest& request) {
  const AnswerFormat& format = service.text->format();
  if (!request.must_call && !request.strict_calls && !request.form) return {};
  if (!format.has_calls) return {};  // refused with the tools
  CallGrammarOptions options{.names = request.call_names,
                             .required = request.must_call,
                             .parallel = request.parallel_calls,
                             .prompt_tail = prompt_tail};
  if (request.form) {
    if (request.form->form.kind != AnswerForm::Kind::json_schema) {
      return tl::unexpected(bad_request(
          request.form->field,
          fmt::format("'{}' cannot be combined with tools; a JSON schema can, or \"tool_choice\": "
                      "\"none\"",
                      request.form->field)));
    }
    TRY(load_named(service, request));
    const std::string& schema = request.form->form.text;
    const bool is_object = schema.find('{') != std::string::npos;  // or true
    options.content_schema = is_object ? schema : fmt::format("{{\"allOf\": [{}]}}", schema);
  }
  auto grammar = call_grammar(format, *request.conversation.tools.json(), options);
  const char* field = request.must_call ? "tool_choice" : "tools";
  if (!grammar) return tl::unexpected(api_error(grammar.error(), field));
  request.form = AskedForm{.form = {.kind = AnswerForm::Kind::lark, .text = std::move(*grammar)},
                           .field = field};
  return {};
}

// The form of the answer, with the model's calls and reasoning in it.
ApiResult<void> set_answer_form(const OpenAiService& service, const std::string& prompt_tail,
                                GenerateRequest& request) {
  if (request.may_call) {
    TRY(set_call_form(service, prompt_tail, request));
  } else {
    TRY(set_reasoned_form(service, prompt_tail, request));
  }
  return load_named(service, request);
}

}  // namespace

// The effort goes to the template as a variable.
ApiResult<ChatPrompt> conversation_prompt(const OpenAiService& service, GenerateRequest& request) {
  TRY(set_effort(service.text->format(), request));
  auto prompt = service.text->chat_prompt(request.conversation);
  if (!prompt) return tl::unexpected(api_error(prompt.error(), "messages"));
  return std::move(*prompt);
}

// Session, template, tokens; each failure names the field.
ApiResult<void> answer_conversation(const ApiCall& call, GenerateRequest request,
                                    MakeWriter make_writer, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = call.service;
  TRY(check_token_params(service, request.params));
  TRY(claim_terms(call.http, request.terms));
  std::shared_ptr<SessionTurn> turn;
  if (!request.session.empty()) turn = TRY(SessionTurn::begin(service, request));
  TRY(check_awaited(call.http));
  ChatPrompt prompt = TRY(conversation_prompt(service, request));
  std::vector<ReadyPrompt> prompts(1);
  prompts[0].ids = std::move(prompt.ids);
  cut_prompt(service, request, prompts[0]);
  TRY(check_prompt(service, prompts[0].ids, "messages"));
  TRY(set_answer_form(service, prompt.tail, request));
  const AnswerFormat& format = service.text->format();
  prompts[0].n_fixed = prompt.n_fixed;
  prompts[0].reading = TRY(reading_of(format, request, prompt.tail));
  if (prompts[0].reading != nullptr) request.params.shown_tokens = format.shown;
  prompts[0].reasoning = TRY(reasoning_region(format, request, prompt.tail));
  answer_request(service, std::move(make_writer), request, std::move(prompts), reply,
                 std::move(turn));
  return {};
}

}  // namespace ruv
