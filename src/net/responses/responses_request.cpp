// What clients of the Responses API send, as chat requests.
#include <algorithm>
#include <array>

#include "net/openai/translate.h"
#include "net/responses/responses.h"
#include "net/responses/tool_namespaces.h"

namespace ruv {
namespace {

constexpr std::array kResponsesFields{
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
    FieldRow{"input", kHonoured, "required: a text, or a list of items"},
    FieldRow{"instructions", kHonoured, "the system prompt of this answer; it is not kept"},
    FieldRow{"previous_response_id", kHonoured, "the answer that this one continues"},
    FieldRow{"store", kHonoured, "true, the default: the answer is kept and can be continued"},
    FieldRow{"background", kHonoured,
             "true: the answer comes at once and the response is made meanwhile; needs store",
             "[false]"},
    FieldRow{"max_output_tokens", kHonoured, "tokens to generate at most"},
    FieldRow{"stream", kHonoured, "true: server-sent events"},
    FieldRow{"tools", kHonoured,
             "a list of {\"type\": \"function\", \"name\", \"parameters\"}, or of {\"type\": "
             "\"namespace\", \"name\", \"tools\"} with such functions",
             "[[]]"},
    FieldRow{"tool_choice", kHonoured, "as in chat requests; a function by its \"name\""},
    FieldRow{"parallel_tool_calls", kHonoured, "as in chat requests"},
    FieldRow{"text", kHonoured, "{\"format\": \"text\", \"json_object\" or \"json_schema\"}"},
    FieldRow{"reasoning", kHonoured, "{\"effort\": a word for the template}"},
    FieldRow{"metadata", kNoEffect, "the caller's notes, which come back"},
    FieldRow{"client_metadata", kNoEffect, "the caller's notes; they do not come back"},
    FieldRow{"user", kHonoured, "whose request it is"},
    FieldRow{"safety_identifier", kHonoured, "another name of user; takes precedence over it"},
    FieldRow{"prompt_cache_key", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"prompt_cache_retention", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"prompt_cache_options", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"service_tier", kUnsupported, "", R"(["auto", "default"])"},
    FieldRow{"truncation", kUnsupported, "conversations are never cut", R"(["disabled"])"},
    FieldRow{"include", kUnsupported, "reasoning is not encrypted",
             R"([[], ["reasoning.encrypted_content"]])"},
    FieldRow{"top_logprobs", kUnsupported, "", "[0]"},
    FieldRow{"token_healing", kUnsupported, "answers follow the template's own end", "[false]"},
    FieldRow{"stream_options", kUnsupported, "", R"([{"include_obfuscation": false}])"},
    FieldRow{"max_tool_calls", kUnsupported, ""},
    FieldRow{"conversation", kUnsupported, "see previous_response_id"},
    FieldRow{"prompt", kUnsupported, ""},
    FieldRow{"moderation", kUnsupported, ""},
    FieldRow{"image", kUnsupported, "", "[{}]"},
    FieldRow{"access_programs", kUnsupported, "", "[{}]"},
    FieldRow{"background_options", kUnsupported, "", "[{}]"},
    FieldRow{"context_management", kUnsupported, "conversations are never cut", "[[]]"},
};
constexpr BodyTable kResponses{"responses", kResponsesFields, kMaxConversationValues, true};

// Members of items. Ids and states are the server's own and say nothing when they come back.
constexpr FieldRow kItemRows[] = {{"type", kHonoured, ""},    {"role", kHonoured, ""},
                                  {"content", kHonoured, ""}, {"id", kNoEffect, ""},
                                  {"status", kNoEffect, ""},  {"phase", kNoEffect, ""}};
constexpr FieldRow kPartRows[] = {{"type", kHonoured, ""},
                                  {"text", kHonoured, ""},
                                  {"annotations", kUnsupported, "", "[[]]"},
                                  {"logprobs", kNoEffect, ""},
                                  {"prompt_cache_breakpoint", kNoEffect, ""}};
constexpr FieldRow kCallItemRows[] = {{"type", kHonoured, ""},      {"call_id", kHonoured, ""},
                                      {"name", kHonoured, ""},      {"arguments", kHonoured, ""},
                                      {"id", kNoEffect, ""},        {"status", kNoEffect, ""},
                                      {"namespace", kHonoured, ""}, {"caller", kNoEffect, ""}};
constexpr FieldRow kOutputItemRows[] = {{"type", kHonoured, ""},
                                        {"call_id", kHonoured, ""},
                                        {"output", kHonoured, ""},
                                        {"id", kNoEffect, ""},
                                        {"status", kNoEffect, ""}};
constexpr FieldRow kReasoningRows[] = {
    {"type", kHonoured, ""},    {"content", kHonoured, ""},
    {"summary", kNoEffect, ""}, {"encrypted_content", kNoEffect, ""},
    {"id", kNoEffect, ""},      {"status", kNoEffect, ""}};
constexpr FieldRow kFunctionToolRows[] = {
    {"type", kHonoured, ""},          {"name", kHonoured, ""},
    {"description", kHonoured, ""},   {"parameters", kHonoured, ""},
    {"strict", kHonoured, ""},        {"defer_loading", kUnsupported, "", "[false]"},
    {"output_schema", kNoEffect, ""}, {"allowed_callers", kUnsupported, "", R"([["direct"]])"}};

// A text, or a list of parts with one of these types, as content of a chat message.
ApiResult<Json> part_list(const Json& content, std::initializer_list<std::string_view> types,
                          const std::string& where) {
  if (content.is_string()) return content;
  if (!content.is_array()) return wrong_type(where, "a string or an array", content);
  Json parts = Json::array();
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", where, i);
    if (!content[i].is_object()) return wrong_type(place, "an object", content[i]);
    const std::string type = TRY(text_member(content[i], "type", place));
    if (std::ranges::find(types, type) == types.end()) {
      return tl::unexpected(bad_request(
          place + ".type", fmt::format("'{}.type' is '{}'; only text is supported", place, type),
          "unsupported_field"));
    }
    TRY(check_fields(content[i], kPartRows, place + "."));
    std::string text = TRY(text_member(content[i], "text", place));
    parts.push_back(Json{{"type", "text"}, {"text", std::move(text)}});
  }
  return parts;
}

// Builds the messages of a chat: reasoning, text and calls that follow each other are one message
// of the assistant.
class ItemReader {
 public:
  explicit ItemReader(Json before) : messages_(std::move(before)) {}

