// Only what templates cannot do themselves is changed here; everything else passes through.
#include "chat/messages.h"

#include <functional>

#include "base/json.h"

namespace ruv {

namespace {

Result<std::string> text_of_parts(const Json& parts, const std::string& where) {
  std::string text;
  for (const Json& part : parts) {
    if (!part.is_object() || !part.contains("type") || !part["type"].is_string())
      return fail(Code::invalid, "{}.content: every part needs a \"type\"", where);
    const std::string_view type = part["type"].text();
    if (type != "text")
      return fail(Code::unsupported,
                  "{}.content: parts of type \"{}\" are not supported; send text", where, type);
    if (!part.contains("text") || !part["text"].is_string())
      return fail(Code::invalid, "{}.content: a text part needs a \"text\"", where);
    text += part["text"].text();
  }
  return text;
}

// Calls change(arguments) on the arguments of every tool call of the messages.
void for_each_arguments(Json& messages, const std::function<void(Json&)>& change) {
  for (Json& message : messages) {
    if (!message.is_object() || !message.contains("tool_calls")) continue;
    Json& calls = message["tool_calls"];
    if (!calls.is_array()) continue;
    for (Json& call : calls) {
      if (!call.is_object()) continue;
      Json* function = call.contains("function") ? &call["function"] : &call;
      if (function->is_object() && function->contains("arguments"))
        change((*function)["arguments"]);
    }
  }
}

Result<Json> checked_message(const Json& message, const std::string& where) {
  if (!message.is_object()) return fail(Code::invalid, "{}: expected an object", where);
  if (!message.contains("role") || !message["role"].is_string())
    return fail(Code::invalid, "{}: \"role\" must be a text", where);
  Json out = message;
  if (!out.contains("content")) return out;
  Json& content = out["content"];
  if (content.is_array()) {
    content = TRY(text_of_parts(content, where));
  } else if (!content.is_string() && !content.is_null()) {
    return fail(Code::invalid, "{}: \"content\" must be a text, null or an array of parts", where);
  }
  return out;
}

}  // namespace

Result<Json> template_context(const Json& messages, const Json* tools, bool add_generation_prompt,
                              const Json* extra_variables) {
  if (!messages.is_array()) return fail(Code::invalid, "messages: expected an array");
  Json checked = Json::array();
  for (size_t i = 0; i < messages.size(); ++i)
    checked.push_back(TRY(checked_message(messages[i], fmt::format("messages[{}]", i))));
  for_each_arguments(checked, [](Json& arguments) {
    if (!arguments.is_string()) return;
    auto parsed = parse_json(arguments.text(), "arguments");
    if (parsed && parsed->is_object()) arguments = std::move(*parsed);
  });
  if (tools && !tools->is_null() && !tools->is_array())
    return fail(Code::invalid, "tools: expected an array");

  Json context = Json::object();
  if (extra_variables && !extra_variables->is_null()) {
    if (!extra_variables->is_object())
      return fail(Code::invalid, "template variables: expected an object");
    context = *extra_variables;
  }
  context["messages"] = std::move(checked);
  // Templates ask both "if tools" and "tools is not none": no tools is null, never [].
  context["tools"] = tools && !tools->empty() ? *tools : Json();
  context["add_generation_prompt"] = add_generation_prompt;
  return context;
}

namespace {

bool is_blank(const Json& content) {
  return content.is_null() || (content.is_string() && content.empty());
}

// What the template asks for where OpenAI's messages leave a choice.
void fit_content(Json& messages, const TemplateCapabilities& can) {
  for (Json& message : messages) {
    if (!message.is_object()) continue;
    const bool calls = message.contains("tool_calls") && !message["tool_calls"].empty();
    const Json content = message.contains("content") ? message["content"] : Json();
    if (calls && is_blank(content)) {
      if (can.calls_need_null_content) message["content"] = nullptr;
      if (can.calls_need_text_content) message["content"] = "";
    }
    const bool system = message.contains("role") && message["role"] == "system";
    const bool wants_parts =
        (!can.content_text && can.content_parts) || (system && can.system_needs_parts);
    if (wants_parts && content.is_string())
      message["content"] = Json::array({{{"type", "text"}, {"text", content}}});
    if (message.contains("reasoning_content") && !can.reasoning_field.empty() &&
        !message.contains(can.reasoning_field))
      message[can.reasoning_field] = message["reasoning_content"];
  }
}

// Whether the objects became text.
bool arguments_to_text(Json& messages) {
  bool changed = false;
  for_each_arguments(messages, [&](Json& arguments) {
    if (!arguments.is_object()) return;
    arguments = arguments.dump();
    changed = true;
  });
  return changed;
}

}  // namespace

Result<std::vector<RenderedPart>> render_chat(const ChatTemplate& chat_template,
                                              const Json& context, const RenderOptions& options) {
  if (!context.is_object() || !context.contains("messages"))
    return chat_template.render(context, options);
  const TemplateCapabilities& can = chat_template.capabilities();
  if (!context["messages"].is_array()) return fail(Code::invalid, "messages: expected an array");
  Json fitted = context;
  fit_content(fitted["messages"], can);
  const bool wants_text = can.arguments_text && !can.arguments_object;
  if (wants_text) arguments_to_text(fitted["messages"]);
  auto parts = chat_template.render(fitted, options);
  if (parts || wants_text || !arguments_to_text(fitted["messages"])) return parts;
  auto again = chat_template.render(fitted, options);
  return again ? again : parts;
}

}  // namespace ruv
