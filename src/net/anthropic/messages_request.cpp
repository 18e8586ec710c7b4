#include <algorithm>
#include <array>

#include "base/json.h"
#include "net/anthropic/messages.h"
#include "net/openai/translate.h"

namespace ruv {
namespace {

// What makes the prompt.
constexpr std::array kPromptFields{
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
    FieldRow{"messages", kHonoured,
             "required: the conversation, also with messages of the system; where the assistant's "
             "message is the last, the answer continues it"},
    FieldRow{"system", kHonoured, "a text, or a list of text blocks"},
    FieldRow{"tools", kHonoured, "a list of {\"name\", \"description\", \"input_schema\"}", "[[]]"},
    FieldRow{"tool_choice", kHonoured,
             "{\"type\": \"auto\", \"any\", \"tool\" or \"none\"}, with \"name\" and "
             "\"disable_parallel_tool_use\""},
    FieldRow{"thinking", kHonoured,
             "{\"type\": \"enabled\", \"budget_tokens\"}, {\"type\": \"disabled\"} or {\"type\": "
             "\"adaptive\"}, the model's own way"},
    FieldRow{"cache_control", kNoEffect, "prefixes are cached anyway"},
    FieldRow{"mcp_servers", kUnsupported, "", "[[]]"},
    FieldRow{"context_management", kUnsupported, "conversations are never cut",
             R"([{"edits": []}, {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}])"},
    FieldRow{"output_config", kHonoured,
             "{\"effort\": a word for the template, \"format\": {\"type\": \"json_schema\", "
             "\"schema\"}}"},
};

constexpr auto kMessagesFields = [] {
  constexpr std::array kOwn{
      FieldRow{"max_tokens", kHonoured, "required: tokens to generate at most"},
      FieldRow{"stop_sequences", kHonoured, "up to 16 texts; the answer ends before them", "[[]]"},
      FieldRow{"stream", kHonoured, "true: server-sent events"},
      FieldRow{"temperature", kHonoured, "as in chat requests"},
      FieldRow{"top_p", kHonoured, "as in chat requests"},
      FieldRow{"top_k", kHonoured, "as in chat requests"},
      FieldRow{"metadata", kHonoured, "{\"user_id\"}: whose request it is"},
      FieldRow{"service_tier", kUnsupported, "", R"(["auto", "standard_only"])"},
      FieldRow{"speed", kUnsupported, "", R"(["standard"])"},
      FieldRow{"container", kUnsupported, ""},
      FieldRow{"diagnostics", kUnsupported, "usage says how much of the prompt was cached"},
      FieldRow{"inference_geo", kUnsupported, "the answer is made where the server runs"},
      FieldRow{"compaction", kUnsupported, ""},
      FieldRow{"fallbacks", kUnsupported, "", R"(["default", []])"},
      FieldRow{"fallback_credit_token", kUnsupported, ""},
      FieldRow{"billing_policy", kUnsupported, "", R"([{"bill_to": "self"}])"},
      FieldRow{"thread", kHonoured,
               "refused in words that Anthropic's clients know, which then send the conversation "
               "whole; with --lenient, too"},
  };
  std::array<FieldRow, kPromptFields.size() + kOwn.size()> rows{};
  std::ranges::copy(kPromptFields, rows.begin());
  std::ranges::copy(kOwn, rows.begin() + kPromptFields.size());
  return rows;
}();

constexpr BodyTable kMessages{"messages", kMessagesFields, kMaxConversationValues};
constexpr BodyTable kCountTokens{"count_tokens", kPromptFields, kMaxConversationValues};

// Members of messages, blocks and tools.
constexpr FieldRow kMessageRows[] = {{"role", kHonoured, ""}, {"content", kHonoured, ""}};
constexpr FieldRow kTextRows[] = {{"type", kHonoured, ""},
                                  {"text", kHonoured, ""},
                                  {"cache_control", kNoEffect, ""},
                                  {"citations", kUnsupported, "", "[[]]"}};
constexpr FieldRow kThinkingRows[] = {
    {"type", kHonoured, ""}, {"thinking", kHonoured, ""}, {"signature", kNoEffect, ""}};
constexpr FieldRow kToolUseRows[] = {{"type", kHonoured, ""},   {"id", kHonoured, ""},
                                     {"name", kHonoured, ""},   {"input", kHonoured, ""},
                                     {"caller", kNoEffect, ""}, {"cache_control", kNoEffect, ""}};
constexpr FieldRow kToolResultRows[] = {{"type", kHonoured, ""},
                                        {"tool_use_id", kHonoured, ""},
                                        {"content", kHonoured, ""},
                                        {"is_error", kNoEffect, ""},
                                        {"cache_control", kNoEffect, ""}};
constexpr FieldRow kOwnToolRows[] = {
    {"type", kUnsupported, "tools of Anthropic's own are not there", R"(["custom"])"},
    {"name", kHonoured, ""},
    {"description", kHonoured, ""},
    {"input_schema", kHonoured, ""},
    {"strict", kHonoured, ""},
    {"defer_loading", kUnsupported, "", "[false]"},
    {"eager_input_streaming", kNoEffect, ""},
    {"cache_control", kNoEffect, ""}};

// A known thing of the API that this server does not have.
tl::unexpected<ApiError> not_there(const std::string& field, const std::string& why) {
  return tl::unexpected(
      bad_request(field, fmt::format("'{}' {}", field, why), "unsupported_field"));
}

// The type of a block, which is an object.
ApiResult<std::string> block_type(const Json& block, const std::string& where) {
  if (!block.is_object()) return wrong_type(where, "an object", block);
  return text_member(block, "type", where);
}

ApiResult<Json> text_part(const Json& block, const std::string& where) {
  TRY(check_fields(block, kTextRows, where + "."));
  std::string text = TRY(text_member(block, "text", where));
  return Json{{"type", "text"}, {"text", std::move(text)}};
}

// A text, or a list of text blocks, as content of a chat message.
ApiResult<Json> text_content(const Json& content, const std::string& where) {
  if (content.is_string()) return content;
  if (!content.is_array()) return wrong_type(where, "a string or an array", content);
  Json parts = Json::array();
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", where, i);
    const std::string type = TRY(block_type(content[i], place));
    if (type != "text") {
      return not_there(place + ".type", fmt::format("is '{}'; only text is supported", type));
    }
    parts.push_back(TRY(text_part(content[i], place)));
  }
  return parts;
}

// The messages of a chat that a message of ours becomes: results of tools are messages there.
class MessageParts {
 public:
  MessageParts(std::string role, std::string where, Json& out)
      : role_(std::move(role)), where_(std::move(where)), out_(out) {}

