#include "net/openai/conversation.h"

#include "base/json.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

// A list of text parts as one text, parts on lines of their own.
ApiResult<std::string> read_parts(const Json& parts, const std::string& where) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Json& part = parts[i];
    const std::string at = fmt::format("{}[{}]", where, i);
    if (!part.is_object()) return wrong_type(at, "an object", part);
    const Json* type = find_field(part, "type");
    if (type == nullptr) return missing_field(at + ".type");
    if (!type->is_string()) return wrong_type(at + ".type", "a string", *type);
    if (*type != "text") {
      return tl::unexpected(
          bad_request(at + ".type",
                      fmt::format("'{}.type' is '{}'; only 'text' is supported", at, type->text()),
                      "unsupported_field"));
    }
    constexpr FieldRow kRows[] = {{"type", FieldUse::honoured, ""},
                                  {"text", FieldUse::honoured, ""}};
    TRY(check_fields(part, kRows, at + "."));
    const Json* value = find_field(part, "text");
    if (value == nullptr) return missing_field(at + ".text");
    if (!value->is_string()) return wrong_type(at + ".text", "a string", *value);
    if (i > 0) text += '\n';
    text += value->text();
  }
  return text;
}

ApiResult<void> check_role(const std::string& name, const std::string& where, ToolTalk tools) {
  if (name == "system" || name == "user" || name == "assistant") return {};
  const bool with_tools = tools == ToolTalk::allowed;
  if (name == "tool" && with_tools) return {};
  if (name == "tool" || name == "function") {
    return tl::unexpected(bad_request(
        where + ".role", fmt::format("'{}.role' '{}' is not supported yet", where, name),
        "unsupported_field"));
  }
  return tl::unexpected(
      bad_request(where + ".role",
                  fmt::format("'{}.role' is '{}'; it must be system, developer, user{} assistant",
                              where, name, with_tools ? ", tool or" : " or")));
}

// What templates say of tools passes through as it is: they know best. The role is looked at before
// the members that belong to it.
ApiResult<Json> read_message(const Json& message, const std::string& where, ToolTalk tools) {
  if (!message.is_object()) return wrong_type(where, "an object", message);
  const bool strict = tools == ToolTalk::refused;
  const Json* role = find_field(message, "role");
  if (role == nullptr) return missing_field(where + ".role");
  if (!role->is_string()) return wrong_type(where + ".role", "a string", *role);
  std::string name = role->get<std::string>();
  if (name == "developer") name = "system";  // OpenAI's newer word for the same
  TRY(check_role(name, where, tools));
  if (strict) TRY(check_fields(message, message_fields(), where + "."));
  Json read = strict ? Json::object() : message;
  read["role"] = name;
  const Json* content = find_field(message, "content");
  if (content == nullptr) {
    if (strict) return missing_field(where + ".content");
    return read;
  }
  if (!content->is_string() && !content->is_array()) {
    return wrong_type(where + ".content", "a string or an array of text parts", *content);
  }
  read["content"] = content->is_string() ? content->get<std::string>()
                                         : TRY(read_parts(*content, where + ".content"));
  return read;
}

ApiResult<Json> read_messages(const Json& body, ToolTalk tools) {
  const Json* messages = find_field(body, "messages");
  if (messages == nullptr) return missing_field("messages");
  if (!messages->is_array()) return wrong_type("messages", "an array", *messages);
  if (messages->empty()) {
    return tl::unexpected(bad_request("messages", "'messages' must not be empty"));
  }
  Json list = Json::array();
  for (size_t i = 0; i < messages->size(); ++i) {
    list.push_back(TRY(read_message((*messages)[i], fmt::format("messages[{}]", i), tools)));
  }
  return list;
}

// How the prompt ends.
ApiResult<void> read_ending(const Json& body, Json& conversation) {
  const bool goes_on = TRY(read_flag(body, "continue_final_message", false));
  const bool opens = TRY(read_flag(body, "add_generation_prompt", !goes_on));
  if (!opens) conversation["add_generation_prompt"] = false;
  if (!goes_on) return {};
  if (opens) {
    return tl::unexpected(bad_request("continue_final_message",
                                      "'continue_final_message' and 'add_generation_prompt' "
                                      "exclude each other"));
  }
  const Json& last = conversation["messages"].back();
  if (last["role"] != "assistant" || !last.contains("content") || !last["content"].is_string()) {
    return tl::unexpected(bad_request("continue_final_message",
                                      "'continue_final_message' needs a last message of the "
                                      "assistant with a content"));
  }
  conversation["continue_final_message"] = true;
  return {};
}

}  // namespace

ApiResult<std::string> read_conversation(const Json& body, ToolTalk tools) {
  Json conversation = Json::object();
  conversation["messages"] = TRY(read_messages(body, tools));
  TRY(read_ending(body, conversation));
  const Json* list = tools == ToolTalk::allowed ? find_field(body, "tools") : nullptr;
  if (list != nullptr) {
    if (!list->is_array()) return wrong_type("tools", "an array", *list);
    conversation["tools"] = *list;
  }
  const Json* variables = find_field(body, "chat_template_kwargs");
  if (variables != nullptr) {
    if (!variables->is_object()) return wrong_type("chat_template_kwargs", "an object", *variables);
    conversation["chat_template_kwargs"] = *variables;
  }
  return conversation.dump();
}

}  // namespace ruv
