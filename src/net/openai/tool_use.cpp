#include "net/openai/tool_use.h"

#include <algorithm>

#include "base/json.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

constexpr size_t kMaxTools = 1024;
constexpr size_t kMaxToolName = 256;

constexpr FieldRow kToolRows[] = {{"type", FieldUse::honoured, "\"function\""},
                                  {"function", FieldUse::honoured, "an object"},
                                  {"cache_control", FieldUse::no_effect, ""}};
constexpr FieldRow kFunctionRows[] = {
    {"name", FieldUse::honoured, "a text"},
    {"description", FieldUse::honoured, "a text"},
    {"parameters", FieldUse::honoured, "a JSON Schema"},
    {"strict", FieldUse::honoured, "true: calls follow the schema"},
};
constexpr FieldRow kCallRows[] = {{"id", FieldUse::honoured, "a text"},
                                  {"type", FieldUse::honoured, "\"function\""},
                                  {"index", FieldUse::no_effect, ""},
                                  {"function", FieldUse::honoured, "an object"}};
constexpr FieldRow kCalledRows[] = {{"name", FieldUse::honoured, "a text"},
                                    {"arguments", FieldUse::honoured, "a text or an object"},
                                    // What OpenAI's client made of the arguments.
                                    {"parsed_arguments", FieldUse::no_effect, ""}};

tl::unexpected<ApiError> unsupported(const std::string& field, const std::string& why) {
  return tl::unexpected(bad_request(field, why, "unsupported_field"));
}

// The member "function" of a tool or a call, whose type must be that.
ApiResult<const Json*> function_of(const Json& object, const std::string& where) {
  if (!object.is_object()) return wrong_type(where, "an object", object);
  const Json* type = find_field(object, "type");
  if (type != nullptr && !type->is_string()) return wrong_type(where + ".type", "a string", *type);
  if (type != nullptr && *type != "function") {
    return unsupported(
        where + ".type",
        fmt::format("'{}.type' is '{}'; only 'function' is supported", where, type->text()));
  }
  const Json* function = find_field(object, "function");
  if (function == nullptr) return missing_field(where + ".function");
  if (!function->is_object()) return wrong_type(where + ".function", "an object", *function);
  return function;
}

ApiResult<void> check_name(const Json& function, const std::string& where) {
  const Json* name = find_field(function, "name");
  if (name == nullptr) return missing_field(where + ".name");
  if (!name->is_string()) return wrong_type(where + ".name", "a string", *name);
  if (!name->empty() && name->text().size() <= kMaxToolName) return {};
  return tl::unexpected(bad_request(
      where + ".name", fmt::format("'{}.name' must have 1 to {} bytes", where, kMaxToolName)));
}

// A function, with known members only.
ApiResult<void> check_tool(const Json& tool, const std::string& where) {
  const Json& function = *TRY(function_of(tool, where));
  TRY(check_fields(tool, kToolRows, where + "."));
  const std::string inner = where + ".function";
  TRY(check_fields(function, kFunctionRows, inner + "."));
  TRY(check_name(function, inner));
  const Json* description = find_field(function, "description");
  if (description != nullptr && !description->is_string()) {
    return wrong_type(inner + ".description", "a string", *description);
  }
  const Json* parameters = find_field(function, "parameters");
  if (parameters == nullptr || parameters->is_object()) return {};
  return wrong_type(inner + ".parameters", "an object", *parameters);
}

ApiResult<void> check_tools(const Json& tools) {
  if (tools.size() > kMaxTools) {
    return tl::unexpected(bad_request(
        "tools",
        fmt::format("'tools' has {} entries, at most {} are allowed", tools.size(), kMaxTools)));
  }
  for (size_t i = 0; i < tools.size(); ++i) {
    TRY(check_tool(tools[i], fmt::format("tools[{}]", i)));
  }
  return {};
}

ApiResult<std::string> chosen_name(const Json& choice, const std::string& where) {
  const Json& function = *TRY(function_of(choice, where));
  TRY(check_name(function, where + ".function"));
  return std::string(function.at("name").text());
}

// {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}; OpenAI's other API has the members
// of the inner object beside the type.
ApiResult<void> read_allowed_tools(const Json& choice, GenerateRequest& request) {
  const Json* inner = find_field(choice, "allowed_tools");
  const Json& allowed = inner == nullptr ? choice : *inner;
  if (!allowed.is_object()) return wrong_type("tool_choice.allowed_tools", "an object", allowed);
  const Json* mode = find_field(allowed, "mode");
  if (mode == nullptr || (*mode != "auto" && *mode != "required")) {
    return tl::unexpected(bad_request(
        "tool_choice", "'tool_choice.allowed_tools.mode' must be \"auto\" or \"required\""));
  }
  const Json* tools = find_field(allowed, "tools");
  if (tools == nullptr || !tools->is_array() || tools->empty()) {
    return missing_field("tool_choice.allowed_tools.tools");
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string where = fmt::format("tool_choice.allowed_tools.tools[{}]", i);
    request.call_names.push_back(TRY(chosen_name((*tools)[i], where)));
  }
  request.must_call = *mode == "required";
  request.strict_calls = true;  // no other tool may be called
  return {};
}