  ApiResult<void> add(const Json& block, const std::string& where) {
    const std::string type = TRY(block_type(block, where));
    const bool is_assistant = role_ == "assistant";
    if (type == "text") {
      texts_.push_back(TRY(text_part(block, where)));
    } else if (type == "thinking" && is_assistant) {
      TRY(check_fields(block, kThinkingRows, where + "."));
      reasoning_ += TRY(text_member(block, "thinking", where));
    } else if (type == "tool_use" && is_assistant) {
      TRY(add_call(block, where));
    } else if (type == "tool_result" && role_ == "user") {
      TRY(add_result(block, where));
    } else {
      return not_there(where + ".type",
                       fmt::format("is '{}', which is not supported for the role {}", type, role_));
    }
    return {};
  }

  // What has come since the last result of a tool.
  void finish() {
    if (texts_.empty() && calls_.empty() && reasoning_.empty()) return;
    Json message = {{"role", role_}, {"content", nullptr}};
    if (!texts_.empty()) message["content"] = std::move(texts_);
    if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
    if (texts_is_missing(message)) message["content"] = "";
    if (!reasoning_.empty()) message["reasoning_content"] = reasoning_;
    out_.push_back(std::move(message));
    texts_ = calls_ = Json::array();
    reasoning_.clear();
  }

 private:
  static bool texts_is_missing(const Json& message) {
    return message.at("content").is_null() && !message.contains("tool_calls");
  }

  ApiResult<void> add_call(const Json& block, const std::string& where) {
    TRY(check_fields(block, kToolUseRows, where + "."));
    const Json* input = find_field(block, "input");
    if (input == nullptr) return missing_field(where + ".input");
    if (!input->is_object()) return wrong_type(where + ".input", "an object", *input);
    std::string id = TRY(text_member(block, "id", where));
    std::string name = TRY(text_member(block, "name", where));
    calls_.push_back(Json{{"id", std::move(id)},
                          {"type", "function"},
                          {"function", {{"name", std::move(name)}, {"arguments", *input}}}});
    return {};
  }

