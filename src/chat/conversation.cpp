// The members of ruv/conversation.h.
#include "ruv/conversation.h"

#include "base/json.h"
#include "chat/read_conversation.h"

namespace ruv {

TemplateValue::TemplateValue(Json value) : value_(std::make_shared<const Json>(std::move(value))) {}

Result<TemplateValue> TemplateValue::parse(std::string_view json) {
  return TemplateValue(TRY(parse_json(json, "template value")));
}

std::string TemplateValue::to_string() const { return value_ ? value_->dump() : std::string(); }

Message text_message(std::string role, std::string text) {
  return {.role = std::move(role), .parts = {TextContent{std::move(text)}}};
}

std::string joined_text(const Message& message) {
  std::string text;
  for (const Part& part : message.parts) {
    if (const auto* content = std::get_if<TextContent>(&part)) text += content->text;
  }
  return text;
}

Result<Conversation> parse_conversation(std::string_view json) {
  const Json object = TRY(parse_json(json, "conversation"));
  if (!object.is_object()) {
    return fail(Code::invalid, "conversation: expected an object with \"messages\"");
  }
  auto conversation = read_conversation(object);
  if (!conversation) return tl::unexpected<Status>(status_of(conversation.error()));
  return std::move(*conversation);
}

}  // namespace ruv
