#include "net/openai/conversation.h"

#include <algorithm>

#include "base/json.h"
#include "chat/read_conversation.h"
#include "net/openai/fields.h"
#include "net/openai/tool_use.h"

namespace ruv {
namespace {

ApiResult<void> check_role(const std::string& name, const std::string& where) {
  for (const char* known : {"system", "developer", "user", "assistant", "tool"}) {
    if (name == known) return {};
  }
  if (name == "function") {
    return tl::unexpected(bad_request(
        where + ".role", fmt::format("'{}.role' '{}' is not supported yet", where, name),
        "unsupported_field"));
  }
  return tl::unexpected(bad_request(
      where + ".role",
      fmt::format("'{}.role' is '{}'; it must be system, developer, user, assistant or tool", where,
                  name)));
}

bool has_calls(const Json& message) {
  const Json* calls = find_field(message, "tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty();
}

ApiResult<void> check_text_member(const Json& message, const char* name, const std::string& where) {
  const Json* value = find_field(message, name);
  if (value == nullptr || value->is_string()) return {};
  return wrong_type(fmt::format("{}.{}", where, name), "a string", *value);
}

// A member that only one role has.
ApiResult<void> check_owner(const Json& message, const char* name, const std::string& owner,
                            const std::string& where) {
  if (find_field(message, name) == nullptr || message.at("role") == owner) return {};
  return tl::unexpected(
      bad_request(fmt::format("{}.{}", where, name),
                  fmt::format("'{}.{}' is for messages of the role {}", where, name, owner)));
}

ApiResult<void> check_members(const Json& message, const std::string& where) {
  TRY(check_fields(message, message_fields(), where + "."));
  for (const char* text : {"name", "tool_call_id", "reasoning_content"}) {
    TRY(check_text_member(message, text, where));
  }
  TRY(check_owner(message, "tool_call_id", "tool", where));
  TRY(check_owner(message, "reasoning_content", "assistant", where));
  if (const Json* calls = find_field(message, "tool_calls")) {
    TRY(check_calls(*calls, where + ".tool_calls"));
    if (!calls->empty()) TRY(check_owner(message, "tool_calls", "assistant", where));
  }
  if (message.at("role") == "tool" && find_field(message, "tool_call_id") == nullptr) {
    return missing_field(where + ".tool_call_id");
  }
  const bool is_empty_answer = message.at("role") == "assistant" && message.contains("content");
  if (find_field(message, "content") == nullptr && !has_calls(message) && !is_empty_answer) {
    return missing_field(where + ".content");
  }
  return {};
}

// A message that is no object or has no role is left to the reader.
ApiResult<void> check_message(const Json& message, const std::string& where, MessageCheck check) {
  const Json* role = message.is_object() ? find_field(message, "role") : nullptr;
  if (role == nullptr || !role->is_string()) return {};
  TRY(check_role(role->get<std::string>(), where));
  if (check == MessageCheck::roles) return {};
  return check_members(message, where);
}

bool has_no_effect(std::string_view member) {
  return std::ranges::any_of(message_fields(), [&](const FieldRow& row) {
    return row.name == member && row.use == FieldUse::no_effect;
  });
}

// Calls without what has no effect.
Json kept_calls(const Json& calls) {
  Json kept = Json::array();
  for (Json call : calls) {
    call.erase("index");
    call["function"].erase("parsed_arguments");
    kept.push_back(std::move(call));
  }
  return kept;
}

// Members that say something; templates ask whether a member is there.
TemplateValue kept_members(const TemplateValue& members) {
  if (members.json() == nullptr) return {};
  Json kept = Json::object();
  for (const auto& [name, value] : members.json()->items()) {
    const bool no_calls = name == "tool_calls" && (value.is_null() || value.empty());
    if (no_calls || has_no_effect(name)) continue;
    if (value.is_null() || value == Json::array()) continue;
    kept[name] = name == "tool_calls" ? kept_calls(value) : value;
  }
  return kept.empty() ? TemplateValue() : TemplateValue(std::move(kept));
}

}  // namespace

ApiResult<Conversation> read_chat(const Json& body, MessageCheck check) {
  const Json* messages = find_field(body, "messages");
  if (messages != nullptr && messages->is_array()) {
    for (size_t i = 0; i < messages->size(); ++i) {
      TRY(check_message((*messages)[i], fmt::format("messages[{}]", i), check));
    }
  }
  Conversation conversation = TRY(read_conversation(body));
  if (check == MessageCheck::roles) return conversation;
  for (Message& message : conversation.messages) {
    message.members = kept_members(message.members);
    const Json* members = message.members.json();
    const bool has_calls = members != nullptr && members->contains("tool_calls");
    // Clients keep an answer without text as null, which templates would spell out.
    if (message.parts.empty() && !has_calls) message.parts.emplace_back(TextContent{""});
  }
  return conversation;
}

}  // namespace ruv