  ApiResult<void> add_result(const Json& block, const std::string& where) {
    TRY(check_fields(block, kToolResultRows, where + "."));
    finish();
    const Json* content = find_field(block, "content");
    std::string id = TRY(text_member(block, "tool_use_id", where));
    Json said = "";
    if (content != nullptr) said = TRY(text_content(*content, where + ".content"));
    out_.push_back(
        Json{{"role", "tool"}, {"tool_call_id", std::move(id)}, {"content", std::move(said)}});
    return {};
  }

  std::string role_, where_;
  Json& out_;
  Json texts_ = Json::array();
  Json calls_ = Json::array();
  std::string reasoning_;
};

// Contents are a text or a list of blocks.
ApiResult<void> add_message(const Json& message, const std::string& where, Json& out) {
  if (!message.is_object()) return wrong_type(where, "an object", message);
  TRY(check_fields(message, kMessageRows, where + "."));
  const std::string role = TRY(text_member(message, "role", where));
  if (role != "user" && role != "assistant" && role != "system") {
    return tl::unexpected(bad_request(
        where + ".role", fmt::format("'{}.role' is '{}'; it must be user, assistant or system",
                                     where, shortened(role, 60))));
  }
  const Json* content = find_field(message, "content");
  if (content == nullptr) return missing_field(where + ".content");
  if (content->is_string()) {
    out.push_back(Json{{"role", role}, {"content", *content}});
    return {};
  }
  if (!content->is_array()) return wrong_type(where + ".content", "a string or an array", *content);
  MessageParts parts(role, where, out);
  for (size_t i = 0; i < content->size(); ++i) {
    TRY(parts.add((*content)[i], fmt::format("{}.content[{}]", where, i)));
  }
  parts.finish();
  return {};
}

// The system prompt is the first message of a chat.
ApiResult<Json> read_messages(const Json& body) {
  const Json* messages = find_field(body, "messages");
  if (messages == nullptr) return missing_field("messages");
  if (!messages->is_array()) return wrong_type("messages", "an array", *messages);
  Json out = Json::array();
  if (const Json* system = find_field(body, "system")) {
    Json content = TRY(text_content(*system, "system"));
    out.push_back(Json{{"role", "system"}, {"content", std::move(content)}});
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    TRY(add_message((*messages)[i], fmt::format("messages[{}]", i), out));
  }
  return out;
}

// Tools become functions.
ApiResult<void> read_tools(const Json& tools, Json& chat) {
  if (!tools.is_array()) return wrong_type("tools", "an array", tools);
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    if (!tools[i].is_object()) return wrong_type(where, "an object", tools[i]);
    TRY(check_fields(tools[i], kOwnToolRows, where + "."));
    const Json* schema = find_field(tools[i], "input_schema");
    if (schema == nullptr) return missing_field(where + ".input_schema");
    if (!schema->is_object()) return wrong_type(where + ".input_schema", "an object", *schema);
    std::string called = TRY(text_member(tools[i], "name", where));
    Json function = {{"name", std::move(called)}, {"parameters", *schema}};
    for (const char* name : {"description", "strict"}) {
      if (const Json* value = find_field(tools[i], name)) function[name] = *value;
    }
    chat["tools"].push_back(Json{{"type", "function"}, {"function", std::move(function)}});
  }
  return {};
}

