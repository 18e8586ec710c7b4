// Every probe changes one thing of a plain conversation. Words are made up, so that no template
// writes them by itself.
#include "chat/capabilities.h"

#include <initializer_list>
#include <optional>

#include "base/json.h"
#include "chat/chat_template.h"

namespace ruv {

namespace {

constexpr const char* kUser = "zqusery";
constexpr const char* kSystem = "zqsystemy";
constexpr const char* kAnswer = "zqanswery";
constexpr const char* kResult = "zqresulty";
constexpr const char* kThought = "zqthoughty";
constexpr const char* kTool = "zqtooly";
constexpr const char* kOtherTool = "zqothery";
constexpr const char* kParameter = "zqparametery";
// Not the parameter's name: tools may be printed as Python prints them, calls may not.
constexpr const char* kKey = "zqkeyy";
constexpr const char* kValue = "zqvaluey";
constexpr const char* kOtherValue = "zqbesidesy";
constexpr const char* kBos = "zqbosy";

bool has(const std::optional<std::string>& text, std::string_view word) {
  return text && text->find(word) != std::string::npos;
}

Json message(const char* role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

Json text_part(const char* text) { return {{"type", "text"}, {"text", text}}; }

Json tool(const char* name) {
  const Json parameters = {
      {"type", "object"},
      {"properties", {{kParameter, {{"type", "string"}, {"description", "a word"}}}}},
      {"required", Json::array({kParameter})}};
  return {{"type", "function"},
          {"function",
           {{"name", name}, {"description", "does something"}, {"parameters", parameters}}}};
}

// Ids have nine letters and digits, which some templates insist on.
Json call(const char* name, const char* id, const char* value, bool as_text) {
  const Json arguments = {{kKey, value}};
  return {
      {"id", id},
      {"type", "function"},
      {"function", {{"name", name}, {"arguments", as_text ? Json(arguments.dump()) : arguments}}}};
}

Json result_of(const char* name, const char* id) {
  Json out = message("tool", kResult);
  out["name"] = name;
  out["tool_call_id"] = id;
  return out;
}

// Renders probe conversations with one template.
class TemplateProbe {
 public:
  explicit TemplateProbe(const ChatTemplate& chat_template) : template_(chat_template) {}

  TemplateCapabilities run() {
    find_basics();
    if (!found_.renders) return found_;
    find_content();
    find_roles();
    find_lists();
    find_tools();
    find_calls();
    find_reasoning();
    find_switches();
    return found_;
  }

 private:
  std::optional<std::string> rendered(Json messages, const Json& variables = Json::object()) const {
    Json context = variables;
    context["messages"] = std::move(messages);
    if (found_.needs_tools && !context.contains("tools"))
      context["tools"] = Json::array({tool(kTool)});
    RenderOptions options;
    options.bos_token = kBos;
    options.max_steps = 1'000'000;
    options.max_output_bytes = 1 << 20;
    const auto parts = template_.render(context, options);
    if (!parts) return std::nullopt;
    return joined(*parts);
  }

  static Json plain() { return Json::array({message("user", kUser)}); }

  // The conversation of tool calls, with the content of the calling message given.
  std::optional<std::string> after_calls(const Json& calls, const Json& results,
                                         const Json& content, const Json& more) const {
    Json calling = message("assistant", content);
    calling["tool_calls"] = calls;
    calling.update(more);
    Json messages = plain();
    messages.push_back(calling);
    for (const Json& result : results) messages.push_back(result);
    const auto text = rendered(messages, {{"tools", Json::array({tool(kTool), tool(kOtherTool)})}});
    // A template may fail on the tools and still know the calls.
    return text ? text : rendered(messages);
  }

  // … with the content that lets the template show the calls.
  std::optional<std::string> after_calls(const Json& calls, const Json& results,
                                         const Json& more = Json::object()) const {
    const auto empty = after_calls(calls, results, "", more);
    if (has(empty, kValue)) return empty;
    const auto null = after_calls(calls, results, nullptr, more);
    return null ? null : empty;
  }

  void find_basics() {
    found_.renders = rendered(plain()).has_value();
    if (found_.renders) return;
    found_.needs_tools = true;
    found_.renders = rendered(plain()).has_value();
    found_.needs_tools = found_.renders;
  }

  void find_content() {
    const auto text = rendered(plain());
    found_.writes_bos = has(text, kBos);
    found_.content_text = has(text, kUser);
    // A list printed as Python or JSON does not count as rendering its text.
    const auto shows_text = [](const std::optional<std::string>& out) {
      return has(out, kUser) && !has(out, "'type'") && !has(out, "\"type\"");
    };
    const auto parts = rendered(Json::array({message("user", Json::array({text_part(kUser)}))}));
    found_.content_parts = shows_text(parts);
    for (const char* type : {"image", "image_url"}) {
      Json image = {{"type", type}};
      if (image["type"] == "image_url") image["image_url"] = {{"url", "zqurly"}};
      const auto with_image =
          rendered(Json::array({message("user", Json::array({image, text_part(kUser)}))}));
      found_.images |= shows_text(with_image) && with_image != parts;
    }
  }

  void find_roles() {
    found_.system_role =
        has(rendered(Json::array({message("system", kSystem), message("user", kUser)})), kSystem);
    if (!found_.system_role) {
      const Json parts = Json::array({text_part(kSystem)});
      const auto text = rendered(Json::array({message("system", parts), message("user", kUser)}));
      found_.system_needs_parts = has(text, kSystem) && !has(text, "'type'");
      found_.system_role = found_.system_needs_parts;
    }
    found_.generation_prompt = rendered(plain(), {{"add_generation_prompt", true}}) !=
                               rendered(plain(), {{"add_generation_prompt", false}});
    Json twice = plain();
    twice.push_back(message("user", kUser));
    found_.alternating_roles = !rendered(twice);
  }

  void find_lists() {
    const Json parts = Json::array({text_part(kValue), text_part(kOtherValue)});
    const auto try_role = [&](const char* role, Json messages) {
      const auto text = rendered(std::move(messages));
      const bool shown = has(text, kValue) && has(text, kOtherValue) && !has(text, "'type'") &&
                         !has(text, "\"type\"");
      if (shown) found_.list_roles.emplace_back(role);
    };
    try_role("system", Json::array({message("system", parts), message("user", kUser)}));
    try_role("user", Json::array({message("user", parts)}));
    try_role("assistant", Json::array({message("user", kUser), message("assistant", parts)}));
  }

  void find_tools() {
    const Json tools = {{"tools", Json::array({tool(kTool)})}};
    found_.tools =
        has(rendered(plain(), tools), kTool) ||
        has(rendered(Json::array({message("system", kSystem), message("user", kUser)}), tools),
            kTool);
  }

  void find_calls() {
    const auto one = [&](bool as_text) {
      return after_calls(Json::array({call(kTool, "call00001", kValue, as_text)}),
                         Json::array({result_of(kTool, "call00001")}));
    };
    const auto object = one(false);
    const auto text = one(true);
    const auto shows_call = [](const std::optional<std::string>& out) { return has(out, kValue); };
    // Python's quotes and JSON within JSON tell that the other form was wanted.
    found_.arguments_object = shows_call(object) && !has(object, std::string("'") + kKey);
    found_.arguments_text = shows_call(text) && !has(text, std::string("\\\"") + kKey);
    found_.tool_calls = found_.arguments_object || found_.arguments_text;
    found_.tool_results = has(object, kResult) || has(text, kResult);
    if (!found_.tool_calls) return;
    const bool as_text = !found_.arguments_object;
    const Json calls = Json::array({call(kTool, "call00001", kValue, as_text)});
    const Json results = Json::array({result_of(kTool, "call00001")});
    found_.calls_need_null_content = !has(after_calls(calls, results, "", Json::object()), kValue);
    found_.calls_need_text_content =
        !has(after_calls(calls, results, nullptr, Json::object()), kValue);
    const auto both = after_calls(
        Json::array({call(kTool, "call00001", kValue, as_text),
                     call(kOtherTool, "call00002", kOtherValue, as_text)}),
        Json::array({result_of(kTool, "call00001"), result_of(kOtherTool, "call00002")}));
    found_.parallel_tool_calls = has(both, kValue) && has(both, kOtherValue);
  }

  void find_reasoning() {
    for (const char* field : {"reasoning_content", "thinking", "reasoning"}) {
      Json answer = message("assistant", kAnswer);
      answer[field] = kThought;
      Json messages = plain();
      messages.push_back(answer);
      // Some show the reasoning of calls only, some that of the last answer only.
      const bool shown =
          has(rendered(messages), kThought) ||
          has(after_calls(Json::array({call(kTool, "call00001", kValue, !found_.arguments_object)}),
                          Json::array({result_of(kTool, "call00001")}), {{field, kThought}}),
              kThought);
      if (!shown) continue;
      found_.reasoning_field = field;
      return;
    }
  }

  void find_switches() {
    const auto with = [&](const char* name, const Json& value) {
      return rendered(plain(), {{"add_generation_prompt", true}, {name, value}});
    };
    for (const char* name : {"enable_thinking", "thinking"}) {
      if (with(name, true) == with(name, false)) continue;
      found_.thinking_switch = name;
      break;
    }
    found_.reasoning_effort = with("reasoning_effort", "low") != with("reasoning_effort", "high");
  }

  const ChatTemplate& template_;
  TemplateCapabilities found_;
};

}  // namespace

// Renders several short conversations; call it once per template.
TemplateCapabilities find_capabilities(const ChatTemplate& chat_template) {
  return TemplateProbe(chat_template).run();
}

Json to_json(const TemplateCapabilities& c) {
  const auto name_or_null = [](const std::string& name) {
    return name.empty() ? Json() : Json(name);
  };
  return {{"renders", c.renders},
          {"needs_tools", c.needs_tools},
          {"content_text", c.content_text},
          {"content_parts", c.content_parts},
          {"list_roles", c.list_roles.empty() ? Json() : Json(c.list_roles)},
          {"images", c.images},
          {"system_role", c.system_role},
          {"system_needs_parts", c.system_needs_parts},
          {"tools", c.tools},
          {"tool_calls", c.tool_calls},
          {"parallel_tool_calls", c.parallel_tool_calls},
          {"tool_results", c.tool_results},
          {"arguments_object", c.arguments_object},
          {"arguments_text", c.arguments_text},
          {"calls_need_null_content", c.calls_need_null_content},
          {"calls_need_text_content", c.calls_need_text_content},
          {"reasoning_field", name_or_null(c.reasoning_field)},
          {"thinking_switch", name_or_null(c.thinking_switch)},
          {"reasoning_effort", c.reasoning_effort},
          {"generation_prompt", c.generation_prompt},
          {"alternating_roles", c.alternating_roles},
          {"writes_bos", c.writes_bos},
          {"generation_blocks", c.generation_blocks}};
}

}  // namespace ruv
