// From JSON to typed messages and back.
#include "chat/read_conversation.h"

#include "base/json.h"

namespace ruv {
namespace {

FieldResult<Part> read_text_part(const Json& part, const std::string& where) {
  for (const auto& [name, value] : part.items()) {
    // A hint for other servers' caches.
    if (name == "cache_control" || name == "prompt_cache_breakpoint") continue;
    if (name != "type" && name != "text") return unknown_field(fmt::format("{}.{}", where, name));
  }
  const Json* text = find_field(part, "text");
  if (text == nullptr) return missing_field(where + ".text");
  if (!text->is_string()) return wrong_type(where + ".text", "a string", *text);
  return TextContent{text->get<std::string>()};
}

FieldResult<Part> read_part(const Json& part, const std::string& where) {
  if (!part.is_object()) return wrong_type(where, "an object", part);
  const Json* type = find_field(part, "type");
  if (type == nullptr) return missing_field(where + ".type");
  if (!type->is_string()) return wrong_type(where + ".type", "a string", *type);
  if (*type == "text") return read_text_part(part, where);
  MediaContent media{type->get<std::string>()};
  const Json* image = find_field(part, "image_url");
  const Json* url = image != nullptr && image->is_object() ? image->find("url") : nullptr;
  if (url != nullptr && url->is_string()) media.url = url->get<std::string>();
  return media;
}

FieldResult<std::vector<Part>> read_content(const Json& content, const std::string& where) {
  std::vector<Part> parts;
  if (content.is_string()) {
    parts.emplace_back(TextContent{content.get<std::string>()});
    return parts;
  }
  if (!content.is_array()) return wrong_type(where, "a string or an array of text parts", content);
  parts.reserve(content.size());
  for (size_t i = 0; i < content.size(); ++i) {
    parts.push_back(TRY(read_part(content[i], fmt::format("{}[{}]", where, i))));
  }
  // An empty list is an empty text: the message has a content.
  if (parts.empty()) parts.emplace_back(TextContent{});
  return parts;
}

FieldResult<Message> read_message(const Json& json, const std::string& where) {
  if (!json.is_object()) return wrong_type(where, "an object", json);
  const Json* role = find_field(json, "role");
  if (role == nullptr) return missing_field(where + ".role");
  if (!role->is_string()) return wrong_type(where + ".role", "a string", *role);
  Message message;
  // OpenAI's newer word for the same.
  message.role = *role == "developer" ? "system" : role->get<std::string>();
  Json members;
  for (const auto& [name, value] : json.items()) {
    if (name == "role") continue;
    if (name == "content" && !value.is_null()) {
      message.parts = TRY(read_content(value, where + ".content"));
    } else {
      members[name] = value;  // a null content too: templates ask whether there is one
    }
  }
  if (!members.is_null()) message.members = TemplateValue(std::move(members));
  return message;
}

FieldResult<PromptEnd> read_end(const Json& object) {
  const bool continues = TRY(read_flag(object, "continue_final_message", false));
  const bool opens = TRY(read_flag(object, "add_generation_prompt", !continues));
  if (!continues) return opens ? PromptEnd::answer : PromptEnd::closed;
  if (!opens) return PromptEnd::open_message;
  return invalid_field(
      "continue_final_message",
      "'continue_final_message' and 'add_generation_prompt' are mutually exclusive");
}

Json part_json(const Part& part) {
  if (const auto* text = std::get_if<TextContent>(&part)) {
    return {{"type", "text"}, {"text", text->text}};
  }
  const auto& media = std::get<MediaContent>(part);
  return {{"type", media.type}, {media.type, {{"url", media.url}}}};
}

Json content_json(const std::vector<Part>& parts) {
  if (parts.size() == 1 && std::holds_alternative<TextContent>(parts[0])) {
    return std::get<TextContent>(parts[0]).text;
  }
  Json list = Json::array();
  for (const Part& part : parts) list.push_back(part_json(part));
  return list;
}

}  // namespace

FieldResult<std::vector<Message>> read_messages(const Json& list) {
  if (!list.is_array()) return wrong_type("messages", "an array", list);
  std::vector<Message> messages;
  messages.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    messages.push_back(TRY(read_message(list[i], fmt::format("messages[{}]", i))));
  }
  return messages;
}

FieldResult<Conversation> read_conversation(const Json& object) {
  const Json* messages = find_field(object, "messages");
  if (messages == nullptr) return missing_field("messages");
  Conversation conversation;
  conversation.messages = TRY(read_messages(*messages));
  if (conversation.messages.empty()) {
    return invalid_field("messages", "'messages' must not be empty");
  }
  conversation.end = TRY(read_end(object));
  if (const Json* tools = find_field(object, "tools")) {
    if (!tools->is_array()) return wrong_type("tools", "an array", *tools);
    conversation.tools = TemplateValue(*tools);
  }
  if (const Json* variables = find_field(object, "chat_template_kwargs")) {
    if (!variables->is_object()) return wrong_type("chat_template_kwargs", "an object", *variables);
    conversation.variables = TemplateValue(*variables);
  }
  TRY(check_conversation(conversation));
  return conversation;
}

FieldResult<void> check_conversation(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  for (size_t i = 0; i < messages.size(); ++i) {
    for (size_t k = 0; k < messages[i].parts.size(); ++k) {
      const auto* media = std::get_if<MediaContent>(&messages[i].parts[k]);
      if (media == nullptr) continue;
      std::string field = fmt::format("messages[{}].content[{}].type", i, k);
      std::string why = fmt::format("'{}' is '{}'; only 'text' is supported", field, media->type);
      return invalid_field(std::move(field), std::move(why), FieldError::Kind::unsupported);
    }
  }
  if (conversation.end != PromptEnd::open_message) return {};
  if (!messages.empty() && messages.back().role == "assistant" && !messages.back().parts.empty()) {
    return {};
  }
  return invalid_field("continue_final_message",
                       "'continue_final_message' needs a last message of the assistant with a "
                       "content");
}

Json messages_json(std::span<const Message> messages) {
  Json list = Json::array();
  for (const Message& message : messages) {
    Json json = {{"role", message.role}};
    if (!message.parts.empty()) json["content"] = content_json(message.parts);
    if (message.members.json() != nullptr) json.update(*message.members.json());
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace ruv