  ApiResult<void> add(const Json& item, const std::string& where) {
    if (!item.is_object()) return wrong_type(where, "an object", item);
    const Json* type = find_field(item, "type");
    if (type == nullptr || *type == "message") return add_message(item, where);
    if (*type == "function_call") return add_call(item, where);
    if (*type == "function_call_output") return add_output(item, where);
    if (*type == "reasoning") return add_reasoning(item, where);
    if (!type->is_string()) return wrong_type(where + ".type", "a string", *type);
    return tl::unexpected(bad_request(where + ".type",
                                      fmt::format("'{}.type' is '{}', which is not supported",
                                                  where, shortened(type->text(), 60)),
                                      "unsupported_field"));
  }

  Json take() {
    finish();
    return std::move(messages_);
  }

 private:
  // A second text of the assistant begins a message of its own.
  ApiResult<void> add_message(const Json& item, const std::string& where) {
    TRY(check_fields(item, kItemRows, where + "."));
    const std::string role = TRY(text_member(item, "role", where));
    const Json* content = find_field(item, "content");
    if (content == nullptr) return missing_field(where + ".content");
    Json parts =
        TRY(part_list(*content, {"input_text", "output_text", "text"}, where + ".content"));
    if (role == "assistant" && !answer_.contains("content") && !answer_.contains("tool_calls")) {
      answer_["content"] = std::move(parts);
      return {};
    }
    finish();
    if (role == "assistant") {
      answer_["content"] = std::move(parts);
    } else {
      messages_.push_back(Json{{"role", role}, {"content", std::move(parts)}});
    }
    return {};
  }

  // Calls that follow each other belong to one message.
  ApiResult<void> add_call(const Json& item, const std::string& where) {
    TRY(check_fields(item, kCallItemRows, where + "."));
    const std::string id = TRY(text_member(item, "call_id", where));
    const std::string name = TRY(called_name(item, where));
    const std::string arguments = TRY(text_member(item, "arguments", where));
    answer_["tool_calls"].push_back(Json{{"id", id},
                                         {"type", "function"},
                                         {"function", {{"name", name}, {"arguments", arguments}}}});
    return {};
  }

