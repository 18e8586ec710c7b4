// Conversation: the messages that a model's chat template turns into a prompt, and how that prompt
// ends. The HTTP server, the command line and users of the library all fill in this one type, so
// the same conversation gives the same prompt everywhere. Plain values: no thread safety needed
// beyond that of std::string.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ruv/status.h"

namespace ruv {

class Json;  // the library's own; opaque here

// A JSON value that only the template interprets: tools and their schemas, calls of tools, template
// variables. Immutable; copies share it. Default-constructed: none.
class TemplateValue {
 public:
  TemplateValue() = default;
  explicit TemplateValue(Json value);
  // Fails: corrupt (not JSON, with the byte offset).
  static Result<TemplateValue> parse(std::string_view json);

  // The value as JSON on one line; empty: none.
  std::string to_string() const;
  // Null: none. Valid while this object or a copy of it lives.
  const Json* json() const { return value_.get(); }

 private:
  std::shared_ptr<const Json> value_;
};

struct TextContent {
  std::string text;
};
// An image, a sound or another part that is not text. No model reads one yet: every function that
// renders a conversation refuses it by its type (Code::unsupported).
struct MediaContent {
  std::string type;      // as in JSON: "image_url", "input_audio"
  std::string url = {};  // where it is, or a data: URL with its bytes
};
using Part = std::variant<TextContent, MediaContent>;

// One message. `role` is what the template knows: "system", "user", "assistant", "tool".
struct Message {
  std::string role;
  // One text is given to the template as a text; several as a list where the template shows lists
  // in messages of this role, else joined with nothing between them (docs/adr/0020-text-parts.md).
  // No parts: no content, as in an assistant's message that only calls tools.
  std::vector<Part> parts = {};
  // An object with the message's other members, as templates expect them: "tool_calls",
  // "tool_call_id", "name", "reasoning_content".
  TemplateValue members = {};
};

Message text_message(std::string role, std::string text);
// The texts of all parts, with nothing between them.
std::string joined_text(const Message& message);

enum class PromptEnd {
  answer,        // the template opens the assistant's answer ("add_generation_prompt": true)
  closed,        // the template closes the last message and opens nothing
  open_message,  // the answer continues the last message, an assistant's with a text
};

struct Conversation {
  std::vector<Message> messages;
  PromptEnd end = PromptEnd::answer;
  TemplateValue tools = {};      // a list, as a chat request's "tools"
  TemplateValue variables = {};  // an object: more variables of the template
};

// Reads the members "messages", "tools", "add_generation_prompt", "continue_final_message" and
// "chat_template_kwargs" of a JSON object, as in a chat request; all but the first may be missing,
// and other members are not looked at. The role "developer" is read as "system". Fails: corrupt
// (not JSON), invalid (shape; the member is named), unsupported (a part that is not text).
Result<Conversation> parse_conversation(std::string_view json);

}  // namespace ruv