// Whether the answer may call tools, must, and which.
ApiResult<void> read_tool_choice(const Json& body, bool has_tools, GenerateRequest& request) {
  request.may_call = has_tools;
  const Json* choice = find_field(body, "tool_choice");
  if (choice == nullptr || *choice == "auto") return {};
  if (*choice == "none") {
    request.may_call = false;
    return {};
  }
  if (*choice != "required" && !choice->is_object()) {
    return tl::unexpected(bad_request(
        "tool_choice", "'tool_choice' must be \"none\", \"auto\", \"required\" or an object"));
  }
  if (!has_tools) {
    return tl::unexpected(bad_request("tool_choice", "'tool_choice' needs 'tools'"));
  }
  if (choice->is_object() && find_field(*choice, "type") != nullptr &&
      choice->at("type") == "allowed_tools") {
    return read_allowed_tools(*choice, request);
  }
  request.must_call = true;
  if (choice->is_object()) request.call_names = {TRY(chosen_name(*choice, "tool_choice"))};
  return {};
}

// Names that are chosen must be those of tools; a tool that is strict holds calls to its schema.
ApiResult<void> check_choice(const Json& tools, GenerateRequest& request) {
  std::vector<std::string_view> names;
  for (const Json& tool : tools) {
    const Json& function = tool.at("function");
    names.push_back(function.at("name").text());
    const Json* strict = find_field(function, "strict");
    request.strict_calls = request.strict_calls || (strict != nullptr && *strict == true);
  }
  for (const std::string& name : request.call_names) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return tl::unexpected(bad_request(
        "tool_choice", fmt::format("'tool_choice': '{}' is not one of the tools", name)));
  }
  return {};
}

ApiResult<std::string> read_word(const Json& body, const char* name) {
  const Json* value = find_field(body, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(name, "a string", *value);
  if (value->empty() || value->text().size() > 32) {
    return tl::unexpected(bad_request(name, fmt::format("'{}' must have 1 to 32 bytes", name)));
  }
  return value->get<std::string>();
}

// A flag, or an effort.
ApiResult<void> read_think(const Json& body, GenerateRequest& request) {
  const Json* think = find_field(body, "think");
  if (think == nullptr) return {};
  if (!request.reasoning_effort.empty()) {
    return tl::unexpected(
        bad_request("think", "'think' and 'reasoning_effort' are the same; give one"));
  }
  if (!think->is_boolean()) {
    request.reasoning_effort = TRY(read_word(body, "think"));
  } else if (*think == false) {
    request.reasoning_effort = "none";
  } else {
    request.wants_thinking = true;
  }
  return {};
}

}  // namespace

ApiResult<void> check_calls(const Json& calls, const std::string& where) {
  if (!calls.is_array()) return wrong_type(where, "an array", calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", where, i);
    const Json& function = *TRY(function_of(calls[i], place));
    TRY(check_fields(calls[i], kCallRows, place + "."));
    TRY(check_fields(function, kCalledRows, place + ".function."));
    TRY(check_name(function, place + ".function"));
    const Json* id = find_field(calls[i], "id");
    if (id != nullptr && !id->is_string()) return wrong_type(place + ".id", "a string", *id);
    const Json* arguments = find_field(function, "arguments");
    if (arguments != nullptr && !arguments->is_string() && !arguments->is_object()) {
      return wrong_type(place + ".function.arguments", "a string", *arguments);
    }
  }
  return {};
}

ApiResult<void> read_tool_use(const Json& body, GenerateRequest& request) {
  const Json* tools = find_field(body, "tools");
  const bool has_tools = tools != nullptr && !tools->empty();
  if (has_tools) TRY(check_tools(*tools));
  TRY(read_tool_choice(body, has_tools, request));
  if (has_tools) TRY(check_choice(*tools, request));
  // A model that does not know of tools calls none.
  if (!request.may_call) request.conversation.tools = {};
  request.parallel_calls = TRY(read_flag(body, "parallel_tool_calls", true));
  request.reasoning_effort = TRY(read_word(body, "reasoning_effort"));
  TRY(read_think(body, request));
  request.thinking_budget = TRY(read_integer(body, "thinking_token_budget", -1, {0, INT32_MAX}));
  const std::string format = TRY(read_word(body, "reasoning_format"));
  if (!format.empty() && format != "auto" && format != "none") {
    return tl::unexpected(
        bad_request("reasoning_format",
                    fmt::format("'reasoning_format' is '{}'; it must be auto or none", format)));
  }
  request.reasoning_apart = format != "none";
  return {};
}

}  // namespace ruv
