// Whatever a part of a result is, the model gets a text: the part itself, or a line that says what
// cannot be shown. Members that are missing are errors, since a text in their place would mislead.
#include "tools/mcp/call_result.h"

#include "tools/json_members.h"

namespace ruv {
namespace {

Result<std::string> text_of(const Json& object, std::string_view name, std::string_view place) {
  FieldResult<std::string> text = required_text(object, name);
  if (text) return std::move(*text);
  return fail(Code::corrupt, "{}: {}", place, text.error().message);
}

// Bytes that a text in base64 stands for; its padding is not counted.
size_t decoded_bytes(std::string_view base64) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  return base64.size() / 4 * 3 + base64.size() % 4 * 3 / 4;
}

// The member as a text, or what to say where there is none.
std::string text_or(const Json& object, std::string_view name, std::string_view otherwise) {
  const Json* value = object.find(name);
  return value != nullptr && value->is_string() ? value->get<std::string>()
                                                : std::string(otherwise);
}

// Images and sounds carry their bytes in base64.
Result<std::string> media_text(const Json& part, std::string_view kind, std::string_view place) {
  const std::string data = TRY(text_of(part, "data", place));
  return fmt::format("[{} of type {}, {} bytes, which cannot be shown here]", kind,
                     text_or(part, "mimeType", "unknown"), decoded_bytes(data));
}

// A resource that the model can only be told of.
Result<std::string> link_text(const Json& part, std::string_view place) {
  const std::string uri = TRY(text_of(part, "uri", place));
  std::string text = fmt::format("[resource {}: {}", text_or(part, "name", "without a name"), uri);
  const std::string description = text_or(part, "description", "");
  if (!description.empty()) text += ", " + description;
  return text + "]";
}

// A resource that comes with its contents, as text or as bytes.
Result<std::string> resource_text(const Json& part, std::string_view place) {
  const Json* resource = part.find("resource");
  if (resource == nullptr || !resource->is_object())
    return fail(Code::corrupt, "{}: 'resource' must be an object", place);
  const std::string uri = TRY(text_of(*resource, "uri", place));
  if (const Json* text = resource->find("text"); text != nullptr && text->is_string())
    return fmt::format("[resource {}]\n{}", uri, text->text());
  const std::string blob = TRY(text_of(*resource, "blob", place));
  return fmt::format("[resource {} of type {}, {} bytes, which cannot be shown here]", uri,
                     text_or(*resource, "mimeType", "unknown"), decoded_bytes(blob));
}

Result<std::string> part_text(const Json& part, std::string_view place) {
  if (!part.is_object()) return fail(Code::corrupt, "{}: must be an object", place);
  const std::string type = TRY(text_of(part, "type", place));
  if (type == "text") return text_of(part, "text", place);
  if (type == "image" || type == "audio") return media_text(part, type, place);
  if (type == "resource_link") return link_text(part, place);
  if (type == "resource") return resource_text(part, place);
  return fail(Code::unsupported, "{}: content of type '{}'", place, type);
}

// What a server leaves out counts as the protocol says: a tool may change things and reach
// anywhere.
bool says_harmless(const Json& tool) {
  const Json* hints = tool.find("annotations");
  if (hints == nullptr || !hints->is_object()) return false;
  return (*hints)["readOnlyHint"] == true && (*hints)["openWorldHint"] == false;
}

}  // namespace

Result<McpToolPage> read_tool_page(const Json& result) {
  const Json* tools = result.is_object() ? result.find("tools") : nullptr;
  if (tools == nullptr || !tools->is_array())
    return fail(Code::corrupt, "tools/list: 'tools' must be a list");
  McpToolPage page;
  for (const Json& tool : *tools) {
    std::string place = fmt::format("tools/list: tools[{}]", page.tools.size());
    if (!tool.is_object()) return fail(Code::corrupt, "{}: must be an object", place);
    const std::string name = TRY(text_of(tool, "name", place));
    place += fmt::format(" '{}'", name);
    const Json* schema = tool.find("inputSchema");
    if (schema == nullptr || !schema->is_object())
      return fail(Code::corrupt, "{}: 'inputSchema' must be an object", place);
    page.tools.push_back({name, text_or(tool, "description", ""), *schema, says_harmless(tool)});
  }
  const Json* cursor = find_field(result, "nextCursor");
  if (cursor != nullptr) {
    if (!cursor->is_string())
      return fail(Code::corrupt, "tools/list: 'nextCursor' must be a string");
    page.next_cursor = cursor->get<std::string>();
  }
  return page;
}

Result<ToolReply> read_call_result(const Json& result) {
  if (!result.is_object()) return fail(Code::corrupt, "tools/call: the result must be an object");
  const Json* content = find_field(result, "content");
  const Json* structured = find_field(result, "structuredContent");
  if ((content == nullptr || !content->is_array()) && structured == nullptr)
    return fail(Code::corrupt, "tools/call: 'content' must be a list");
  ToolReply reply;
  if (content != nullptr && content->is_array()) {
    for (size_t i = 0; i < content->size(); ++i) {
      if (i > 0) reply.text += '\n';
      reply.text += TRY(part_text((*content)[i], fmt::format("tools/call: content[{}]", i)));
    }
  }
  if (structured != nullptr) {
    if (reply.text.empty()) reply.text = structured->dump();
    reply.structured = *structured;
  }
  const FieldResult<bool> is_error = read_flag(result, "isError", false);
  if (!is_error) return fail(Code::corrupt, "tools/call: {}", is_error.error().message);
  reply.is_error = *is_error;
  return reply;
}

}  // namespace ruv