  // The result of a call is a message of the role tool.
  ApiResult<void> add_output(const Json& item, const std::string& where) {
    TRY(check_fields(item, kOutputItemRows, where + "."));
    finish();
    const Json* output = find_field(item, "output");
    if (output == nullptr) return missing_field(where + ".output");
    Json content = TRY(part_list(*output, {"input_text", "output_text"}, where + ".output"));
    const std::string id = TRY(text_member(item, "call_id", where));
    messages_.push_back(
        Json{{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}});
    return {};
  }

  // Reasoning begins a message.
  ApiResult<void> add_reasoning(const Json& item, const std::string& where) {
    TRY(check_fields(item, kReasoningRows, where + "."));
    const Json* content = find_field(item, "content");
    if (content == nullptr || *content == Json::array()) return {};
    const Json parts = TRY(part_list(*content, {"reasoning_text"}, where + ".content"));
    finish();
    std::string text;
    if (parts.is_string()) text = parts.text();
    for (size_t i = 0; parts.is_array() && i < parts.size(); ++i)
      text += parts[i].at("text").text();
    answer_["reasoning_content"] = text;
    return {};
  }

  // The message of the assistant that has been put together.
  void finish() {
    if (answer_.empty()) return;
    Json message = {{"role", "assistant"}};
    if (!answer_.contains("content")) {
      message["content"] = answer_.contains("tool_calls") ? Json() : Json("");
    }
    message.update(answer_);
    messages_.push_back(std::move(message));
    answer_ = Json::object();
  }

  Json messages_;
  Json answer_ = Json::object();
};

// A function of a group, which may be empty, as chat requests have it.
ApiResult<void> add_function(const Json& tool, std::string_view group, const std::string& where,
                             Json& chat) {
  TRY(check_fields(tool, kFunctionToolRows, where + "."));
  const std::string name = TRY(text_member(tool, "name", where));
  Json function = {{"name", grouped_name(group, name)}};
  for (const char* member : {"description", "parameters", "strict"}) {
    if (const Json* value = find_field(tool, member)) function[member] = *value;
  }
  chat["tools"].push_back(Json{{"type", "function"}, {"function", std::move(function)}});
  return {};
}

// The type of a tool. Those that the server would run itself are not there: a lenient one drops
// such a tool whole.
ApiResult<std::string> tool_type(const Json& tool, const std::string& where,
                                 std::string_view supported) {
  if (!tool.is_object()) return wrong_type(where, "an object", tool);
  const std::string type = TRY(text_member(tool, "type", where));
  if (type == "function" || (type == "namespace" && supported != "'function'")) return type;
  return tl::unexpected(bad_request(
      where,
      fmt::format("'{}.type' is '{}'; only {} is supported", where, shortened(type, 60), supported),
      "unsupported_field"));
}

// Its description says nothing of how its functions are called.
ApiResult<void> add_group(const Json& tool, const std::string& where, Json& chat) {
  constexpr FieldRow kRows[] = {{"type", kHonoured, ""},
                                {"name", kHonoured, ""},
                                {"description", kNoEffect, ""},
                                {"tools", kHonoured, ""}};
  TRY(check_fields(tool, kRows, where + "."));
  const std::string group = TRY(text_member(tool, "name", where));
  if (group.empty()) return tl::unexpected(bad_request(where + ".name", "a namespace has a name"));
  const Json* functions = find_field(tool, "tools");
  if (functions == nullptr) return missing_field(where + ".tools");
  if (!functions->is_array()) return wrong_type(where + ".tools", "an array", *functions);
  for (size_t i = 0; i < functions->size(); ++i) {
    const std::string place = fmt::format("{}.tools[{}]", where, i);
    TRY(tool_type((*functions)[i], place, "'function'"));
    TRY(add_function((*functions)[i], group, place, chat));
  }
  return {};
}

ApiResult<void> read_function_tools(const Json& tools, Json& chat) {
  if (!tools.is_array()) return wrong_type("tools", "an array", tools);
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    const std::string type = TRY(tool_type(tools[i], where, "'function' or 'namespace'"));
    if (type == "function") {
      TRY(add_function(tools[i], {}, where, chat));
    } else {
      TRY(add_group(tools[i], where, chat));
    }
  }
  return {};
}

