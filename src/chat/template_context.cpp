// Only what templates cannot do themselves is changed here; everything else passes through.
#include "chat/template_context.h"

#include <algorithm>
#include <functional>

#include "base/json.h"

namespace ruv {
namespace {

Json text_part(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

// transformers gives a template the list that the client sent. A template that would not show each
// text of it gets one text; no template writes anything between two parts, so nothing joins them.
Json content_of(const Message& message, const TemplateCapabilities& can) {
  const bool shows_lists = std::ranges::find(can.list_roles, message.role) != can.list_roles.end();
  Json list = Json::array();
  if (message.parts.size() > 1 && shows_lists) {
    for (const Part& part : message.parts) {
      list.push_back(text_part(std::get<TextContent>(part).text));
    }
    return list;
  }
  const bool needs_list = (!can.content_text && can.content_parts) ||
                          (message.role == "system" && can.system_needs_parts);
  if (!needs_list) return joined_text(message);
  list.push_back(text_part(joined_text(message)));
  return list;
}

bool is_blank(const Message& message) { return joined_text(message).empty(); }

bool calls_tools(const Json& message) {
  const Json* calls = message.find("tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty();
}

Json message_of(const Message& message, const TemplateCapabilities& can) {
  Json out = {{"role", message.role}};
  if (!message.parts.empty()) out["content"] = content_of(message, can);
  if (message.members.json() == nullptr) return out;
  for (const auto& [name, value] : message.members.json()->items()) {
    if (!out.contains(name)) out[name] = value;
  }
  if (calls_tools(out) && is_blank(message)) {
    if (can.calls_need_null_content) out["content"] = nullptr;
    if (can.calls_need_text_content) out["content"] = "";
  }
  const Json* reasoning = out.find("reasoning_content");
  if (reasoning != nullptr && !can.reasoning_field.empty() && !out.contains(can.reasoning_field)) {
    out[can.reasoning_field] = Json(*reasoning);
  }
  return out;
}

// Calls change(arguments) on the arguments of every tool call of the messages.
void for_each_arguments(Json& messages, const std::function<void(Json&)>& change) {
  for (Json& message : messages) {
    if (!message.contains("tool_calls")) continue;
    Json& calls = message["tool_calls"];
    if (!calls.is_array()) continue;
    for (Json& call : calls) {
      if (!call.is_object()) continue;
      Json* function = call.contains("function") ? &call["function"] : &call;
      if (function->is_object() && function->contains("arguments")) {
        change((*function)["arguments"]);
      }
    }
  }
}

// Most templates want objects; clients send texts.
void read_arguments(Json& messages) {
  for_each_arguments(messages, [](Json& arguments) {
    if (!arguments.is_string()) return;
    auto parsed = parse_json(arguments.text(), "arguments");
    if (parsed && parsed->is_object()) arguments = std::move(*parsed);
  });
}

}  // namespace

Json template_context(const Conversation& conversation, const TemplateCapabilities& can) {
  const Json* variables = conversation.variables.json();
  Json context = variables != nullptr ? *variables : Json::object();
  Json messages = Json::array();
  for (const Message& message : conversation.messages) {
    messages.push_back(message_of(message, can));
  }
  read_arguments(messages);
  context["messages"] = std::move(messages);
  // Templates ask both "if tools" and "tools is not none": no tools is null, never [].
  const Json* tools = conversation.tools.json();
  context["tools"] = tools != nullptr && !tools->empty() ? *tools : Json();
  context["add_generation_prompt"] = conversation.end == PromptEnd::answer;
  if (can.arguments_text && !can.arguments_object) write_arguments(context);
  return context;
}

bool write_arguments(Json& context) {
  bool changed = false;
  for_each_arguments(context["messages"], [&](Json& arguments) {
    if (!arguments.is_object()) return;
    arguments = arguments.dump();
    changed = true;
  });
  return changed;
}

}  // namespace ruv
