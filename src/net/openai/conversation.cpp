#include "net/openai/conversation.h"

#include "base/json.h"
#include "chat/read_conversation.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

ApiResult<void> check_role(const std::string& name, const std::string& where, ToolTalk tools) {
  for (const char* known : {"system", "developer", "user", "assistant"}) {
    if (name == known) return {};
  }
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

// A message that is no object or has no role is left to the reader.
ApiResult<void> check_message(const Json& message, const std::string& where, ToolTalk tools) {
  const Json* role = message.is_object() ? find_field(message, "role") : nullptr;
  if (role == nullptr || !role->is_string()) return {};
  TRY(check_role(role->get<std::string>(), where, tools));
  if (tools == ToolTalk::allowed) return {};
  TRY(check_fields(message, message_fields(), where + "."));
  if (find_field(message, "content") == nullptr) return missing_field(where + ".content");
  return {};
}

}  // namespace

ApiResult<Conversation> read_chat(const Json& body, ToolTalk tools) {
  const Json* messages = find_field(body, "messages");
  if (messages != nullptr && messages->is_array()) {
    for (size_t i = 0; i < messages->size(); ++i) {
      TRY(check_message((*messages)[i], fmt::format("messages[{}]", i), tools));
    }
  }
  Conversation conversation = TRY(read_conversation(body));
  if (tools == ToolTalk::allowed) return conversation;
  // Only members that ask for nothing are left: null, an empty list.
  for (Message& message : conversation.messages) message.members = {};
  conversation.tools = {};
  return conversation;
}

}  // namespace ruv