// A function is named beside the type, not inside a member.
ApiResult<void> read_choice(const Json& choice, Json& chat) {
  const auto inner = [](const Json& function) {
    return Json{{"type", "function"}, {"function", {{"name", function["name"]}}}};
  };
  if (!choice.is_object()) {
    chat["tool_choice"] = choice;
  } else if (choice["type"] == "function") {
    chat["tool_choice"] = inner(choice);
  } else {
    Json allowed = choice;
    if (const Json* tools = find_field(choice, "tools"); tools != nullptr && tools->is_array()) {
      allowed["tools"] = Json::array();
      for (const Json& tool : *tools) {
        allowed["tools"].push_back(tool.is_object() ? inner(tool) : tool);
      }
    }
    chat["tool_choice"] = std::move(allowed);
  }
  return {};
}

// The form of the answer; its name is for the caller only.
ApiResult<void> read_text(const Json& text, Json& chat) {
  constexpr FieldRow kRows[] = {{"format", kHonoured, ""},
                                {"verbosity", kUnsupported, "", R"(["medium"])"}};
  constexpr FieldRow kFormatRows[] = {{"type", kHonoured, ""},
                                      {"name", kNoEffect, ""},
                                      {"description", kNoEffect, ""},
                                      {"schema", kHonoured, ""},
                                      {"strict", kHonoured, ""}};
  if (!text.is_object()) return wrong_type("text", "an object", text);
  TRY(check_fields(text, kRows, "text."));
  const Json* format = find_field(text, "format");
  if (format == nullptr) return {};
  if (!format->is_object()) return wrong_type("text.format", "an object", *format);
  TRY(check_fields(*format, kFormatRows, "text.format."));
  const std::string type = TRY(text_member(*format, "type", "text.format"));
  if (type != "json_schema") {
    chat["response_format"] = {{"type", type}};
    return {};
  }
  Json schema = *format;
  schema.erase("type");
  chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  return {};
}

// Summaries would need another model.
ApiResult<void> read_reasoning(const Json& reasoning, Json& chat) {
  constexpr FieldRow kRows[] = {{"effort", kHonoured, ""},
                                {"summary", kUnsupported, "", R"(["auto"])"},
                                {"generate_summary", kUnsupported, ""}};
  if (!reasoning.is_object()) return wrong_type("reasoning", "an object", reasoning);
  TRY(check_fields(reasoning, kRows, "reasoning."));
  if (const Json* effort = find_field(reasoning, "effort")) chat["reasoning_effort"] = *effort;
  return {};
}

// Fields of chat requests, and what they are made of.
constexpr FieldName kResponsesNames[] = {{"max_tokens", "max_output_tokens"},
                                         {"messages", "input"},
                                         {"reasoning_effort", "reasoning.effort"},
                                         {"response_format", "text.format"}};

}  // namespace

const BodyTable& responses_fields() { return kResponses; }

// Clients that list the items get the text as the item that it is.
Json input_items(const Json& body) {
  const Json& input = body.at("input");
  if (!input.is_string()) return input;
  return Json::array(
      {Json{{"type", "message"},
            {"role", "user"},
            {"content", Json::array({Json{{"type", "input_text"}, {"text", input}}})}}});
}

// Options keep their names; the rest is renamed or taken apart.
ApiResult<Json> chat_of_responses(const Json& body, const Json& before) {
  const Json* input = find_field(body, "input");
  if (input == nullptr) return missing_field("input");
  if (!input->is_string() && !input->is_array()) {
    return wrong_type("input", "a string or an array", *input);
  }
  ItemReader reader(before);
  const Json items = input_items(body);
  for (size_t i = 0; i < items.size(); ++i) {
    TRY(reader.add(items[i], fmt::format("input[{}]", i)));
  }
  Json chat = {{"messages", reader.take()}};
  for (const auto& [name, value] : body.items()) {
    if (is_plain_option(name)) chat[name] = value;
  }
  for (const char* name : {"model", "stream", "parallel_tool_calls", "user", "safety_identifier"}) {
    if (const Json* value = find_field(body, name)) chat[name] = *value;
  }
  if (const Json* most = find_field(body, "max_output_tokens")) chat["max_tokens"] = *most;
  constexpr MemberReader kReaders[] = {{"tools", read_function_tools},
                                       {"tool_choice", read_choice},
                                       {"text", read_text},
                                       {"reasoning", read_reasoning}};
  TRY(read_members(body, kReaders, chat));
  return chat;
}

ApiError named_as_in_responses(ApiError error) {
  return named_as(kResponsesNames, std::move(error));
}

}  // namespace ruv
