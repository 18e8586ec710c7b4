#include "engine/chat_asker.h"

#include "base/json.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/tool_parser.h"
#include "model/model.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// Calls in the conversation so far, which is the number of the next.
size_t count_calls(const Conversation& conversation) {
  size_t n = 0;
  for (const Message& message : conversation.messages) {
    const Json* members = message.members.json();
    const Json* calls = members == nullptr ? nullptr : members->find("tool_calls");
    if (calls != nullptr && calls->is_array()) n += calls->size();
  }
  return n;
}

// Nine letters and digits, which is what the templates that look at ids want.
std::string id_of(size_t call) { return fmt::format("call{:05}", call % 100'000); }

AnswerFormat format_of(const Model& model) {
  if (model.chat_template == nullptr) return {};
  return answer_format(*model.chat_template, model.tokenizer.get());
}

}  // namespace

ChatAsker::ChatAsker(Engine& engine, std::shared_ptr<const Model> model)
    : engine_(engine), format_(format_of(*model)), prompts_(std::move(model)) {}

Status ChatAsker::can_call() const {
  if (format_.has_calls) return {};
  return Status(Code::unsupported,
                "the model's chat template shows no calls of tools that are known");
}

Status ChatAsker::can_hold(const TemplateValue& tools) const {
  if (tools.json() == nullptr || tools.json()->empty()) return {};
  TRY(form_of(tools, {}));
  return {};
}

Result<std::shared_ptr<const LoadedForm>> ChatAsker::form_of(const TemplateValue& tools,
                                                             const ChatTerms& terms) const {
  TRY(can_call());
  AnswerForm form;
  form.kind = AnswerForm::Kind::lark;
  form.text = TRY(
      call_grammar(format_, *tools.json(), {.names = terms.names, .required = terms.must_call}));
  return engine_.load_form(form);
}

Result<ChatAnswer> ChatAsker::ask(const Conversation& conversation, const ChatTerms& terms,
                                  const ChatWatch& watch) {
  const Json* tools = conversation.tools.json();
  const bool has_tools = tools != nullptr && !tools->empty();
  if (has_tools) TRY(can_call());
  if (terms.must_call && !has_tools)
    return fail(Code::invalid, "the answer must call a tool, and there is none");
  ChatPrompt prompt = TRY(prompts_.encode(conversation));
  Request request;
  request.prompt = std::move(prompt.ids);
  request.n_fixed_tokens = prompt.n_fixed;
  request.params = terms.params;
  request.params.shown_tokens = format_.shown;
  if (has_tools && (terms.held || terms.must_call))
    request.form = TRY(form_of(conversation.tools, terms));

  ToolParserOptions options;
  if (has_tools) options.tools = ToolSchemas(*tools);
  options.prompt_tail = std::move(prompt.tail);
  options.continues_text = conversation.end == PromptEnd::open_message;
  options.calls = has_tools;
  ToolParser parser(format_.dialect, std::move(options));
  ToolMessage message;
  const auto read = [&](std::string_view text, bool last) {
    std::vector<ToolDelta> deltas;
    parser.feed(text, deltas);
    if (last) parser.finish(deltas);
    for (const ToolDelta& delta : deltas) {
      message.add(delta);
      if (watch.on_delta) watch.on_delta(delta);
    }
  };
  Stream stream = TRY(engine_.stream(std::move(request)));
  const Answer raw = TRY(stream.collect(
      [&](const Event& event) { read(event.text, event.finish != FinishReason::none); },
      watch.should_stop));

  ChatAnswer answer{.content = message.content(),
                    .reasoning = message.reasoning(),
                    .calls = {},
                    .warnings = parser.warnings(),
                    .finish = raw.finish,
                    .timings = raw.timings};
  if (raw.finish == FinishReason::cancelled) return answer;
  answer.calls = message.calls();
  size_t n_calls = count_calls(conversation);
  for (ToolCall& call : answer.calls) {
    const std::string given = id_of(n_calls++);
    if (!format_.dialect.has_ids || call.id.empty()) call.id = given;
  }
  return answer;
}

Message answer_message(const ChatAnswer& answer) {
  Message message;
  message.role = "assistant";
  // A message that only calls has no content.
  if (!answer.content.empty() || answer.calls.empty())
    message.parts.emplace_back(TextContent{answer.content});
  Json members = Json::object();
  if (!answer.reasoning.empty()) members["reasoning_content"] = answer.reasoning;
  for (const ToolCall& call : answer.calls) {
    members["tool_calls"].push_back(
        Json{{"id", call.id},
             {"type", "function"},
             {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  if (!members.empty()) message.members = TemplateValue(std::move(members));
  return message;
}

Message result_message(const std::string& call_id, const std::string& tool, std::string text) {
  Message message = text_message("tool", std::move(text));
  message.members = TemplateValue(Json{{"tool_call_id", call_id}, {"name", tool}});
  return message;
}

}  // namespace ruv