// "any" is what OpenAI calls "required".
ApiResult<void> read_tool_choice(const Json& choice, Json& chat) {
  constexpr FieldRow kRows[] = {{"type", kHonoured, ""},
                                {"name", kHonoured, ""},
                                {"disable_parallel_tool_use", kHonoured, ""}};
  if (!choice.is_object()) return wrong_type("tool_choice", "an object", choice);
  TRY(check_fields(choice, kRows, "tool_choice."));
  const std::string type = TRY(text_member(choice, "type", "tool_choice"));
  if (type == "auto" || type == "none") {
    chat["tool_choice"] = type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else if (type == "tool") {
    std::string name = TRY(text_member(choice, "name", "tool_choice"));
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", std::move(name)}}}};
  } else {
    return tl::unexpected(
        bad_request("tool_choice.type", "'tool_choice.type' must be auto, any, tool or none"));
  }
  const bool is_single = TRY(read_flag(choice, "disable_parallel_tool_use", false));
  if (is_single) chat["parallel_tool_calls"] = false;
  return {};
}

// An adaptive model decides itself, as without the field.
ApiResult<void> read_thinking(const Json& thinking, Json& chat) {
  constexpr FieldRow kRows[] = {{"type", kHonoured, ""},
                                {"budget_tokens", kHonoured, ""},
                                {"display", kUnsupported, "", R"(["summarized"])"}};
  if (!thinking.is_object()) return wrong_type("thinking", "an object", thinking);
  TRY(check_fields(thinking, kRows, "thinking."));
  const std::string type = TRY(text_member(thinking, "type", "thinking"));
  const Json* budget = find_field(thinking, "budget_tokens");
  if (type == "enabled") {
    if (budget == nullptr) return missing_field("thinking.budget_tokens");
    chat["think"] = true;
    chat["thinking_token_budget"] = *budget;
  } else if (type == "disabled") {
    chat["think"] = false;
  } else if (type != "adaptive") {
    return tl::unexpected(
        bad_request("thinking.type", "'thinking.type' must be enabled, disabled or adaptive"));
  }
  return {};
}

// Its effort is a word for the template, its format a form of the answer.
ApiResult<void> read_output_config(const Json& config, Json& chat) {
  constexpr FieldRow kRows[] = {{"effort", kHonoured, "", R"(["high"])"},
                                {"format", kHonoured, ""}};
  constexpr FieldRow kFormatRows[] = {{"type", kHonoured, ""}, {"schema", kHonoured, ""}};
  if (!config.is_object()) return wrong_type("output_config", "an object", config);
  TRY(check_fields(config, kRows, "output_config."));
  const Json* effort = find_field(config, "effort");
  if (effort != nullptr && *effort != "high") chat["reasoning_effort"] = *effort;
  const Json* format = find_field(config, "format");
  if (format == nullptr) return {};
  if (!format->is_object()) return wrong_type("output_config.format", "an object", *format);
  TRY(check_fields(*format, kFormatRows, "output_config.format."));
  const std::string type = TRY(text_member(*format, "type", "output_config.format"));
  const Json* schema = find_field(*format, "schema");
  if (type != "json_schema") {
    return not_there("output_config.format.type", "must be json_schema");
  }
  if (schema == nullptr) return missing_field("output_config.format.schema");
  chat["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"name", "format"}, {"schema", *schema}}}};
  return {};
}

ApiResult<void> read_metadata(const Json& metadata, Json& chat) {
  constexpr FieldRow kRows[] = {{"user_id", kHonoured, ""}};
  if (!metadata.is_object()) return wrong_type("metadata", "an object", metadata);
  TRY(check_fields(metadata, kRows, "metadata."));
  if (const Json* user = find_field(metadata, "user_id")) chat["user"] = *user;
  return {};
}

// Fields of chat requests, and what they are made of.
constexpr FieldName kMessagesNames[] = {{"stop", "stop_sequences"},
                                        {"user", "metadata.user_id"},
                                        {"think", "thinking"},
                                        {"thinking_token_budget", "thinking.budget_tokens"},
                                        {"reasoning_effort", "output_config.effort"},
                                        {"response_format", "output_config.format"}};

}  // namespace

const BodyTable& messages_fields() { return kMessages; }
const BodyTable& count_tokens_fields() { return kCountTokens; }

ApiResult<Json> chat_of_messages(const Json& body) {
  Json chat = Json::object();
  chat["messages"] = TRY(read_messages(body));
  const Json& messages = chat.at("messages");
  const bool is_begun = !messages.empty() && messages.back().at("role") == "assistant" &&
                        !messages.back().contains("tool_calls");
  if (is_begun) chat["continue_final_message"] = true;
  for (const char* name : {"model", "max_tokens", "stream", "temperature", "top_p", "top_k"}) {
    if (const Json* value = find_field(body, name)) chat[name] = *value;
  }
  if (const Json* stops = find_field(body, "stop_sequences")) chat["stop"] = *stops;
  constexpr MemberReader kReaders[] = {{"tools", read_tools},
                                       {"tool_choice", read_tool_choice},
                                       {"thinking", read_thinking},
                                       {"output_config", read_output_config},
                                       {"metadata", read_metadata}};
  TRY(read_members(body, kReaders, chat));
  return chat;
}

ApiError named_as_in_messages(ApiError error) { return named_as(kMessagesNames, std::move(error)); }

}  // namespace ruv
